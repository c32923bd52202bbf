"""The cost of waiting questions: thousands at once over HTTP, in memory, and after they end.

The person of a question on 2026-07-28 takes their time without a connection; each call is a request of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from bench.ask_http import LEGACY, REVISION, Wire, serving
from bench.ask_servers import ANSWER, RETRY_WINDOW
from bench.measure import OURS, Bench, Figure, progress
from bench.sizing import FASTMCP, MCP_SERVER, OVER_HTTP

_CONNECTIONS = 16
_WARM_UP = 200
_SLACK = 2.0


class Holdings(NamedTuple):
    """The memory of a server process."""

    resident: int
    traced: int
    tasks: int


class Waiting(NamedTuple):
    """A call that ended its round with a question."""

    arguments: dict[str, Any]
    key: str
    state: str


async def measure_parked(bench: Bench, *, count: int, waiting_legacy: int) -> None:
    """Park `count` questions at once on several servers, and see what they take and leave.

    Two servers are left alone until the time of their questions is over; the others are measured meanwhile.
    """
    with ExitStack() as stack:
        traced = stack.enter_context(_clients(bench, "handraise", "traced"))
        resident = stack.enter_context(_clients(bench, "handraise"))
        progress("parking, every allocation traced")
        traced_before, traced_parked = await traced.abandon(count)
        progress("parking")
        before, parked = await resident.abandon(count)
        fastmcp = await _parked_on_fastmcp(bench, count)
        legacy = [await _waiting(bench, *one, waiting_legacy) for one in (_SDK_WAIT, _OUR_WAIT)]
        progress("waiting until nobody is asked any more")
        traced_after = await traced.after_the_end()
        await resident.after_the_end()
        progress("parking again, then answering")
        await resident.park(count)
        again = await resident.measure()
        began = time.perf_counter()
        failed = await resident.answer_all()
        each = (time.perf_counter() - began) / count
    back = 100 * (traced_parked.traced - traced_after.traced) / (traced_parked.traced - traced_before.traced)
    growth = 100 * (again.resident - parked.resident) / parked.resident
    bench.state(
        f"{count:,} questions parked over HTTP, {REVISION}",
        [
            Figure(MCP_SERVER, _kib(parked.resident - before.resident, count), _EACH, at_most=30),
            Figure("MCPServer, traced", _kib(traced_parked.traced - traced_before.traced, count), _EACH),
            Figure(FASTMCP, fastmcp, _EACH),
            Figure("nobody came back: traced memory returned", back, "%", at_least=95),
            Figure("nobody came back: tasks left", traced_after.tasks - traced_before.tasks),
            Figure("a second wave adds to the resident size", growth, "%"),
            Figure("answered while they wait: failed", failed, at_most=0),
            Figure(OVER_HTTP, 1000 * each, "ms each"),
        ],
    )
    bench.state(
        f"{waiting_legacy:,} questions waiting over HTTP, {LEGACY}, their connections included",
        [Figure(name, held, _EACH) for name, held in zip(("mcp, ctx.elicit", OURS), legacy, strict=True)],
    )


_EACH = "KiB each"
_SDK_WAIT = ("sdk", "elicit")
_OUR_WAIT = ("handraise", "ask_once")


async def _parked_on_fastmcp(bench: Bench, count: int) -> float:
    with _clients(bench, "fastmcp") as clients:
        progress("parking on FastMCP")
        await clients.warm_up()
        before = await clients.measure()
        await clients.park(count)
        return _kib((await clients.measure()).resident - before.resident, count)


async def _waiting(bench: Bench, server: str, tool: str, count: int) -> float:
    """The KiB that a question takes on 2025-11-25, where the call and its connection wait with it."""
    with _clients(bench, server) as clients:
        progress(f"waiting on {LEGACY}, {server}")
        session = await clients.start_session()
        await clients.wait_at(session, tool, _CONNECTIONS)
        before = await clients.measure()
        await clients.wait_at(session, tool, count)
        return _kib((await clients.measure()).resident - before.resident, count)


def _kib(size: int, count: int) -> float:
    return size / count / 1024


class _Clients:
    """Clients of one server."""

    def __init__(self, port: int, warm_up: int) -> None:
        self._port = port
        self._warm_up = warm_up
        self._wires: list[Wire] = []
        self._held: list[Wire] = []
        self._waiting: list[Waiting] = []
        self._next_id = 0
        self._over = 0.0

    async def measure(self) -> Holdings:
        """The memory of the server process."""
        wire = await Wire.open(self._port)
        try:
            return Holdings(**await wire.measure())
        finally:
            wire.close()

    async def abandon(self, count: int) -> tuple[Holdings, Holdings]:
        """Park questions and leave. Return the server's memory before and after."""
        pace = await self.warm_up()
        before = await self.measure()
        await self.park(count, 4 * count * pace + 5)
        assert time.time() < self._over, "parking took longer than the questions were open"
        parked = await self.measure()
        self.leave()
        return before, parked

    async def after_the_end(self) -> Holdings:
        """The server's memory after all questions expired."""
        await asyncio.sleep(max(0.0, self._over - time.time()) + 2 * RETRY_WINDOW + _SLACK)
        return await self.measure()

    async def warm_up(self) -> float:
        """Ask and answer until everything has been used once; how long one round takes."""
        await self.park(self._warm_up)
        began = time.perf_counter()
        assert await self.answer_all() == 0
        each = (time.perf_counter() - began) / self._warm_up
        await asyncio.sleep(2 * RETRY_WINDOW + _SLACK)
        return each

    async def park(self, count: int, seconds: float = 600.0) -> None:
        """Open `count` calls that end their round with a question; the time of all of them ends together."""
        over = self._over = time.time() + seconds

        async def park_one(wire: Wire, number: int) -> None:
            arguments = {"trip": f"trip {number}", "seconds": over - time.time()}
            reply = await wire.call("park", arguments)
            (key,) = reply["result"]["inputRequests"]
            self._waiting.append(Waiting(arguments, key, reply["result"]["requestState"]))

        self._waiting.clear()
        await self._share(range(count), park_one)

    async def answer_all(self) -> int:
        """Answer every question that waits; how many answers were not taken."""
        failed = 0
        accepted = {"action": "accept", "content": ANSWER}

        async def answer(wire: Wire, waiting: Waiting) -> None:
            nonlocal failed
            responses = {waiting.key: accepted}
            reply = await wire.call(
                "park", waiting.arguments, requestState=waiting.state, inputResponses=responses
            )
            failed += _text(reply) != f"{waiting.arguments['trip']}: {ANSWER['name']}"

        await self._share(self._waiting, answer)
        return failed

    async def start_session(self) -> str:
        """A session of 2025-11-25."""
        opening, after = await Wire.open(self._port), await Wire.open(self._port)
        self._held += [opening, after]
        session = await opening.start_session()
        await after.say_initialized(session)
        return session

    async def wait_at(self, session: str, tool: str, count: int) -> None:
        """Make `count` calls that get as far as their question, each on a connection that it keeps."""
        for _ in range(count):
            wire = await Wire.open(self._port)
            self._held.append(wire)
            self._next_id += 1
            await wire.call_and_leave_waiting(session, self._next_id, tool, "Oslo")

    def leave(self) -> None:
        """Be gone."""
        for wire in (*self._wires, *self._held):
            wire.close()
        self._wires.clear()
        self._held.clear()

    async def _open(self) -> list[Wire]:
        while len(self._wires) < _CONNECTIONS:
            self._wires.append(await Wire.open(self._port))
        return self._wires

    async def _share(self, items: Iterable[Any], work: Callable[[Wire, Any], Awaitable[None]]) -> None:
        left = iter(items)

        async def worker(wire: Wire) -> None:
            for item in left:
                await work(wire, item)

        async with asyncio.TaskGroup() as group:
            for wire in await self._open():
                group.create_task(worker(wire))


@contextmanager
def _clients(bench: Bench, server: str, *flags: str) -> Iterator[_Clients]:
    """A server, and clients of it."""
    with serving(server, *flags) as served:
        clients = _Clients(served.port, _WARM_UP // 10 if bench.quick else _WARM_UP)
        try:
            yield clients
        finally:
            clients.leave()


def _text(reply: dict[str, Any]) -> str:
    content = reply.get("result", {}).get("content") or [{}]
    return str(content[0].get("text", ""))
