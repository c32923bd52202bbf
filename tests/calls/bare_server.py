"""A server without an SDK: requests and their retries go straight to the registry of calls."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from handraise.calls import Call, CallBinding, CallLimits, Calls, RoundRecord, Store
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import Journal, digest
from handraise.errors import Expired, StoreError, Withdrawn
from handraise.stores import MemoryStore

T = TypeVar("T")
Tool = Callable[[Call], Awaitable[Any]]

ALICE = CallBinding("alice", "tools/call", "transfer", digest({}))
MALLORY = ALICE._replace(person="mallory")


async def within(work: Awaitable[T], seconds: float = 10.0) -> T:
    """Wait for something that has to happen soon."""
    return await asyncio.wait_for(work, seconds)


async def breathe(times: int = 10) -> None:
    """Let every task that can go on go on."""
    for _ in range(times):
        await asyncio.sleep(0)


async def leave(request: asyncio.Future[Any]) -> None:
    """Hang up."""
    request.cancel()
    await asyncio.wait([request])
    assert request.cancelled()


# What tools do.


async def ask(call: Call, key: str, *, message: str | None = None, timeout: float = 60.0) -> Any:
    """Ask a question in a round; its answer."""
    async with call.at_question():
        return await call.ask_in_round(key, {"message": message or f"{key}?"}, timeout)


async def ask_after(event: asyncio.Event, call: Call, key: str) -> Any:
    """Ask a question when something has happened."""
    await event.wait()
    return await ask(call, key)


async def ask_briefly(call: Call, key: str, over: asyncio.Event) -> Any:
    """Ask a question that expires soon; "nobody" then."""
    try:
        return await ask(call, key, timeout=0.05)
    except Expired:
        over.set()
        return "nobody"


async def ask_live(call: Call, key: str) -> Any:
    """Ask a question on the live request, which nobody answers."""
    async with call.at_question():
        question = call.open_question(key, {"message": f"{key}?"}, 60.0)
        try:
            return await question.future
        finally:
            call.close_question(key)


async def once(call: Call, key: str, step: Callable[[], Any]) -> Any:
    """Do a step that a replay does not do again."""
    journal = call.journal
    assert journal is not None
    if key in journal.steps:
        return journal.steps[key]
    with call.step(key):
        result = step()
        if inspect.isawaitable(result):
            result = await result
        await call.write(journal.add("once", key, "", result))
    return result


class Log(list[str]):
    """What tools did, in order."""


def one_question(log: Log, **how: Any) -> Tool:
    """A tool that writes down how its question ended."""

    async def tool(call: Call) -> Any:
        try:
            name = await ask(call, "name", **how)
        except (Expired, Withdrawn) as nobody:
            log.append(nobody.code)
            raise
        finally:
            log.append("finally")
        log.append(f"hello {name}")
        return name

    return tool


def two_questions(log: Log) -> Tool:
    """A tool with an effect before, between and after its questions."""

    async def tool(call: Call) -> Any:
        log.append("before")
        name = await ask(call, "name")
        log.append(f"hello {name}")
        size = await ask(call, "size")
        log.append(f"size {size}")
        return {"name": name, "size": size}

    return tool


async def take_and_die(server: BareServer, store: UnsteadyStore, round_: Any, answers: Any) -> None:
    """A process takes answers, and dies before it uses them."""
    async with store.held_after("consume") as gate:
        dies = asyncio.create_task(server.retry(round_, answers))
        await within(gate.reached.wait())
        await leave(dies)


# The server.


class BareServer:
    """One server process with one tool."""

    def __init__(
        self, tool: Tool, store: Store | None = None, *, replayable: bool = False, **limits: Any
    ) -> None:
        self.tool = tool
        self.replayable = replayable
        self.store: Store = MemoryStore() if store is None else store
        self.calls = Calls(self.store, CallLimits(**limits), dump_round=_dump_round, describe=_describe)
        self.attached = 0
        """How many retries became the live request of a suspended call."""

    async def call(self, binding: CallBinding = ALICE) -> Any:
        """Call the tool; the first round, or the end."""
        call = BareCall(self, binding)
        return await call.wait(call.start(contextvars.copy_context()))

    async def retry(self, round_: Any, answers: Mapping[str, Any], binding: CallBinding = ALICE) -> Any:
        """Bring answers to a round; the next round, or the end."""
        token = round_ if isinstance(round_, str) else round_["requestState"]
        return await self.calls.resume(BareCall(self, binding), token, dict(answers))

    def may_replay(self, binding: CallBinding) -> bool:
        """Whether the tool is declared replayable."""
        return self.replayable

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of any call."""
        return not self.calls.live and not self.calls.running and not self.calls._tasks

    async def close(self) -> None:
        """Stop the server."""
        await within(self.calls.close())


class BareCall(Call):
    """One run of the tool."""

    def __init__(self, server: BareServer, binding: CallBinding) -> None:
        super().__init__(server.calls)
        self._server = server
        self._binding = binding

    @property
    def binding(self) -> CallBinding:
        return self._binding

    async def run(self) -> Any:
        if self._server.may_replay(self.binding):
            self.replays, self.journal = "tool", self.journal or Journal()
        return await self._server.tool(self)

    def suspended(self) -> None:
        pass

    def attach(self, retry: Call) -> None:
        self._server.attached += 1

    async def may_replay(self, record: RoundRecord) -> bool:
        return record.handler is not None and self._server.may_replay(record.binding)

    def replay(self, record: RoundRecord) -> None:
        self.restore(record)
        self.start(contextvars.copy_context())

    def record_asked(self, keys: Sequence[str]) -> Sequence[Record]:
        return ()

    def record_taken(self, of: Call | RoundRecord, answers: Mapping[str, Any]) -> Sequence[Record]:
        return ()

    def record_lost(self, record: RoundRecord) -> Sequence[Record]:
        return ()


def _dump_round(requests: Mapping[str, Any], token: str) -> Any:
    return {"inputRequests": dict(requests), "requestState": token}


def _describe(error: BaseException) -> Any:
    return {"message": f"{type(error).__name__}: {error}"}


# A store that is slow or fails.


class Gate:
    """A place where a store waits until it is let through."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.opened.wait()


class UnsteadyStore:
    """A durable store, like a file or a database, that can be made to wait or to fail."""

    durable = True

    def __init__(self, store: Store | None = None) -> None:
        self.inner: Any = MemoryStore() if store is None else store
        self.failing: set[str] = set()
        self._before: dict[str, Gate] = {}
        self._after: dict[str, Gate] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def unsteady(*args: Any, **kwargs: Any) -> Any:
            await self.pause(name, self._before)
            if name in self.failing:
                raise StoreError("the disk is full")
            result = await method(*args, **kwargs)
            await self.pause(name, self._after)
            return result

        return unsteady

    async def pause(self, name: str, gates: Mapping[str, Gate]) -> None:
        """Take a while, before or after a method does its work."""
        await asyncio.sleep(0)
        if (gate := gates.get(name)) is not None:
            await gate.pass_through()

    @asynccontextmanager
    async def held_before(self, name: str) -> AsyncIterator[Gate]:
        """A method waits before it does anything."""
        async with _held(self._before, name) as gate:
            yield gate

    @asynccontextmanager
    async def held_after(self, name: str) -> AsyncIterator[Gate]:
        """A method waits when it has done its work."""
        async with _held(self._after, name) as gate:
            yield gate

    def let_others_through(self) -> None:
        """Only who waits already waits on."""
        self._before.clear()
        self._after.clear()


@asynccontextmanager
async def _held(gates: dict[str, Gate], name: str) -> AsyncIterator[Gate]:
    gate = gates[name] = Gate()
    try:
        yield gate
    finally:
        gates.pop(name, None)
        gate.opened.set()
