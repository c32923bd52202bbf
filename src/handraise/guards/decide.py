"""`Guard`: which calls need a person, and what they are asked. Decides without looking anything up."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from string import Formatter
from types import MappingProxyType
from typing import Any, Final, Literal, assert_never
from unicodedata import category, normalize

from handraise.display import for_line, left_out
from handraise.errors import DefinitionError, GuardRefused
from handraise.forms import ANSWER, Flag, Form, Text
from handraise.questions import TYPED, FormQuestion

_VALUE: Final = 160
"""Characters for one argument, at least."""
_IN_TEXT: Final = 80
_NAME: Final = 60
_LINES: Final = 12
_END: Final = 2048
"""Characters at each end of a long value in which secrets are looked for."""
_NAMED: Final = 1000
"""Characters of a name that count. Two names that begin with the same so many are taken for one."""
_COUNTED: Final = 40
"""Characters for the count of omitted characters."""
_ARGUMENTS: Final = 1000
"""Characters for all arguments together, so that the consequence stays visible."""


def compose_message(
    headline: str,
    tool: str,
    arguments: Mapping[str, Any],
    consequence: str | None = None,
    if_declined: str | None = None,
) -> str:
    """The whole message. The effect of a decline is on the second line: some clients show only the first lines."""
    top = f"{headline}\nIf you decline: {if_declined}" if if_declined else headline
    parts = [top, "\n".join(_call(tool, arguments)), *([consequence] if consequence else [])]
    return "\n\n".join(parts)


def count_of(number: int) -> str:
    """A count with separators: 2,000."""
    return f"{number:,}"


def fill_sentence(template: str, arguments: Mapping[str, Any], count: int | None) -> str:
    """The author's sentence with the count and the arguments that it names."""
    shown = masked({name: arguments.get(name) for name in names_in(template)})
    values = {name: _text(value, _IN_TEXT) for name, value in shown.items()}
    if count is not None:
        values["count"] = count_of(count)
    return template.format(**values)


def names_in(template: str) -> frozenset[str]:
    """The names in a sentence. `DefinitionError` unless they are plain."""
    try:
        named = [(name, how) for _, name, *how in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise DefinitionError(f"the guard's sentence {template!r} cannot be filled in: {error}") from None
    for name, how in named:
        if not name.isidentifier() or any(how):
            raise DefinitionError(
                f"the guard's sentence names {name!r}; use the plain name of an argument, or count"
            )
    return frozenset(name for name, _ in named)


def masked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without secrets. Of a long value only both ends are looked at, because no more is shown.

    The attack: looking through 16 MiB of text takes minutes, in which nobody else is served.
    """
    from handraise.trace.masks import Masks  # imports all rules about secrets

    looked_at = {name: _ends(value) for name, value in arguments.items()}
    masks = Masks(longest=sys.maxsize, by_words=True)  # long values are cut here
    shown = {name: masks.mask({name[:_NAMED]: value}) for name, value in looked_at.items()}
    return {
        known: arguments[name] if value == looked_at[name] else value
        for name, each in shown.items()
        for known, value in each.items()
    }


def _ends(value: Any) -> Any:
    text = _as_text(value)
    return value if len(text) <= 2 * _END else f"{text[:_END]}\n\n{text[-_END:]}"


def _call(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    yield f"Tool: {for_line(tool, limit=_NAME)}"
    if not arguments:
        yield "Arguments: none"
        return
    yield "Arguments:"
    room, told = _ARGUMENTS, 0
    share = max(_VALUE, _ARGUMENTS // len(arguments) - _NAME - _COUNTED)
    for name, value in masked(dict(islice(arguments.items(), _LINES))).items():
        line = f"- {for_line(name, limit=_NAME)}: {_text(value, share)}"
        if len(line) > room:
            break
        yield line
        room -= len(line)
        told += 1
    if left := len(arguments) - told:
        yield f"- and {left} more that {'is' if left == 1 else 'are'} not shown"


def _text(value: Any, limit: int) -> str:
    text, half = _as_text(value), limit // 2
    if len(text) > 2 * _END:
        ends = for_line(text[:half], limit=half), for_line(text[-half:], limit=half)
        return left_out(len(text) - 2 * half).join(ends)
    if len(whole := for_line(text, limit=limit)) <= limit:
        return whole
    return for_line(text[:-half], limit=half) + for_line(text[-half:], limit=half)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


Hint = Literal["destructive", "writes", "any"]
"""The tools of a guard: those that may destroy, those that may change anything, or all."""

MEANING: Final[Mapping[Hint, str]] = MappingProxyType(
    {"destructive": "may destroy something", "writes": "may change something", "any": "do anything"}
)


def matches(hint: Hint, annotations: Mapping[str, Any] | None) -> bool:
    """Whether a tool matches, by its annotations. Only a plain `true` or `false` counts."""
    said = annotations or {}
    read_only = said.get("readOnlyHint") is True
    match hint:
        case "any":
            return True
        case "writes":
            return not read_only
        case "destructive":
            return not read_only and said.get("destructiveHint") is not False
    assert_never(hint)


IF_DECLINED: Final = "Nothing is done, and the model is told that you said no."
MISTYPED: Final = "This is not what had to be typed."
_CONFIRM: Final[Form[Any]] = Form.by_hand(Flag(ANSWER, title="Go ahead?"))


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule that asks the person before certain calls of tools.

    - `message`: a sentence that says what will happen. `{count}` and the names of arguments are filled in.
    - `tools`: which tools, by name or pattern (`delete_*`).
    - `hint`: which of them, by their annotations. A tool without annotations counts as destructive.
    - `arguments`: patterns that the arguments of these names must match. A missing argument does not match. A value
      that a server may take for a matching one does: in another case, as JSON in a text, `yes` for true.
    - `above`: only when the count is above this.
    - `typed`: what the person types instead of a yes: `"count"`, or the name of an argument.
    - `typed_above`: type it only when the count is above this.
    - `consequence`, `if_declined`: the effect of each answer.
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
        """Whether this guard needs a count to decide."""
        by_count = self.above is not None or self.typed_above is not None or self.typed == "count"
        return by_count or "count" in names_in(self.message)

    def concerns(
        self, tool: str, annotations: Mapping[str, Any] | None, arguments: Mapping[str, Any]
    ) -> bool:
        """Whether the guard applies to this call, whatever the count."""
        return self.why_not(tool, annotations, arguments) is None

    def why_not(
        self,
        tool: str,
        annotations: Mapping[str, Any] | None,
        arguments: Mapping[str, Any],
        count: int | None = None,
    ) -> str | None:
        """A sentence why nobody is asked about this call; None when somebody is."""
        if not any(fnmatchcase(tool, pattern) for pattern in self.tools):
            return "It is for other tools."
        if not matches(self.hint, annotations):
            return f"It is for tools that {MEANING[self.hint]}, and this one says otherwise."
        if unlike := [name for name, pattern in self.arguments.items() if not fits(arguments, name, pattern)]:
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
        """The question before this call; None when it may run."""
        if self.why_not(tool, annotations, arguments, count) is not None:
            return None
        if self.needs_count and count is None:
            raise DefinitionError("this guard speaks of a count; give it count=, a function that counts")
        return FormQuestion(self._message(tool, arguments, count), self._form(arguments, count))

    def to_type(self, arguments: Mapping[str, Any], count: int | None) -> str | None:
        """The text that the person types for a yes; None when a yes is enough."""
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
        return content.get(ANSWER) is True if wanted is None else same_text(content.get(TYPED), wanted)

    def _message(self, tool: str, arguments: Mapping[str, Any], count: int | None) -> str:
        headline = fill_sentence(self.message, arguments, count)
        # First those that the guard looks at. The attack: a dozen others push them out of sight.
        names = (*self.arguments, *([] if self.typed is None else [self.typed]))
        looked_at = {name: arguments[name] for name in names if name in arguments}
        return compose_message(headline, tool, looked_at | {**arguments}, self.consequence, self.if_declined)

    def _form(self, arguments: Mapping[str, Any], count: int | None) -> Form[Any]:
        wanted = self.to_type(arguments, count)
        if wanted is None:
            return _CONFIRM
        what = f"the number {count_of(int(wanted))}" if self.typed == "count" else f"the {self.typed} above"
        return Form.by_hand(
            Text(TYPED, title=f"Type {what} to go ahead", min_length=1, max_length=max(300, len(wanted)))
        )


def count_in(arguments: Mapping[str, Any], name: str) -> int | None:
    """The count in an argument: its number of elements, or its number. None for anything else."""
    match arguments.get(name):
        case list() | dict() as several:
            return len(several)
        case int() as number if not isinstance(number, bool) and number >= 0:
            return number
    return None


def same_text(typed: object, wanted: str) -> bool:
    """Whether the typed text is the wanted one. A number may be written with separators."""
    if not isinstance(typed, str):
        return False
    plain = typed.strip()
    return plain == wanted or (wanted.isdecimal() and _SEPARATED.sub("", plain) == wanted)


_SEPARATED: Final = re.compile(r"(?<=\d)[,. '\u00a0\u202f](?=\d{3})")


def fits(arguments: Mapping[str, Any], name: str, pattern: str) -> bool:
    """Whether an argument may match; one element of a list is enough.

    The attack: the guard reads a value in another way than the server. Servers change case and blanks, parse JSON in
    texts (`'["/etc/passwd"]'`), and take `yes` or 1 for true and `+5` for 5. So whatever may mean the same matches.
    """
    if name not in arguments:
        return False
    value, wanted = arguments[name], folded(pattern)
    return any(_may_mean(each, wanted) for each in (value if isinstance(value, list) else [value]))


def _may_mean(value: Any, wanted: str) -> bool:
    if isinstance(value, dict | list) or (isinstance(value, str) and len(value) > _MEANT):
        return True
    text = folded(("true" if value else "false") if isinstance(value, bool) else str(value))
    if text.startswith(("[", "{", '"')):
        return True
    if wanted in _OTHER:
        return text != _OTHER[wanted]
    number = _number_in(wanted)
    return fnmatchcase(text, wanted) or (number is not None and number == _number_in(text))


_MEANT: Final = 10_000
"""Characters of a text up to which it is compared with a pattern. A longer one may mean anything."""
_OTHER: Final = {"true": "false", "false": "true"}


def _number_in(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def folded(text: str) -> str:
    """A name or value as a lenient server may read it: in any case, without blanks around it or invisible signs."""
    text = normalize("NFKC", text[:_MEANT])
    if not text.isprintable():
        text = "".join(each for each in text if category(each)[0] != "C")
    return text.casefold().strip()


_MOST = 10_000


class DeclinePause:
    """Remembers who declined which tool, for `seconds`."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}

    def begin(self, person: str, tool: str) -> None:
        """Remember a decline."""
        if self._seconds <= 0:
            return
        key = person, folded(tool)
        self._until.pop(key, None)  # to the end, after those that expire sooner
        self._until[key] = self._clock() + self._seconds
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]

    def require_over(self, person: str, tool: str) -> None:
        """Refuse a call that comes too soon after a decline."""
        left = self._until.get((person, folded(tool)), 0.0) - self._clock()
        if left > 0:
            raise GuardRefused(
                f"The person declined {tool} a moment ago and is not asked again for {math.ceil(left)} seconds. "
                "Nothing was done. Talk to them first.",
                category="cooling_down",
            )
