"""The client leaves, or the server stops, while a handler asks or works. Cancellation is tested here and nowhere else.

Every open question raises `Withdrawn` where it was asked, the handler has `linger` seconds to clean up, and then it is
cancelled. A handler that is at no question is cancelled at once.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import subprocess
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2 as httpx
import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult
from tests.server.conftest import JULY, JUNE, NOVEMBER, Place, everywhere, with_links
from tests.server.kinds.ways import WAYS
from tests.server.peers import ROOT, Person, accept, free_port, runtime_of, text_of, wait_until_open
from tests.server.rounds import CAPABILITIES, Rounds, accepted, by_hand
from tests.server.shop import Effects
from tests.server.wired import Wire, wired
from tests.waiting import until

from handraise import Handraise, Withdrawn, ask, complete
from handraise import Person as Somebody
from handraise.calls.ledger_tables import Record
from handraise.ledger import Ledger, LedgerEvent, parse_event
from handraise.revisions import Revision
from handraise.server.served import ServedCall

LEGACY = pytest.mark.parametrize("revision", [JUNE, NOVEMBER], ids=str)
LINK = "https://mcp.example.com/connect"
ACCEPT = ElicitResult(action="accept")
TOLD = ["withdrawn", "finally"]
"""What a handler sees at a question whose client left."""

Leave = Callable[[Wire], Awaitable[None]]


async def cancel(wire: Wire) -> None:
    await wire.send(method="notifications/cancelled", params={"requestId": "call"})


LEAVING = pytest.mark.parametrize("leave", [cancel, Wire.hang_up], ids=["cancels", "hangs up"])


# The whole table.


@pytest.mark.shows("O7", "C8")
@everywhere
async def test_a_client_that_leaves_at_a_question_is_told_to_the_handler(place: Place) -> None:
    """On 2026-07-28 nobody can tell who has left from who thinks, until the question's time is over."""
    asked = anyio.Event()

    async def thinks() -> None:
        asked.set()
        await anyio.sleep_forever()

    seen = "withdrawn" if place.revision.legacy else "expired"
    async with place.client(Person(*[lambda _params: thinks()] * len(WAYS))) as client:
        for way, run in place.runs():
            asked = anyio.Event()
            async with anyio.create_task_group() as calls:
                calls.start_soon(way.call, client, "wait" if place.revision.legacy else "hurry", run)
                await asked.wait()
                calls.cancel_scope.cancel()
            await place.until(client, run, f"{seen}, finally")


@pytest.mark.shows("O7")
@with_links
async def test_a_client_that_leaves_while_the_person_is_in_the_browser_is_told_to_the_handler(
    place: Place,
) -> None:
    async with place.client(Person(*[ACCEPT] * len(WAYS))) as client:
        for way, run in place.runs():
            async with anyio.create_task_group() as calls:
                calls.start_soon(way.call, client, "link", run)
                with anyio.fail_after(60):
                    while text_of(await client.call_tool("browsing", {"run": run})) != "True":  # noqa: ASYNC110
                        await anyio.sleep(0.01)
                calls.cancel_scope.cancel()
            await place.until(client, run, "withdrawn, finally")


@pytest.mark.shows("O7")
@everywhere
async def test_a_client_that_leaves_while_its_handler_works_ends_it(place: Place) -> None:
    """In its first round, and in a later one."""
    async with place.client(Person(*[accept(answer="on")] * len(WAYS))) as client:
        for body, done in (("idle", "works"), ("work", "on, works")):
            for way, run in place.runs(f"-{body}"):
                async with anyio.create_task_group() as calls:
                    calls.start_soon(way.call, client, body, run)
                    await place.until(client, run, done)
                    calls.cancel_scope.cancel()
                await place.until(client, run, f"{done}, finally")


# One server whose handlers write down what they see.


class Left:
    """A server whose tools ask in every way there is: for a text, or with `link` for a page."""

    def __init__(self, ledger: Ledger | None = None, linger: float = 10, link: bool = False) -> None:
        self.seen: list[str] = []
        self.people: list[Somebody] = []
        self.go_on = threading.Event()
        self.left_behind: asyncio.Task[str] | None = None
        self.end_limit: Callable[[], None] = lambda: None
        """Ends a limit of the author's own."""
        self._link = link
        self.server = MCPServer("left", log_level="CRITICAL", lifespan=self._lifespan)
        Handraise(ledger=ledger, linger=linger, hold=30).install(self.server)
        for name, tool in inspect.getmembers(self, inspect.ismethod):
            if not name.startswith("_"):
                self.server.tool()(tool)

    @asynccontextmanager
    async def _lifespan(self, _server: MCPServer) -> AsyncIterator[list[str]]:
        vault = ["open"]
        yield vault
        vault[0] = "closed"

    def _asking(self) -> Any:
        self.people.append(ask.person())
        return ask.open("Go?", LINK, "link") if self._link else ask.text("Go?")

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except Withdrawn:
            self.seen.append("withdrawn")
            raise
        finally:
            self.seen.append("finally")

    async def _asks(self) -> str:
        with self._noted():
            return str(await self._asking())

    async def one(self) -> str:
        return await self._asks()

    async def early(self) -> str:
        question = self._asking().prepare()
        with self._noted():
            return str(await question)

    def thread(self) -> str:
        with self._noted():
            return str(ask.sync(self._asking()))

    async def task(self) -> str:
        return await asyncio.create_task(self._asks())

    async def gathered(self) -> str:
        return "".join(await asyncio.gather(self._asks()))

    async def grouped(self) -> str:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._asks())
        return asking.result()

    async def limited(self) -> str:
        async with asyncio.timeout(60):
            return await asyncio.wait_for(self._asks(), 30)

    async def shielded_at_a_question(self) -> str:
        with anyio.CancelScope(shield=True):
            return await self._asks()
        return "unreachable"

    async def several(self) -> str:
        with self._noted():
            return str(await ask.all(one=ask.text("Go?"), two=ask.text("Now?")))

    async def three(self) -> str:
        return "".join(await asyncio.gather(*(self._asks() for _ in range(3))))

    async def own_scope(self) -> str:
        with anyio.CancelScope() as limit:
            self.end_limit = limit.cancel
            await self._asks()
        return "the author's own"

    async def own_timeout(self) -> str:
        try:
            async with asyncio.timeout(None) as limit:
                self.end_limit = lambda: limit.reschedule(0)
                await self._asks()
        except TimeoutError:
            return "the author's own"
        return "answered"

    async def leaves_behind(self) -> str:
        self.left_behind = asyncio.create_task(self._asks())
        await until(self.go_on.is_set)
        return "returned"

    async def asks_on(self) -> str:
        while True:
            with suppress(Withdrawn):
                await self._asks()

    async def asks_on_early(self) -> str:
        while True:
            with suppress(Withdrawn):
                await self.early()

    def asks_on_in_a_thread(self) -> str:
        while True:
            with suppress(Withdrawn):
                self.thread()

    async def cleans_up_for_long(self) -> str:
        try:
            await self._asks()
        finally:
            self.seen.append("cleans up")
            try:
                await anyio.sleep_forever()
            finally:
                self.seen.append("cancelled")
        return "unreachable"

    async def cleans_up(self, ctx: Context) -> str:
        try:
            await self._asks()
        finally:
            await self._clean_up(ctx)
        return "unreachable"

    async def works(self, ctx: Context) -> str:
        self.seen.append("works")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await self._clean_up(ctx)
        return "unreachable"

    async def _clean_up(self, ctx: Context) -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0.02))
        self.seen.append(f"cleaned up, {_state_of(ctx)}")

    async def shielded(self) -> str:
        """What must not be cut off."""
        self.seen.append("works")
        with anyio.CancelScope(shield=True):
            await until(self.go_on.is_set)
            self.seen.append("done")
        await anyio.sleep_forever()
        return "unreachable"

    def in_a_thread(self, ctx: Context) -> str:
        self.seen.append("works")
        self.go_on.wait(30)
        self.seen.append(f"done, {_state_of(ctx)}")
        return "done"

    async def works_after_an_answer(self) -> str:
        await self._asking()
        self.seen.append("works")
        try:
            await until(self.go_on.is_set)
        finally:
            self.seen.append("finally")
        return "done"

    async def asks_twice(self) -> str:
        await self._asking()
        return await self._asks()


def _state_of(ctx: Context) -> str:
    state: Any = ctx.request_context.lifespan_context
    return str(state[0])


# On the stream of a call.


@pytest.mark.shows("O2", "O7")
@LEGACY
@LEAVING
@pytest.mark.parametrize(
    "tool",
    [
        "one",
        "early",
        "thread",
        "task",
        "gathered",
        "grouped",
        "limited",
        "shielded_at_a_question",
        "several",
        "three",
    ],
)
async def test_a_client_that_leaves_withdraws_every_question_of_its_call(
    revision: Revision, leave: Leave, tool: str
) -> None:
    left, questions = Left(), 3 if tool == "three" else 1
    async with wired(left.server, revision) as wire:
        await wire.call("call", tool)
        asked = {(await wire.question())["id"] for _ in range(questions)}
        await leave(wire)
        await until(lambda: Counter(left.seen) == Counter(TOLD * questions))
        if leave is cancel:
            assert {(await wire.receive())["params"]["requestId"] for _ in range(questions)} == asked
            await wire.require_open()


@pytest.mark.shows("O7")
@pytest.mark.parametrize("tool", ["asks_on", "asks_on_early", "asks_on_in_a_thread"])
async def test_a_handler_that_asks_on_is_cancelled_and_its_client_is_not_asked_again(tool: str) -> None:
    left = Left()
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", tool)
        question = await wire.question()
        await cancel(wire)
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        await until(lambda: left.seen == [*TOLD, "finally"])
        await wire.require_open()


@LEAVING
async def test_a_handler_may_clean_up_for_as_long_as_it_lingers(leave: Leave) -> None:
    left = Left(linger=0.1)
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "cleans_up_for_long")
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == [*TOLD, "cleans up", "cancelled"])


@pytest.mark.shows("O11")
@pytest.mark.parametrize("tool", ["own_scope", "own_timeout"])
async def test_a_limit_of_the_authors_own_ends_a_question_as_limits_do(tool: str) -> None:
    left = Left()
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", tool)
        question = await wire.question()
        left.end_limit()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        assert await wire.texts() == ["the author's own"]
        assert left.seen == ["finally"]
        await wire.require_open()


@pytest.mark.shows("O7")
@pytest.mark.parametrize("leave", [cancel, None], ids=["cancels", "ends"])
async def test_a_question_that_a_handler_leaves_behind_is_taken_back_with_its_call(
    leave: Leave | None, caplog: pytest.LogCaptureFixture
) -> None:
    left = Left()
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "leaves_behind")
        question = await wire.question()
        await (leave(wire) if leave is not None else anyio.lowlevel.checkpoint())
        left.go_on.set()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        if leave is None:
            assert await wire.texts() == ["returned"]
        await until(lambda: left.seen == TOLD)
        await wire.require_open()
    assert left.left_behind is not None
    assert isinstance(left.left_behind.exception(), Withdrawn)
    gc.collect()
    assert not caplog.records


async def in_a_task(ctx: Any, call_next: Any) -> Any:
    return await asyncio.create_task(call_next(ctx))


async def for_a_while(ctx: Any, call_next: Any) -> Any:
    with anyio.fail_after(60):
        return await call_next(ctx)


@pytest.mark.shows("O7")
@LEAVING
@pytest.mark.parametrize("middleware", [in_a_task, for_a_while])
async def test_a_call_inside_of_middleware_is_told_alike(leave: Leave, middleware: Any) -> None:
    left = Left()
    left.server._lowlevel_server.middleware.insert(0, middleware)
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "one")
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == TOLD)


async def test_a_limit_of_middleware_ends_a_call_as_a_limit_does() -> None:
    left, limits = Left(), list[anyio.CancelScope]()

    async def limited(ctx: Any, call_next: Any) -> Any:
        with anyio.CancelScope() as limit:
            limits.append(limit)
            return await call_next(ctx)
        return {"content": [{"type": "text", "text": "time is up"}]}

    left.server._lowlevel_server.middleware.insert(0, limited)
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "one")
        question = await wire.question()
        limits[-1].cancel()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        assert await wire.texts() == ["time is up"]
        await until(lambda: left.seen == TOLD)


@pytest.mark.shows("C9")
async def test_nothing_is_left_of_calls_that_were_cancelled() -> None:
    left = Left()
    before = _served_calls()
    async with wired(left.server, NOVEMBER) as wire:
        for _ in range(5):
            left.seen.clear()
            await wire.call("call", "one")
            await wire.question()
            await cancel(wire)
            await wire.receive()
            await until(lambda: left.seen == TOLD)
        await wire.require_open()
        await until(lambda: _served_calls() <= before)


def _served_calls() -> int:
    gc.collect()
    return sum(type(each) is ServedCall for each in gc.get_objects())


# In the browser, and between rounds.


async def consented(rounds: Rounds, tool: str) -> Callable[[], Any]:
    """A retry that says yes to the link."""
    first = await rounds.call(tool, {})
    consent = {key: {"action": "accept"} for key in first["inputRequests"]}
    return partial(rounds.call, tool, {}, state=first["requestState"], responses=consent)


async def left_alone(retry: Callable[[], Any]) -> None:
    with suppress(MCPError):
        await retry()


WAITING = pytest.mark.parametrize(
    "tool", ["one", "early", "thread", "task", "gathered", "grouped", "limited"]
)


@pytest.mark.shows("O7", "L1")
@WAITING
async def test_a_retry_that_is_cancelled_withdraws_the_link_and_finishing_it_later_does_nothing(
    tool: str,
) -> None:
    left = Left(link=True, linger=0.05)
    async with by_hand(left.server) as rounds:
        async with anyio.create_task_group() as calls:
            calls.start_soon(await consented(rounds, tool))
            await until(lambda: runtime_of(left.server).flows._waiting)
            calls.cancel_scope.cancel()
        await until(lambda: left.seen == TOLD)
        await complete("link", person=left.people[0])
    assert left.seen == TOLD


@pytest.mark.shows("O7", "C8")
@WAITING
async def test_a_server_that_stops_withdraws_the_link_that_a_handler_waits_for(tool: str) -> None:
    left = Left(link=True)
    async with anyio.create_task_group() as calls:
        async with by_hand(left.server) as rounds:
            calls.start_soon(left_alone, await consented(rounds, tool))
            await until(lambda: runtime_of(left.server).flows._waiting)
        await until(lambda: left.seen == TOLD)


@pytest.mark.shows("O2", "G1")
@pytest.mark.parametrize(("tool", "seen"), [("one", TOLD), ("thread", TOLD), ("asks_on", [*TOLD, "finally"])])
async def test_a_server_that_stops_withdraws_its_questions(
    tool: str, seen: list[str], ledger: Ledger
) -> None:
    left = Left(ledger)
    async with by_hand(left.server) as rounds:
        await rounds.call(tool, {})
        assert left.seen == []
    assert left.seen == seen
    assert [event.kind for event in await events_of(ledger)] == ["asked", "withdrawn"]
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "handraise call"]


async def test_a_client_that_comes_back_after_leaving_gets_its_outcome() -> None:
    left = Left(linger=5)
    async with by_hand(left.server) as rounds:
        first = await rounds.call("works_after_an_answer", {})
        retry = {"state": first["requestState"], "responses": accepted(first, answer="yes")}
        async with anyio.create_task_group() as calls:
            calls.start_soon(partial(rounds.call, "works_after_an_answer", {}, **retry))
            await until(lambda: left.seen == ["works"])
            calls.cancel_scope.cancel()
        left.go_on.set()
        result = await rounds.call("works_after_an_answer", {}, **retry)
        assert result["content"][0]["text"] == "done"
    assert left.seen == ["works", "finally"]


async def test_a_client_that_stays_away_ends_the_handler_after_a_while() -> None:
    left = Left(linger=0.05)
    async with by_hand(left.server) as rounds:
        first = await rounds.call("works_after_an_answer", {})
        retry = {"state": first["requestState"], "responses": accepted(first, answer="yes")}
        async with anyio.create_task_group() as calls:
            calls.start_soon(partial(rounds.call, "works_after_an_answer", {}, **retry))
            await until(lambda: left.seen == ["works"])
            calls.cancel_scope.cancel()
        await until(lambda: left.seen == ["works", "finally"])


# What must not be cut off, and what it needs.


@pytest.mark.shows("O7")
@LEAVING
async def test_a_shield_holds(leave: Leave) -> None:
    left = Left()
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "shielded")
        await until(lambda: left.seen)
        await leave(wire)
        await anyio.wait_all_tasks_blocked()
        left.go_on.set()
        await until(lambda: left.seen == ["works", "done"])
        await until(lambda: not runtime_of(left.server).calls.running)


async def test_a_shield_holds_on_2026_07_28() -> None:
    left = Left()
    async with by_hand(left.server) as rounds:
        async with anyio.create_task_group() as calls:
            calls.start_soon(rounds.call, "shielded", {})
            await until(lambda: left.seen)
            calls.cancel_scope.cancel()
        left.go_on.set()
        await until(lambda: left.seen == ["works", "done"])
        await until(lambda: not runtime_of(left.server).calls.running)


@LEAVING
@pytest.mark.parametrize("tool", ["cleans_up", "works"])
@pytest.mark.parametrize("others", [0, 1])
async def test_the_state_of_a_connection_is_there_until_its_handlers_have_cleaned_up(
    leave: Leave, tool: str, others: int
) -> None:
    left = Left()
    async with AsyncExitStack() as stack:
        for _ in range(others):
            await stack.enter_async_context(wired(left.server, NOVEMBER))
        async with wired(left.server, NOVEMBER) as wire:
            await wire.call("call", tool)
            await until(lambda: left.seen or tool == "cleans_up")
            if tool == "cleans_up":
                await wire.question()
            await leave(wire)
            await until(lambda: "cleaned up, open" in left.seen)


async def test_the_state_of_a_connection_is_there_until_its_thread_has_ended() -> None:
    left = Left()
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "in_a_thread")
        await until(lambda: left.seen)
        await wire.hang_up()
        await anyio.wait_all_tasks_blocked()
        left.go_on.set()
        await until(lambda: left.seen == ["works", "done, open"])


async def test_a_client_that_cancels_again_and_again_gets_no_more_threads_than_there_are() -> None:
    left = Left()
    limit = anyio.to_thread.current_default_thread_limiter().total_tokens
    before = threading.active_count()
    async with wired(left.server, NOVEMBER) as wire:
        for _ in range(int(limit) + 20):
            await wire.call("call", "in_a_thread")
            await cancel(wire)
        await wire.require_open()
        assert threading.active_count() - before <= limit
        left.go_on.set()
        await until(lambda: not runtime_of(left.server).calls.running)


# The ledger.


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "left.db")
    yield ledger
    await ledger.aclose()


class Slow:
    """A ledger that takes its time for one kind of event, and lets a test know."""

    def __init__(self, ledger: Ledger, kind: str) -> None:
        self.ledger = ledger
        self.writes = asyncio.Event()
        self.go_on = asyncio.Event()
        self._kind = kind
        self._record = ledger.tables.record
        ledger.tables.record = self.record  # type: ignore[method-assign]

    async def record(self, records: Sequence[Record]) -> None:
        if any(parse_event(record.body).kind == self._kind for record in records):
            self.writes.set()
            await self.go_on.wait()
        await self._record(records)


async def events_of(ledger: Ledger) -> list[LedgerEvent]:
    await ledger.finish()
    return [event async for _, event in ledger.events()]


@pytest.mark.shows("G1")
@LEGACY
@LEAVING
async def test_the_ledger_has_what_was_used_and_what_was_withdrawn(
    revision: Revision, leave: Leave, ledger: Ledger
) -> None:
    left = Left(ledger)
    async with wired(left.server, revision) as wire:
        await wire.call("call", "asks_twice")
        await wire.answer(await wire.question(), answer="yes")
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == TOLD)
    kinds = [event.kind for event in await events_of(ledger)]
    assert kinds == ["asked", "decided", "asked", "withdrawn", "used"]


ENDS: dict[str, dict[str, Any]] = {
    "decided": {"result": {"action": "accept", "content": {"answer": "Ada"}}},
    "failed": {"error": {"code": -32603, "message": "broken"}},
}


@pytest.mark.shows("G1", "O7")
@LEAVING
@pytest.mark.parametrize("kind", ENDS)
async def test_a_question_that_is_being_recorded_when_the_client_leaves_has_one_end(
    leave: Leave, kind: str, ledger: Ledger
) -> None:
    left, slow = Left(ledger), Slow(ledger, kind)
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "one")
        await wire.send(id=(await wire.question())["id"], **ENDS[kind])
        await until(slow.writes.is_set)
        await leave(wire)
        await anyio.wait_all_tasks_blocked()
        slow.go_on.set()
        await until(lambda: left.seen == ["finally"])
    events = await events_of(ledger)
    assert [event.kind for event in events] == ["asked", kind, *(["used"] if kind == "decided" else [])]
    assert [event.used.ended for event in events if event.used] == ["cancelled"] * (kind == "decided")


@pytest.mark.shows("G1")
@LEAVING
async def test_a_handler_does_not_wait_until_its_withdrawn_question_is_recorded(
    leave: Leave, ledger: Ledger
) -> None:
    left, slow = Left(ledger), Slow(ledger, "withdrawn")
    async with wired(left.server, NOVEMBER) as wire:
        await wire.call("call", "one")
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == TOLD)  # before it is on disk
        slow.go_on.set()
    assert [event.kind for event in await events_of(ledger)] == ["asked", "withdrawn"]


# Processes that stop.

ME = {"name": "by hand", "version": "1"}
ALL_TOLD = Counter(withdrawn=len(WAYS), **{"finally": len(WAYS)})


def pairs(*revisions: Revision) -> pytest.MarkDecorator:
    """Each kind of server, with one of these revisions each."""
    both = list(zip(("mcpserver", "lowlevel", "fastmcp"), revisions, strict=True))
    return pytest.mark.parametrize(("kind", "revision"), both, ids=str)


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@contextmanager
def started(programs: Path, effects: Effects, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(programs / "python"), "tests/server/kinds/servers.py", *words, str(effects.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def hello(revision: Revision) -> list[dict[str, Any]]:
    """What a client says first."""
    if revision.modern:
        return []
    params = {"protocolVersion": str(revision), "capabilities": CAPABILITIES, "clientInfo": ME}
    return [
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def calls(revision: Revision) -> list[dict[str, Any]]:
    """A handler is called as a tool, as a prompt and as a resource."""
    about = {
        "io.modelcontextprotocol/protocolVersion": str(revision),
        "io.modelcontextprotocol/clientInfo": ME,
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    }
    meta = {"_meta": about} if revision.modern else {}
    return [
        {
            "jsonrpc": "2.0",
            "id": str(way),
            "method": way.method,
            "params": {**way.params("wait", str(way)), **meta},
        }
        for way in WAYS
    ]


@pytest.mark.slow
@pytest.mark.shows("O2", "C8")
@pairs(NOVEMBER, JULY, JUNE)
def test_a_server_whose_input_ends_withdraws_every_question(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    with started(programs, effects, "stdio", kind) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in [*hello(revision), *calls(revision)]:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        asked = (line for line in iter(process.stdout.readline, b"") if b"Go on?" in line)
        assert len(list(islice(asked, len(WAYS)))) == len(WAYS)
        process.stdin.close()
        assert process.wait(20) == 0
    *told, last = effects()
    assert Counter(told) == ALL_TOLD
    assert last == "stopped"


class Web:
    """A client over HTTP whose questions are open."""

    def __init__(self, url: str, browser: httpx.AsyncClient, revision: Revision) -> None:
        self.url, self.browser = url, browser
        self.headers = {
            "mcp-protocol-version": str(revision),
            "accept": "application/json, text/event-stream",
        }

    @asynccontextmanager
    async def saying(self, message: dict[str, Any]) -> AsyncIterator[None]:
        """Say something, and hear the first that is said to it."""
        target = message.get("params", {}).get("name") or message.get("params", {}).get("uri")
        named = {} if target is None else {"mcp-method": message["method"], "mcp-name": target}
        posted = self.browser.stream("POST", self.url, json=message, headers={**self.headers, **named})
        async with posted as reply:
            if "mcp-session-id" in reply.headers:
                self.headers["mcp-session-id"] = reply.headers["mcp-session-id"]
            async for line in reply.aiter_lines():
                if "Go on?" in line or "serverInfo" in line:
                    break
            yield

    async def end_session(self) -> None:
        await self.browser.delete(self.url, headers=self.headers)


@asynccontextmanager
async def asked_over_http(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> AsyncIterator[tuple[Web, subprocess.Popen[bytes]]]:
    port = free_port()
    async with AsyncExitStack() as open_:
        process = open_.enter_context(started(programs, effects, "http", str(port)))
        wait_until_open(port, process)
        browser = await open_.enter_async_context(httpx.AsyncClient(timeout=20))
        web = Web(f"http://127.0.0.1:{port}/{kind}/mcp", browser, revision)
        for message in [*hello(revision), *calls(revision)]:
            await open_.enter_async_context(web.saying(message))
        assert effects() == []
        yield web, process


@pytest.mark.slow
@pytest.mark.shows("O2")
@pairs(JUNE, NOVEMBER, NOVEMBER)
async def test_a_client_that_ends_its_session_withdraws_every_question(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, kind, revision) as (web, _process):
        await web.end_session()
        await until(lambda: Counter(effects()) == ALL_TOLD)


@pytest.mark.slow
@pytest.mark.shows("O2", "C8")
@pairs(JULY, JUNE, NOVEMBER)
async def test_a_server_that_is_told_to_stop_lets_its_handlers_clean_up(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, kind, revision) as (_web, process):
        process.terminate()
        await until(lambda: process.poll() is not None)
    assert Counter(effects()) - Counter(["stopped"]) == ALL_TOLD
