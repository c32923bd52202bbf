"""Nothing is left of calls, however they ended."""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.campaigns import steps
from tests.server.peers import accept, connect, runtime_of

from handraise import Accepted, Handraise, MemoryStore, SqliteStore, ask
from handraise.calls import Call, Calls
from handraise.calls.rounds import OpenQuestion, Round
from handraise.revisions import Revision

WAVES = tuple(steps(calls) for calls in (50, 30, 50))
"""Calls of each ending in a wave. With eight endings: about 1,000 calls, and 10,000 in `make soak`.

Memory is traced from the second wave on.
"""
NOISE = 64 * 1024
"""Bytes that caches may take meanwhile, whatever the number of calls."""
FEW = 20
"""The same on a file, where each takes longer."""
TOGETHER = 10
"""Calls on one connection that is closed with them."""
AT_ONCE = 20
SOON = 0.3
MODERN, LEGACY = Revision.JULY_2026, Revision.NOVEMBER_2025


class Office:
    """A server with one tool, and what its bodies did."""

    def __init__(self, path: Path | None = None) -> None:
        self.server = MCPServer("office")
        self.path = path
        self.store: Any = MemoryStore() if path is None else SqliteStore(path)
        Handraise(store=self.store, retry_window=0.2, linger=0.05).install(self.server)
        self.began: Counter[str] = Counter()
        self.tidied: Counter[str] = Counter()
        self.reached: dict[str, asyncio.Event] = {}
        self.server.tool()(self.file)

    @property
    def calls(self) -> Calls:
        return runtime_of(self.server).calls

    async def file(self, ending: str, name: str) -> str:
        """Ask twice, with something to tidy up."""
        self.began[ending] += 1
        try:
            timeout = SOON if ending in ("dropped", "expired") else 60.0
            answer = await ask.confirm(f"{ending}?", timeout=timeout)
            if not isinstance(answer, Accepted):
                return answer.action
            if ending == "left":
                self.reached[name].set()
                await asyncio.Event().wait()
            return (await ask.confirm("Really?")).action
        finally:
            self.tidied[ending] += 1

    def holds(self) -> dict[str, int]:
        """How much is kept of calls, anywhere."""
        kept = {"bodies": len(self.calls.running), "live": len(self.calls.live)}
        if self.path is not None:
            return {**kept, **rows_in(self.path)}
        store = self.store
        return {
            **kept,
            "rows": len(store._rows),
            "tokens": len(store._tokens),
            "journals": len(store._journals),
            "flows": len(store._flows),
        }

    async def settled(self) -> None:
        """Wait until the last deadline and the last retry window are over."""
        async with asyncio.timeout(60):
            while any(self.holds().values()):  # noqa: ASYNC110 - what is waited for has no event of its own
                await asyncio.sleep(0.02)


def rows_in(path: Path) -> dict[str, int]:
    """How many rows each table of a file has that calls are kept in."""
    with closing(sqlite3.connect(path)) as file:
        return {
            table: file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("rounds", "journal", "flows")
        }


async def person(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    match params.message:
        case "declined?":
            return types.ElicitResult(action="decline")
        case "cancelled?":
            return types.ElicitResult(action="cancel")
    return accept(answer=True)


async def play(office: Office, client: Client, legacy: Client, ending: str, names: list[str]) -> None:
    """A few calls, up to their ending."""
    every: list[dict[str, Any]] = [{"ending": ending, "name": name} for name in names]
    match ending:
        case "answered" | "declined" | "cancelled" | "legacy":
            for arguments in every:
                result = await (legacy if ending == "legacy" else client).call_tool("file", arguments)
                assert not result.is_error, result
        case "left":  # the client goes while the body works with its answer
            for arguments in every:
                reached = office.reached[arguments["name"]] = asyncio.Event()
                call = asyncio.ensure_future(client.call_tool("file", arguments))
                await reached.wait()
                call.cancel()
                await asyncio.wait([call])
        case "dropped":  # the client goes between the rounds
            async with connect(office.server, MODERN, person) as brief:
                for arguments in every:
                    await brief.session.call_tool("file", arguments, allow_input_required=True)
        case "disconnected":  # the client goes while its person is being asked
            asked = asyncio.Semaphore(0)

            async def hesitant(*_: Any) -> None:
                asked.release()
                await asyncio.Event().wait()

            async with connect(office.server, LEGACY, hesitant) as brief:
                calls = [asyncio.ensure_future(brief.call_tool("file", arguments)) for arguments in every]
                for _ in every:
                    await asked.acquire()
            await asyncio.wait(calls)
            assert all(call.exception() for call in calls)
        case "expired":  # the answer comes too late
            rounds = [
                await client.session.call_tool("file", arguments, allow_input_required=True)
                for arguments in every
            ]
            await asyncio.sleep(SOON + 0.1)
            for arguments, round_ in zip(every, rounds, strict=True):
                await answer_late(client, arguments, round_)


async def answer_late(client: Client, arguments: dict[str, Any], round_: Any) -> None:
    """The answer is not taken. (When even the outcome is forgotten, that is an error of the protocol.)"""
    responses: Any = dict.fromkeys(round_.input_requests, accept(answer=True))
    with suppress(MCPError):
        result = await client.session.call_tool(
            "file", arguments, input_responses=responses, request_state=round_.request_state
        )
        assert result.is_error, result


ENDINGS = ("answered", "declined", "cancelled", "legacy", "left", "dropped", "disconnected", "expired")


async def wave(office: Office, client: Client, legacy: Client, size: int) -> None:
    """Calls of every ending, mixed, many at the same time."""
    todo = iter([ending for _ in range(size // TOGETHER) for ending in ENDINGS])

    async def work(worker: int) -> None:
        names = [
            f"{worker}.{number}" for number in range(TOGETHER)
        ]  # few, because their words are remembered
        for ending in todo:
            await play(office, client, legacy, ending, names)

    async with asyncio.timeout(steps(120)), asyncio.TaskGroup() as workers:
        for worker in range(AT_ONCE):
            workers.create_task(work(worker))
    office.reached.clear()
    await office.settled()
    await forget_cancelled_timers()


async def forget_cancelled_timers() -> None:
    """The event loop keeps cancelled timers until they are many: the SDK's, each with the call that it was set in."""
    loop = asyncio.get_running_loop()
    for timer in [loop.call_later(60, int) for _ in range(1000)]:
        timer.cancel()
    await asyncio.sleep(0)


def kept(*kinds: type, besides: Sequence[object] = ()) -> list[object]:
    """The objects of these kinds that there are, besides those that were there before."""
    gc.collect()
    known = set(map(id, besides))
    return [thing for thing in gc.get_objects() if isinstance(thing, kinds) and id(thing) not in known]


@pytest.fixture
def quiet() -> Iterator[None]:
    """No log, which pytest would keep."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
@pytest.mark.campaign
@pytest.mark.shows("C8", "C9")
async def test_nothing_is_left_of_calls_however_they_ended() -> None:
    office = Office()
    first, second, third = WAVES
    async with (
        connect(office.server, MODERN, person) as client,
        connect(office.server, LEGACY, person) as legacy,
    ):
        tasks = len(asyncio.all_tasks())
        others = kept(Call, Round, OpenQuestion)  # of tests that ran before in this process
        await wave(office, client, legacy, first)
        tracemalloc.start()
        try:
            await wave(office, client, legacy, second)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            await wave(office, client, legacy, third)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert len(asyncio.all_tasks()) == tasks
        assert not kept(Call, Round, OpenQuestion, besides=others)
    assert office.began == dict.fromkeys(ENDINGS, sum(WAVES))
    assert office.tidied == office.began
    assert grown < NOISE + 20 * third * len(ENDINGS), f"{grown} bytes are left"


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
@pytest.mark.campaign
@pytest.mark.shows("C8", "C9")
async def test_no_row_is_left_in_a_file_of_calls_however_they_ended(tmp_path: Path) -> None:
    office = Office(tmp_path / "store.db")
    async with (
        connect(office.server, MODERN, person) as client,
        connect(office.server, LEGACY, person) as legacy,
    ):
        await wave(office, client, legacy, FEW)
    assert office.began == dict.fromkeys(ENDINGS, FEW)
    assert office.tidied == office.began
    await office.store.aclose()
