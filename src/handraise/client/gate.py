"""What stands between a question and the desks of a host: ports, for a policy and for desks."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from handraise.desks import Decision, Waiting
from handraise.wire import RefusalCode


class Desks(Protocol):
    """Where a question is put to a person: the queue behind our desks, or whatever else stands for one."""

    async def put(self, waiting: Waiting) -> Decision:
        """Have a question answered."""
        ...

    async def join(self, question_id: str) -> Decision | None:
        """The decision about a question that waits already; None when it is gone."""
        ...

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """Tell of a question that was decided without waiting."""
        ...


class Ruling(Protocol):
    """What a policy says: whether a question may reach the desk, and why."""

    @property
    def verdict(self) -> Literal["allow", "warn", "refuse"]: ...
    @property
    def reasons(self) -> tuple[str, ...]: ...
    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that say so."""
        ...

    @property
    def silent(self) -> bool:
        """Whether nothing is to be said about a refusal: the person muted the server."""
        ...

    @property
    def same_as(self) -> str | None:
        """The question that waits already and is just the same: one answer serves both."""
        ...

    @property
    def passkey(self) -> str:
        """Why accepting it needs the person's passkey; empty when it does not."""
        ...


def refusal_of(rules: tuple[str, ...]) -> RefusalCode:
    """The code that a server may learn of a refusal. The rules themselves are the person's."""
    for prefix, code in _CODES.items():
        if any(rule.startswith(prefix) for rule in rules):
            return code
    return "policy"


_CODES: Final[dict[str, RefusalCode]] = {"limits": "rate", "forms.": "secret", "links.": "link"}


class Gate(Protocol):
    """What decides whether a question may reach the desk, and hears how it ended."""

    def admit(self, waiting: Waiting, now: float) -> Ruling:
        """Judge a question by the rules and the limits."""
        ...

    def needs_passkey(self, waiting: Waiting) -> bool:
        """Whether accepting a question needs the person's passkey, so that no other desk than ours can take it."""
        ...

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Take note of a decision: quiet time after a decline, a person's own rule."""
        ...
