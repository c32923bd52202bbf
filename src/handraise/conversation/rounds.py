"""One round: questions that went out together, and the requests that wait for what comes next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from handraise.conversation.records import Json, Outcome

TOKEN_PREFIX = "hr1."  # noqa: S105 - what tokens of ours begin with, no token
"""What every requestState of ours starts with. Anything else belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long things may take and how many there may be."""

    linger: float = 10.0
    """How long a body goes on after its caller left, once an answer was used."""
    retry_window: float = 60.0
    """How long the outcome of a round is kept for the same retry arriving again."""
    grace: float = 2.0
    """How long bodies may tidy up when the server shuts down."""
    lease: float = 30.0
    """How long a round that another process took is left to it."""
    max_parked: int = 100_000
    """How many questions may wait at once."""
    forget_bodies: bool = False
    """Let replayable bodies go at each question instead of keeping them suspended."""


class Waiter(asyncio.Future[None]):
    """What a request waits at. One that is cancelled there says so before anybody else hears of it."""

    def __init__(self, left: Callable[[Waiter], object]) -> None:
        super().__init__()
        self._left = left

    def cancel(self, msg: object = None) -> bool:
        """The caller does not wait any more."""
        cancelled, loop = super().cancel(msg), self.get_loop()
        if cancelled and loop.is_running():
            self._left(self)
        elif cancelled and not loop.is_closed():  # `asyncio.run` ends what is left, and lets it run once more
            loop.call_soon(self._left, self)
        return cancelled


class Asked:
    """One open question: what was sent, and the future that its body waits on."""

    __slots__ = ("future", "request", "until")

    def __init__(self, request: Json, future: asyncio.Future[Json], until: float) -> None:
        self.request: Json = request
        self.future: asyncio.Future[Json] = future
        self.until: float = until
        """Wall clock, for the store."""

    @property
    def waiting(self) -> bool:
        """Whether nobody has answered yet."""
        return not self.future.done()

    def fail(self, error: Exception) -> None:
        """Tell the body that there will be no answer."""
        if not self.future.done():
            self.future.set_exception(error)

    def drop(self) -> None:
        """Nobody waits for this question any more."""
        if not self.future.cancel() and not self.future.cancelled():
            self.future.exception()  # seen, so that asyncio does not report it as lost


_NOTHING: Mapping[str, Json] = MappingProxyType({})


class Round:
    """What a request waits for: the call itself (no token), or a retry that answers questions.

    Thousands of them wait at once, so nothing is made before it is needed: tuples instead of lists and sets.
    """

    __slots__ = ("error", "number", "outcome", "shown", "taken", "taking", "token", "tried", "waiters")

    def __init__(self, number: int, token: str = "", shown: Mapping[str, Json] = _NOTHING) -> None:
        self.number: int = number
        self.token: str = token
        self.shown: Mapping[str, Json] = shown
        """The input requests of this round, by key."""
        self.taken: bool = False
        """Whether its answers are the body's."""
        self.taking: int = 0
        """How many retries are at the store with answers to this round."""
        self.tried: tuple[float, ...] = ()
        """When they went there, of those which did not come back. A round that was taken then was taken by us."""
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.waiters: tuple[Waiter, ...] = ()

    def finish(self, outcome: Outcome, error: BaseException | None = None) -> None:
        """Say how the round went on, to every request that waits."""
        self.outcome, self.error = outcome, error
        waiters, self.waiters = self.waiters, ()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def result(self) -> Json:
        """The wire result of the finished round. Raises what the body raised."""
        assert self.outcome is not None
        if self.error is not None:
            raise self.error
        return self.outcome.value
