"""A server without an SDK: calls and their retries go straight to a lot."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from handraise.conversation import Binding, Body, Conversation, Lot, RoundRecord, Store, Terms
from handraise.conversation.digest import Written
from handraise.conversation.journal import Journal
from handraise.errors import Expired, StoreError, Withdrawn
from handraise.stores import MemoryStore

T = TypeVar("T")
Tool = Callable[[Conversation], Awaitable[Any]]

ALICE = Binding("alice", "tools/call", "transfer", Written.of({}))
MALLORY = ALICE._replace(person="mallory")

_LIMIT = 10.0


async def within(work: Awaitable[T], seconds: float = _LIMIT) -> T:
    """Wait for something that has to happen soon."""
    return await asyncio.wait_for(work, seconds)


async def breathe(times: int = 10) -> None:
    """Let every task that can go on go on."""
    for _ in range(times):
        await asyncio.sleep(0)


async def leave(retry: asyncio.Future[Any]) -> None:
    """Hang up."""
    retry.cancel()
    await asyncio.wait([retry])
    assert retry.cancelled()


async def ask(
    conversation: Conversation, key: str, *, message: str | None = None, timeout: float = 60.0
) -> Any:
    """Ask a question; its answer."""
    return await conversation.exchange(key, {"message": message or f"{key}?"}, timeout)


async def once(conversation: Conversation, key: str, step: Callable[[], Any]) -> Any:
    """Do a step that a replayed body does not do again."""
    journal = conversation.journal
    assert journal is not None
    if journal.has_done(key):
        return journal.result_of(key)
    with conversation.step():
        result = step()
        if inspect.isawaitable(result):
            result = await result
        await conversation.write(journal.done(key, result))
    return result


class Log(list[str]):
    """What bodies did, in order."""


def two_questions(log: Log) -> Tool:
    """A body with an effect before, between and after its questions."""

    async def body(conversation: Conversation) -> Any:
        log.append("before")
        name = await ask(conversation, "name")
        log.append(f"hello {name}")
        size = await ask(conversation, "size")
        log.append(f"size {size}")
        return {"name": name, "size": size}

    return body


def one_question(log: Log, **how: Any) -> Tool:
    """A body that writes down how its question ended."""

    async def body(conversation: Conversation) -> Any:
        try:
            name = await ask(conversation, "name", **how)
        except (Expired, Withdrawn) as nobody:
            log.append(nobody.code)
            raise
        finally:
            log.append("finally")
        log.append(f"hello {name}")
        return name

    return body


class Run(Body):
    """One run of a tool."""

    def __init__(self, lot: Lot, binding: Binding) -> None:
        self._lot = lot
        self._bound = binding

    @property
    def lot(self) -> Lot:
        return self._lot

    @property
    def binding(self) -> Binding:
        return self._bound


class Parking:
    """One server process: its lot, and the body of the only tool that it has."""

    def __init__(
        self, body: Tool, store: Store | None = None, *, replayable: bool = False, **terms: Any
    ) -> None:
        self.body = body
        self.store: Store = store if store is not None else MemoryStore()
        self.lot = Lot(
            self.store,
            Terms(**terms),
            wire=lambda questions, token: {"inputRequests": dict(questions), "requestState": token},
            describe=lambda error: {"message": f"{type(error).__name__}: {error}"},
        )
        self.rebound = 0
        self._replayable = replayable

    async def call(self, binding: Binding = ALICE) -> Any:
        """What the call itself gets."""
        run = Run(self.lot, binding)
        if self._replayable:
            run.conversation.handler, run.conversation.journal = "tool", Journal()
        return await run.run(self._work(run), contextvars.copy_context())

    async def retry(self, round_: Any, answers: Mapping[str, Any], binding: Binding = ALICE) -> Any:
        """What a retry gets that brings answers to a round."""
        token = round_ if isinstance(round_, str) else round_["requestState"]
        return await self.lot.resume(Again(self, token, binding, answers))

    @property
    def is_empty(self) -> bool:
        """Whether nothing of any conversation is left in the lot."""
        return not self.lot.live and not self.lot.bodies and not self.lot._chores

    def may_replay(self, record: RoundRecord) -> bool:
        """Whether the tool may run again."""
        return self._replayable and record.handler is not None

    def replay(self, record: RoundRecord) -> Conversation:
        """Run the tool again."""
        run = Run(self.lot, record.binding)
        run.conversation.handler = record.handler
        run.conversation.journal = Journal(record.journal, record.pins)
        run.begin(self._work(run), contextvars.copy_context())
        return run.conversation

    async def _work(self, run: Run) -> Any:
        return await self.body(run.conversation)


class Again:
    """A retry of the call."""

    def __init__(self, parking: Parking, token: str, binding: Binding, answers: Mapping[str, Any]) -> None:
        self._parking = parking
        self.token, self.binding, self.responses = token, binding, dict(answers)
        self.said = Written.of(answers)

    def rebind(self, conversation: Conversation) -> None:
        self._parking.rebound += 1

    async def may_replay(self, record: RoundRecord) -> bool:
        return self._parking.may_replay(record)

    def replay(self, record: RoundRecord) -> Conversation:
        return self._parking.replay(record)

    def tell_taken(self, of: object, answers: Mapping[str, Any]) -> tuple[()]:
        return ()

    def tell_lost(self, record: RoundRecord) -> tuple[()]:
        return ()


class Gate:
    """A place where a store waits until it is let through."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.opened.wait()


class Unsteady:
    """A store that outlives its processes, and can be made to wait or to fail. Stands for a file or a database."""

    durable = True

    def __init__(self, store: Store | None = None) -> None:
        self.inner: Any = store if store is not None else MemoryStore()
        self.failing: set[str] = set()
        self._before: dict[str, Gate] = {}
        self._after: dict[str, Gate] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def unsteady(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            await self._pass(self._before, name)
            if name in self.failing:
                raise StoreError("the disk is full")
            result = await method(*args, **kwargs)
            await asyncio.sleep(0)
            await self._pass(self._after, name)
            return result

        return unsteady

    @asynccontextmanager
    async def held_before(self, name: str) -> AsyncIterator[Gate]:
        """Within it, a method waits before it does anything."""
        async with _held(self._before, name) as gate:
            yield gate

    @asynccontextmanager
    async def held_after(self, name: str) -> AsyncIterator[Gate]:
        """Within it, a method waits when it has done its work."""
        async with _held(self._after, name) as gate:
            yield gate

    async def _pass(self, gates: dict[str, Gate], name: str) -> None:
        if (gate := gates.get(name)) is not None:
            await gate.pass_through()


@asynccontextmanager
async def _held(gates: dict[str, Gate], name: str) -> AsyncIterator[Gate]:
    gate = gates[name] = Gate()
    try:
        yield gate
    finally:
        gates.pop(name, None)
        gate.opened.set()
