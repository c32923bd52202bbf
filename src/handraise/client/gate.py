"""Protocols for the policy and the desks of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from handraise.desks import Decision, Waiting

if TYPE_CHECKING:
    from handraise.policy import PolicyRuling


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


class Gate(Protocol):
    """Decides whether a question may reach the desk, and learns how it ended."""

    def admit(self, waiting: Waiting, now: float) -> PolicyRuling:
        """Judge a question by the rules and the limits."""
        ...

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Take note of a decision: quiet time after a decline, a person's own rule."""
        ...
