"""Rules over questions, and how they are put together.

A rule has a name and gives a ruling for some facts. `all_of` is as strict as its strictest part, `any_of` as
lenient as its most lenient one, and both refuse when they have no parts: what nobody allows is not allowed.

    mine = all_of(*standard_rules(settings), any_of(asked_by("notes"), not_(has_a_link, "No links.")))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handraise.policy.facts import Facts
from handraise.policy.rulings import ALLOW, Ruling, mildest_of, refuse, worst_of


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Called with facts it gives its ruling, which carries the rule's name unless it allows."""

    name: str
    decide: Callable[[Facts], Ruling]

    def __call__(self, facts: Facts) -> Ruling:
        ruling = self.decide(facts)
        if ruling.verdict == "allow" or ruling.rules:
            return ruling
        return replace(ruling, rules=(self.name,))


def rule(name: str) -> Callable[[Callable[[Facts], Ruling]], Rule]:
    """Make a rule of a function."""
    return lambda decide: Rule(name, decide)


def all_of(*rules: Rule, name: str = "all_of") -> Rule:
    """Every rule has its say, and the worst verdict counts."""
    return Rule(name, lambda facts: worst_of(each(facts) for each in rules))


def any_of(*rules: Rule, name: str = "any_of") -> Rule:
    """One lenient rule is enough."""
    return Rule(name, lambda facts: mildest_of(each(facts) for each in rules))


def not_(inner: Rule, reason: str, name: str | None = None) -> Rule:
    """Refuse, for this reason, what the rule lets through; allow what it refuses."""

    def decide(facts: Facts) -> Ruling:
        return ALLOW if inner(facts).verdict == "refuse" else refuse(reason)

    return Rule(name or f"not {inner.name}", decide)


def asked_by(*servers: str) -> Rule:
    """Only these servers, by their configured name or target."""

    def decide(facts: Facts) -> Ruling:
        if facts.origin.name in servers or facts.origin.target in servers:
            return ALLOW
        return refuse(f"{facts.origin.name} is not one of: {', '.join(servers)}.")

    return Rule("asked_by", decide)
