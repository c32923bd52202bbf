"""Rules that judge a question, and a person's own rules about servers: allow, mute or block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from handraise.errors import SetupError
from handraise.policy.settings import AskingRule
from handraise.questions import Origin, Question

if TYPE_CHECKING:  # a gateway reads its settings before it starts its server
    from handraise.secrets import SecretFinding
    from handraise.urls import Inspection


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a server has asked a person so far."""

    in_call: int = 0
    waiting: int = 0
    """Open questions of the same call."""
    last_minute: int = 0
    last_hour: int = 0
    quiet_left: float = 0.0
    """Seconds for which the server has to be quiet, because the person declined."""


@dataclass(frozen=True, slots=True)
class Facts:
    """One question, the server that asks it, and the facts about both."""

    question: Question
    origin: Origin
    person: str = ""
    """The person's key."""
    secrets: tuple[SecretFinding, ...] = ()
    """Data in its form that a form should not ask for."""
    link: Inspection | None = None
    """The facts about its link."""
    tool: str | None = None
    """The call that asks, when the host can tell."""
    now: float = 0.0
    """Wall clock."""
    counts: Counts = Counts()
    guard: bool = False
    """Whether one of the user's guards asks it before a call."""
    shared: bool = False
    """Whether it waits at a desk that several people share."""

    @property
    def mode(self) -> Literal["form", "url"]:
        """Whether it is a form or a link."""
        return self.question.mode


PolicyVerdict = Literal["allow", "warn", "refuse"]

_SEVERITY: Final[dict[PolicyVerdict, int]] = {"allow": 0, "warn": 1, "refuse": 2}


@dataclass(frozen=True, slots=True)
class PolicyRuling:
    """A verdict with its reasons, which are sentences for the person."""

    verdict: PolicyVerdict
    reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """The names of the rules that decided."""
    silent: bool = False
    """Refused without a word at the desk: the person muted the server."""
    same_as: str | None = None
    """The id of the same question, which waits already: its answer is this one's too."""
    passkey: str = ""
    """Why accepting it needs the person's passkey, in a sentence; empty when it does not."""

    @property
    def severity(self) -> int:
        """0 to 2: the higher, the worse."""
        return _SEVERITY[self.verdict]


ALLOW: Final = PolicyRuling("allow")
"""The ruling that allows a question."""


def warn(*reasons: str) -> PolicyRuling:
    """The question may be shown, with these reasons beside it."""
    return PolicyRuling("warn", reasons)


def refuse(*reasons: str, silent: bool = False) -> PolicyRuling:
    """The question may not be shown."""
    return PolicyRuling("refuse", reasons, silent=silent)


def worst_of(rulings: Iterable[PolicyRuling]) -> PolicyRuling:
    """Combine all rulings: the worst verdict, and all reasons, the worst first."""
    ordered = sorted(rulings, key=lambda ruling: -ruling.severity)
    if not ordered:
        return refuse("No rule allows it.")
    deciding = [ruling for ruling in ordered if ruling.verdict == ordered[0].verdict]
    return PolicyRuling(
        ordered[0].verdict,
        _once(reason for ruling in ordered for reason in ruling.reasons),
        _once(name for ruling in deciding for name in ruling.rules),
        any(ruling.silent for ruling in deciding),
        passkey=next((ruling.passkey for ruling in ordered if ruling.passkey), ""),
    )


def mildest_of(rulings: Iterable[PolicyRuling]) -> PolicyRuling:
    """The most lenient ruling: the first one with the mildest verdict."""
    return min(rulings, key=lambda ruling: ruling.severity, default=refuse("No rule allows it."))


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule. Called with facts it gives its ruling, which carries the rule's name unless it allows."""

    name: str
    decide: Callable[[Facts], PolicyRuling]

    def __call__(self, facts: Facts) -> PolicyRuling:
        ruling = self.decide(facts)
        if ruling.verdict == "allow" or ruling.rules:
            return ruling
        return replace(ruling, rules=(self.name,))


def rule(name: str) -> Callable[[Callable[[Facts], PolicyRuling]], PolicyRule]:
    """Make a rule of a function."""
    return lambda decide: PolicyRule(name, decide)


def all_of(*rules: PolicyRule, name: str = "all_of") -> PolicyRule:
    """A rule that is as strict as the strictest of these."""
    return PolicyRule(name, lambda facts: worst_of(each(facts) for each in rules))


def any_of(*rules: PolicyRule, name: str = "any_of") -> PolicyRule:
    """A rule that is as lenient as the most lenient of these."""
    return PolicyRule(name, lambda facts: mildest_of(each(facts) for each in rules))


def not_(inner: PolicyRule, reason: str, name: str | None = None) -> PolicyRule:
    """The opposite rule: refuse, for this reason, the questions that `rule` allows, and allow those that it refuses."""

    def decide(facts: Facts) -> PolicyRuling:
        return ALLOW if inner(facts).verdict == "refuse" else refuse(reason)

    return PolicyRule(name or f"not {inner.name}", decide)


def asked_by(*servers: str) -> PolicyRule:
    """A rule that allows only these servers, by their configured name or target."""

    def decide(facts: Facts) -> PolicyRuling:
        if facts.origin.name in servers or facts.origin.target in servers:
            return ALLOW
        return refuse(f"{facts.origin.name} is not one of: {', '.join(servers)}.")

    return PolicyRule("asked_by", decide)


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
