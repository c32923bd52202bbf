"""A client that leaves while its question ends: the ledger has one end of it, and the body hears of the leaving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.wired import Wire, wired
from tests.waiting import until

from handraise import Handraise, Withdrawn, ask
from handraise.conversation.recorded import Record
from handraise.ledger import Event, Ledger, parse_event
from handraise.revisions import Revision

LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
FAILURE = {"code": -32603, "message": "broken"}


async def cancel(wire: Wire) -> None:
    await wire.send(method="notifications/cancelled", params={"requestId": "call"})


LEAVING = pytest.mark.parametrize("leave", [cancel, Wire.hang_up], ids=["cancels", "hangs up"])
Leave = Callable[[Wire], Awaitable[None]]


class Slow:
    """A ledger that takes its time for some kinds of events, and lets a test know."""

    def __init__(self, ledger: Ledger, *kinds: str) -> None:
        self.ledger = ledger
        self.writes = asyncio.Event()
        self.go_on = asyncio.Event()
        self._kinds = kinds
        self._record = ledger.tables.record
        ledger.tables.record = self.record  # type: ignore[method-assign]

    async def record(self, records: Sequence[Record]) -> None:
        if any(parse_event(record.body).kind in self._kinds for record in records):
            self.writes.set()
            await self.go_on.wait()
        await self._record(records)

    async def events(self) -> list[Event]:
        await self.ledger.finish()
        return [event async for _, event in self.ledger.events()]

    async def kinds(self) -> list[str]:
        return [event.kind for event in await self.events()]


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "left.db")
    yield ledger
    await ledger.aclose()


class Asker:
    """A server that asks and writes down what its body gets."""

    def __init__(self, ledger: Ledger, **question: Any) -> None:
        self.seen: list[str] = []
        self.server = Handraise(ledger=ledger).install(MCPServer("asker", log_level="CRITICAL"))

        @self.server.tool()
        async def greet() -> str:
            try:
                return str(await ask.text("Who?", **question))
            except BaseException as error:
                self.seen.append(type(error).__name__)
                raise


@pytest.mark.shows("G1")
@LEGACY
@LEAVING
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_an_answer_that_is_being_recorded_when_the_client_leaves_is_what_was_decided(
    revision: Revision, leave: Leave, action: str, ledger: Ledger
) -> None:
    asker, slow = Asker(ledger), Slow(ledger, "decided")
    async with wired(asker.server, revision) as wire:
        await wire.call("call", "greet")
        answer = {"action": action, **({"content": {"answer": "Ada"}} if action == "accept" else {})}
        await wire.send(id=(await wire.question())["id"], result=answer)
        await until(slow.writes.is_set)
        await leave(wire)
        await until(lambda: asker.seen == [Withdrawn.__name__])
        slow.go_on.set()
    events = await slow.events()
    used = [event.used.ended for event in events if event.used is not None]
    assert sorted(event.kind for event in events) == sorted(
        ["asked", "decided", "used"] if action == "accept" else ["asked", "decided"]
    )
    assert used == (["cancelled"] if action == "accept" else [])


@pytest.mark.shows("G1", "O7")
@LEGACY
@LEAVING
async def test_a_question_that_failed_while_the_client_leaves_is_recorded_and_the_body_told(
    revision: Revision, leave: Leave, ledger: Ledger
) -> None:
    asker, slow = Asker(ledger), Slow(ledger, "failed")
    async with wired(asker.server, revision) as wire:
        await wire.call("call", "greet")
        await wire.send(id=(await wire.question())["id"], error=FAILURE)
        await until(slow.writes.is_set)
        await leave(wire)
        await until(lambda: asker.seen == [Withdrawn.__name__])
        slow.go_on.set()
    assert await slow.kinds() == ["asked", "failed"]


@pytest.mark.shows("G1", "O7")
@LEGACY
@LEAVING
async def test_a_question_that_expired_while_the_client_leaves_is_recorded_and_the_body_told(
    revision: Revision, leave: Leave, ledger: Ledger
) -> None:
    asker, slow = Asker(ledger, timeout=0.05), Slow(ledger, "expired")
    async with wired(asker.server, revision) as wire:
        await wire.call("call", "greet")
        await wire.question()
        await until(slow.writes.is_set)
        await leave(wire)
        await until(lambda: asker.seen == [Withdrawn.__name__])
        slow.go_on.set()
    assert await slow.kinds() == ["asked", "expired"]


@pytest.mark.shows("G1")
@LEGACY
@LEAVING
@pytest.mark.parametrize("apart", [False, True], ids=["in the call's task", "in a task of middleware's"])
async def test_a_question_that_is_withdrawn_is_recorded_without_anybody_waiting_for_it(
    revision: Revision, leave: Leave, apart: bool, ledger: Ledger
) -> None:
    asker, slow = Asker(ledger), Slow(ledger, "withdrawn")

    async def in_a_task(ctx: Any, call_next: Any) -> Any:
        return await asyncio.create_task(call_next(ctx))

    if apart:
        asker.server._lowlevel_server.middleware.insert(0, in_a_task)
    async with wired(asker.server, revision) as wire:
        await wire.call("call", "greet")
        await wire.question()
        await leave(wire)
        await until(lambda: asker.seen == [Withdrawn.__name__])  # before it is on disk
        slow.go_on.set()
    assert await slow.kinds() == ["asked", "withdrawn"]
