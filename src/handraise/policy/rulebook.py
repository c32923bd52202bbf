"""A person's own rules about servers: allow, mute, block; for a while or for good; and taking one back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, get_args

from handraise.errors import SetupError
from handraise.policy.tables import AskingRule
from handraise.questions import Origin

SESSION: Final = 12 * 3600.0
"""How long a rule lasts that was made for the session from outside of it, in seconds."""
_ENTRIES: Final = 500


@dataclass(frozen=True, slots=True)
class OwnRule:
    """One rule about a server, by its configured name or its target."""

    server: str
    asking: AskingRule
    made: float = 0.0
    until: float | None = None
    """None: until it is taken back."""
    person: str = ""
    """Empty: anyone who uses this account."""

    def holds(self, now: float) -> bool:
        """Whether it has not run out."""
        return self.until is None or now < self.until

    def covers(self, origin: Origin, person: str) -> bool:
        """Whether it is about this server, and this person's."""
        return self.server in (origin.name, origin.target) and self.person in ("", person)


Which: TypeAlias = str | OwnRule | None
"""A rule to take back: the latest about a server, this one, or the latest of all."""
MAY: Final[Mapping[AskingRule, str]] = MappingProxyType(
    {
        "allow": "may ask",
        "mute": "is muted: its questions are cancelled without notice",
        "block": "is blocked: its questions are cancelled, and the desk shows that it tried",
    }
)
"""A sentence about a server's questions, to follow its name."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules in the order in which they were made; for each server the latest that holds counts."""

    entries: tuple[OwnRule, ...] = ()

    def add(self, rule: OwnRule) -> Rulebook:
        """The book with one more rule. One that says the same again takes the place of the first.

        Its time is never before that of an older rule, even when the clock was set back.
        """
        rule = replace(rule, made=max([rule.made, *(each.made for each in self.entries)]))
        alike = (rule.server, rule.person, rule.asking, rule.until is None)
        kept = [e for e in self.entries if (e.server, e.person, e.asking, e.until is None) != alike]
        entries = _within_bounds([*(each for each in kept if each.holds(rule.made)), rule])
        return Rulebook(tuple(entries))

    def undo(self, which: Which = None) -> tuple[Rulebook, OwnRule | None]:
        """The book without its latest rule, the latest about one server, or one certain rule; and that rule."""
        for place in range(len(self.entries) - 1, -1, -1):
            if which is None or which in (self.entries[place], self.entries[place].server):
                rest = self.entries[:place] + self.entries[place + 1 :]
                return Rulebook(rest), self.entries[place]
        return self, None

    def find(self, origin: Origin, person: str, now: float) -> OwnRule | None:
        """The rule that counts for a server now."""
        fitting = (each for each in reversed(self.entries) if each.holds(now) and each.covers(origin, person))
        return next(fitting, None)

    def standing(self, now: float) -> tuple[OwnRule, ...]:
        """The rules that count now, one for each server and person."""
        latest = {(each.server, each.person): each for each in self.entries if each.holds(now)}
        return tuple(latest.values())


class OwnRules(Protocol):
    """Where a person's own rules are kept."""

    def book(self) -> Rulebook:
        """All rules, as they are now."""
        ...

    def add(self, rule: OwnRule, *, keep: bool) -> None:
        """Make a rule; without `keep` it is forgotten when this program ends."""
        ...

    def undo(self, which: Which = None) -> OwnRule | None:
        """Take back the latest rule, the latest about one server, or a certain one; None when there is none."""
        ...

    def keeps(self, rule: OwnRule) -> bool:
        """Whether a rule outlives this program."""
        ...


class RulesInMemory:
    """Own rules that live as long as the program."""

    def __init__(self, book: Rulebook | None = None) -> None:
        self._book = book or Rulebook()

    def book(self) -> Rulebook:
        """All rules, as they are now."""
        return self._book

    def add(self, rule: OwnRule, *, keep: bool = False) -> None:
        """Make a rule."""
        self._book = self._book.add(rule)

    def undo(self, which: Which = None) -> OwnRule | None:
        """Take a rule back."""
        self._book, undone = self._book.undo(which)
        return undone

    def keeps(self, rule: OwnRule) -> bool:
        """No rule here outlives the program."""
        return False


def dump_book(book: Rulebook) -> dict[str, Any]:
    """The book as JSON."""
    names = OwnRule.__slots__
    return {"version": 1, "rules": [{name: getattr(each, name) for name in names} for each in book.entries]}


def parse_book(raw: object) -> Rulebook:
    """The book from JSON. A damaged one is refused: rules that get lost unblock servers."""
    rules = raw.get("rules") if isinstance(raw, dict) and raw.get("version") == 1 else None
    if not isinstance(rules, list):
        raise SetupError("this is no file of rules, or one of a newer version")
    return Rulebook(tuple(_parse_rule(each) for each in rules))


def _parse_rule(raw: object) -> OwnRule:
    if not isinstance(raw, dict) or raw.keys() != set(OwnRule.__slots__):
        raise SetupError("a rule is damaged")
    texts = isinstance(raw["server"], str) and isinstance(raw["person"], str)
    times = _is_time(raw["made"]) and (raw["until"] is None or _is_time(raw["until"]))
    if not texts or not times or raw["asking"] not in get_args(AskingRule):
        raise SetupError("a rule is damaged")
    return OwnRule(**raw)


def _is_time(value: object) -> bool:
    return type(value) in (int, float)


def _within_bounds(entries: list[OwnRule]) -> Iterable[OwnRule]:
    """Forget what newer rules replaced, oldest first, when there are too many; never a rule that counts."""
    if len(entries) <= _ENTRIES:
        return entries
    counting = {(each.server, each.person): each for each in entries}
    if len(counting) > _ENTRIES:
        raise SetupError(f"there are {_ENTRIES} rules already; take some back first")
    return counting.values()
