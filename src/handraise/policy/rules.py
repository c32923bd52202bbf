"""Rules over questions: the facts a rule sees, its ruling with the reasons, and how rules are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from handraise.questions import Origin, Question
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
"""Nothing speaks against it."""


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
    """Every rule has its say, and the worst verdict counts."""
    return PolicyRule(name, lambda facts: worst_of(each(facts) for each in rules))


def any_of(*rules: PolicyRule, name: str = "any_of") -> PolicyRule:
    """One lenient rule is enough."""
    return PolicyRule(name, lambda facts: mildest_of(each(facts) for each in rules))


def not_(inner: PolicyRule, reason: str, name: str | None = None) -> PolicyRule:
    """The opposite rule: refuse, for this reason, the questions that `rule` allows, and allow those that it refuses."""

    def decide(facts: Facts) -> PolicyRuling:
        return ALLOW if inner(facts).verdict == "refuse" else refuse(reason)

    return PolicyRule(name or f"not {inner.name}", decide)


def asked_by(*servers: str) -> PolicyRule:
    """Only these servers, by their configured name or target."""

    def decide(facts: Facts) -> PolicyRuling:
        if facts.origin.name in servers or facts.origin.target in servers:
            return ALLOW
        return refuse(f"{facts.origin.name} is not one of: {', '.join(servers)}.")

    return PolicyRule("asked_by", decide)
