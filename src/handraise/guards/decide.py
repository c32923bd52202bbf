"""`Guard`: which calls need a person, and what they are asked. Decides without looking anything up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Final

from handraise.errors import DefinitionError
from handraise.forms import Flag, Form, Text
from handraise.guards.hints import MEANING, Hint, matches
from handraise.guards.wording import compose, count_of, fill, names_in
from handraise.questions import TYPED, FormQuestion

IF_DECLINED: Final = "Nothing is done, and the model is told that you said no."
MISTYPED: Final = "This is not what had to be typed."
YES: Final = "confirm"
_CONFIRM: Final[Form[Any]] = Form.by_hand(Flag(YES, title="Go ahead?"))


@dataclass(frozen=True, slots=True)
class Guard:
    """A question in front of a call.

    - `message`: what will happen, in a sentence. `{count}` and the names of arguments are filled in.
    - `tools`: which tools, by name or pattern (`delete_*`).
    - `hint`: which of them, by what they say about themselves. A silent tool counts as destructive.
    - `arguments`: patterns that the arguments of these names have to match; an argument that is absent does not.
    - `above`: only when the count is above this.
    - `typed`: what has to be typed instead of a yes: `"count"`, or the name of an argument.
    - `typed_above`: type it only when the count is above this.
    - `consequence`, `if_declined`: what follows from either answer.
    """

    message: str = "The model wants to call this tool."
    tools: tuple[str, ...] = ("*",)
    hint: Hint = "any"
    arguments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    above: int | None = None
    typed: str | None = None
    typed_above: int | None = None
    consequence: str | None = None
    if_declined: str | None = IF_DECLINED

    def __post_init__(self) -> None:
        names_in(self.message)
        if self.typed_above is not None and self.typed is None:
            raise DefinitionError("typed_above needs typed: what has to be typed above that count?")

    @property
    def needs_count(self) -> bool:
        """Whether a count has to be there before this guard can decide."""
        by_count = self.above is not None or self.typed_above is not None or self.typed == "count"
        return by_count or "count" in names_in(self.message)

    def concerns(
        self, tool: str, annotations: Mapping[str, Any] | None, arguments: Mapping[str, Any]
    ) -> bool:
        """Whether the guard is for this call at all, whatever the count will be."""
        return self.why_not(tool, annotations, arguments) is None

    def why_not(
        self,
        tool: str,
        annotations: Mapping[str, Any] | None,
        arguments: Mapping[str, Any],
        count: int | None = None,
    ) -> str | None:
        """Why nobody is asked about this call, in a sentence; None when somebody is."""
        if not any(fnmatchcase(tool, pattern) for pattern in self.tools):
            return "It is for other tools."
        if not matches(self.hint, annotations):
            return f"It is for tools that {MEANING[self.hint]}, and this one says otherwise."
        if unlike := [
            name for name, pattern in self.arguments.items() if not _fits(arguments, name, pattern)
        ]:
            return f"It is for other values of {', '.join(unlike)}."
        if self.above is not None and count is not None and count <= self.above:
            return f"It asks above {count_of(self.above)}, and this is about {count_of(count)}."
        return None

    def applies(
        self,
        tool: str,
        annotations: Mapping[str, Any] | None,
        arguments: Mapping[str, Any],
        count: int | None = None,
    ) -> FormQuestion[Any] | None:
        """The question that has to be answered before this call runs; None when it may run as it is."""
        if self.why_not(tool, annotations, arguments, count) is not None:
            return None
        if self.needs_count and count is None:
            raise DefinitionError("this guard speaks of a count; give it count=, a function that counts")
        return FormQuestion(self._message(tool, arguments, count), self._form(arguments, count))

    def to_type(self, arguments: Mapping[str, Any], count: int | None) -> str | None:
        """What has to be typed for a yes; None when a yes is enough."""
        if self.typed is None or (self.typed_above is not None and (count or 0) <= self.typed_above):
            return None
        if self.typed == "count":
            return str(count)
        if not isinstance(name := arguments.get(self.typed), str) or not name.strip():
            raise DefinitionError(
                f"the argument {self.typed!r} is to be typed, and it is no text in this call"
            )
        return name.strip()

    def agreed(self, content: Mapping[str, Any], arguments: Mapping[str, Any], count: int | None) -> bool:
        """Whether an accepted answer says yes."""
        wanted = self.to_type(arguments, count)
        return content.get(YES) is True if wanted is None else same_text(content.get(TYPED), wanted)

    def _message(self, tool: str, arguments: Mapping[str, Any], count: int | None) -> str:
        declined = None if self.if_declined is None else f"If you decline: {self.if_declined}"
        return compose(fill(self.message, arguments, count), tool, arguments, self.consequence, declined)

    def _form(self, arguments: Mapping[str, Any], count: int | None) -> Form[Any]:
        wanted = self.to_type(arguments, count)
        if wanted is None:
            return _CONFIRM
        what = f"the number {count_of(int(wanted))}" if self.typed == "count" else f"the {self.typed} above"
        return Form.by_hand(Text(TYPED, title=f"Type {what} to go ahead", min_length=1, max_length=500))


def counted(arguments: Mapping[str, Any], name: str) -> int | None:
    """How much an argument is about: the elements that it has, or the number that it is. None when it does not say."""
    match arguments.get(name):
        case list() | dict() as several:
            return len(several)
        case int() as number if not isinstance(number, bool) and number >= 0:
            return number
    return None


def same_text(typed: object, wanted: str) -> bool:
    """Whether somebody typed what was wanted; a number may be written with separators."""
    if not isinstance(typed, str):
        return False
    plain = typed.strip()
    return plain == wanted or (wanted.isdecimal() and _SEPARATED.sub("", plain) == wanted)


_SEPARATED: Final = re.compile(r"(?<=\d)[,. '\u00a0\u202f](?=\d{3})")


def _fits(arguments: Mapping[str, Any], name: str, pattern: str) -> bool:
    """Whether an argument matches; of a list one element is enough."""
    if name not in arguments:
        return False
    value = arguments[name]
    values = value if isinstance(value, list) else [value]
    return any(fnmatchcase(_plain(each), pattern) for each in values)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
