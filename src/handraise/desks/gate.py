"""Between the policy and the desks: what may wait at a desk, and what the policy learns from a decision."""

from __future__ import annotations

from dataclasses import replace

from handraise.desks.waiting import Cause, Decision, Waiting
from handraise.policy import (
    Admitted,
    CountedQuestion,
    Facts,
    JoinsWaiting,
    OverLimit,
    OwnRule,
    Policy,
    PolicyRuling,
    RateLimits,
    sameness_of,
)
from handraise.policy.rules import refuse
from handraise.urls import Inspection


class PolicyGate:
    """Judges a question by the rules, then by the limits; hears how it ended."""

    def __init__(self, policy: Policy, limits: RateLimits | None = None, *, shared: bool = False) -> None:
        """`shared`: the questions wait at a desk that several people share."""
        self.policy = policy
        self.shared = shared
        self.limits: RateLimits = limits or RateLimits(policy.settings)

    def admit(self, waiting: Waiting, now: float) -> PolicyRuling:
        """Decide whether it may wait at a desk. A question that the rules refuse does not count towards the limits."""
        ruling = self.policy.judge(self._facts(waiting, now))
        if ruling.verdict == "refuse":
            return ruling
        match self.limits.admit(self._ask(waiting), now):
            case Admitted():
                return ruling
            case JoinsWaiting(into):
                return replace(ruling, same_as=into)
            case OverLimit(reason):
                return replace(refuse(reason), rules=("limits",))

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Record a decision: a decline starts quiet time for the server, and a block makes a rule."""
        action = decision.answer.action if decision.by == "human" else None
        self.limits.settle(self._ask(waiting), action, now)
        if decision.block is not None:
            rule = OwnRule(waiting.origin.name, "block", made=now, person=waiting.person.key)
            self.policy.remember(rule, keep=decision.block == "always")

    def _facts(self, waiting: Waiting, now: float) -> Facts:
        facts = self.policy.facts(
            waiting.question,
            waiting.origin,
            waiting.person.key,
            tool=_tool(waiting.cause),
            now=now,
            guard=waiting.guard,
            shared=self.shared,
        )
        secrets = tuple(dict.fromkeys((*facts.secrets, *waiting.secrets)))
        return replace(facts, secrets=secrets, link=_worse(waiting.link, facts.link))

    def _ask(self, waiting: Waiting) -> CountedQuestion:
        lasts = None if waiting.deadline is None else max(0.0, waiting.deadline - waiting.asked_at)
        return CountedQuestion(
            waiting.id,
            waiting.origin.name,
            waiting.person.key,
            sameness_of(waiting.question),
            _call(waiting.cause),
            lasts,
            waiting.origin.target,
        )


def _call(cause: Cause | None) -> str | None:
    """The id of the call that asks; None if it is not certain. Two equal calls have different ids."""
    return cause.call_id if cause is not None and cause.certain else None


def _tool(cause: Cause | None) -> str | None:
    return cause.calls[0][0] if cause is not None and cause.certain and cause.calls else None


def _worse(seen: Inspection | None, found: Inspection | None) -> Inspection | None:
    """The worse of two inspections. The host knows where the server is, the policy knows which names to protect."""
    severities = ("ok", "warn", "danger")
    both = [link for link in (seen, found) if link is not None]
    return max(both, key=lambda link: severities.index(link.verdict), default=None)
