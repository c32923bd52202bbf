"""Protocols for the policy and the desks of a host."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from handraise.desks import Decision, Waiting
from handraise.wire import RefusalCode


class Desks(Protocol):
    """Where a person is asked: the queue behind our desks, or another dialog."""

    async def put(self, waiting: Waiting) -> Decision:
        """Ask a question and wait for the decision."""
        ...

    async def join(self, question_id: str) -> Decision | None:
        """Wait for the decision about a waiting question; None when it is gone."""
        ...

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """Show a question that was decided without waiting."""
        ...


class Ruling(Protocol):
    """A policy's verdict: whether a question may reach the desk, and why."""

    @property
    def verdict(self) -> Literal["allow", "warn", "refuse"]: ...
    @property
    def reasons(self) -> tuple[str, ...]: ...
    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules behind it."""
        ...

    @property
    def silent(self) -> bool:
        """Whether a refusal is not shown, because the person muted the server."""
        ...

    @property
    def same_as(self) -> str | None:
        """The id of an identical question that waits already: one answer is for both."""
        ...

    @property
    def passkey(self) -> str:
        """Why accepting it needs the person's passkey; empty when it does not."""
        ...


def refusal_of(rules: tuple[str, ...]) -> RefusalCode:
    """The code of a refusal for the server, which must not learn the person's rules."""
    for prefix, code in _CODES.items():
        if any(rule.startswith(prefix) for rule in rules):
            return code
    return "policy"


_CODES: Final[dict[str, RefusalCode]] = {"limits": "rate", "forms.": "secret", "links.": "link"}


class Gate(Protocol):
    """Decides whether a question may reach the desk, and learns how it ended."""

    def admit(self, waiting: Waiting, now: float) -> Ruling:
        """Judge a question by the rules and the limits."""
        ...

    def needs_passkey(self, waiting: Waiting) -> bool:
        """Whether accepting a question needs the person's passkey. Then only our desk can ask it."""
        ...

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Take note of a decision: quiet time after a decline, a person's own rule."""
        ...
