"""Whoever asked for a call goes away while its body waits: it hears of that at its question, as on every revision."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.wired import Wire, wired
from tests.waiting import until

from handraise import Handraise, Withdrawn, ask
from handraise.ledger import Ledger
from handraise.revisions import Revision
from handraise.server.legacy import LegacyCall

LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)


async def cancel(wire: Wire) -> None:
    await wire.send(method="notifications/cancelled", params={"requestId": "call"})


async def cancel_at_question(wire: Wire, tool: str) -> None:
    """Call, cancel when the question is there, and see it taken back."""
    await wire.call("call", tool)
    question = await wire.question()
    await cancel(wire)
    assert (await wire.receive())["params"]["requestId"] == question["id"]


LEAVING = pytest.mark.parametrize("leave", [cancel, Wire.hang_up], ids=["cancels", "hangs up"])


class Left:
    """A server whose bodies write down what they see."""

    def __init__(self, ledger: Ledger | None = None, linger: float = 10) -> None:
        self.seen: list[str] = []
        self.go_on = anyio.Event()
        self.left_behind: asyncio.Task[str] | None = None
        self.end_limit: Callable[[], None] | None = None
        """Ends a limit of the author's own."""
        self.server = Handraise(ledger=ledger, linger=linger).install(MCPServer("left", log_level="CRITICAL"))
        for name, body in inspect.getmembers(self, inspect.ismethod):
            if not name.startswith("_"):
                self.server.tool()(body)

    async def one(self) -> str:
        return await self._noted(lambda: ask.text("Go?"))

    async def several(self) -> str:
        return await self._noted(lambda: ask.all(one=ask.text("Go?"), two=ask.text("Now?")))

    async def early(self) -> str:
        return await self._noted(lambda: ask.text("Go?").prepare())

    async def grouped(self) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(self._noted, lambda: ask.text("Go?"))
        return "unreachable"

    async def grouped_by_asyncio(self) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._noted(lambda: ask.text("Go?")))
        return "unreachable"

    async def waited(self) -> str:
        done, _ = await asyncio.wait([asyncio.create_task(self._noted(lambda: ask.text("Go?")))])
        return "".join(task.result() for task in done)

    async def limited(self) -> str:
        async with asyncio.timeout(30):
            return await self._noted(lambda: ask.text("Go?"))

    async def was_cancelled_before(self) -> str:
        """And went on, without telling asyncio so."""
        running = asyncio.current_task()
        assert running is not None
        running.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await self._noted(lambda: ask.text("Go?"))

    async def waits_for_one_that_was(self) -> str:
        return await asyncio.create_task(self.was_cancelled_before())

    def thread(self) -> str:
        try:
            return ask.sync(ask.text("Go?")).or_stop()
        except Withdrawn:
            self.seen.append("withdrawn")
            raise
        finally:
            self.seen.append("finally")

    async def tidies(self) -> str:
        try:
            return (await ask.text("Go?")).or_stop()
        except Withdrawn:
            await anyio.sleep(0.01)
            self.seen.append("tidied")
            try:
                await anyio.sleep_forever()
            finally:
                self.seen.append("ended")
            raise

    async def crashes(self) -> str:
        raise ValueError("no")

    async def goes_on(self) -> str:
        await ask.text("First?")
        try:
            return (await ask.text("Go?")).or_stop()
        except Withdrawn:
            self.seen.append("withdrawn")
            return "the author's own end"

    async def asks_at_the_end(self) -> str:
        """Nobody was asked before the client left."""
        self.seen.append("works")
        with suppress(asyncio.CancelledError):
            await anyio.sleep_forever()
        return await self._noted(lambda: ask.text("Really?"))

    async def own_limit(self) -> str:
        with anyio.CancelScope(shield=True), anyio.CancelScope() as limit:
            self.end_limit = limit.cancel
            await self._noted(lambda: ask.text("Go?"))
        self.seen.append("the author's own")
        return "done"

    async def own_timeout(self) -> str:
        with anyio.CancelScope(shield=True):
            try:
                async with asyncio.timeout(None) as limit:
                    self.end_limit = lambda: limit.reschedule(0)
                    await self._noted(lambda: ask.text("Go?"))
            except TimeoutError:
                self.seen.append("the author's own")
        return "done"

    async def task(self) -> str:
        return await asyncio.create_task(self._noted(lambda: ask.text("Go?")))

    async def timed(self) -> str:
        return await asyncio.wait_for(self._noted(lambda: ask.text("Go?")), 30)

    async def tidies_its_task(self) -> str:
        """As tasks are ended everywhere, while the call is being cancelled."""
        question = asyncio.create_task(self._noted(lambda: ask.text("Go?")))
        try:
            await anyio.sleep_forever()
        finally:
            question.cancel()
            with suppress(asyncio.CancelledError, Withdrawn):
                await question
            self.seen.append("tidied")
        return "unreachable"

    async def limits_its_task(self) -> str:
        with anyio.CancelScope(shield=True):
            question = asyncio.create_task(self._noted(lambda: ask.text("Go?")))
            with anyio.CancelScope() as limit:
                self.end_limit = limit.cancel
                await question
            self.seen.append("the author's own")
        return "done"

    async def leaves_behind(self) -> str:
        self.left_behind = asyncio.create_task(self._noted(lambda: ask.text("Go?")))
        await self.go_on.wait()
        return "returned"

    async def gathered(self) -> str:
        return "".join(await asyncio.gather(self._noted(lambda: ask.text("Go?"))))

    async def own_task(self) -> str:
        """A limit of the author's own within a task of theirs."""

        async def limited() -> None:
            with anyio.CancelScope() as limit:
                self.end_limit = limit.cancel
                await self._noted(lambda: ask.text("Go?"))
            self.seen.append("the author's own")

        with anyio.CancelScope(shield=True):
            await asyncio.create_task(limited())
        return "done"

    async def three(self) -> str:
        questions = [self._noted(lambda: ask.text("Go?")) for _ in range(3)]
        return "".join(await asyncio.gather(*questions))

    async def asks_on(self) -> str:
        while True:
            with suppress(Withdrawn):
                await self._noted(lambda: ask.text("Go?"))

    async def asks_on_early(self) -> str:
        while True:
            with suppress(Withdrawn):
                await self._noted(lambda: ask.text("Go?").prepare())

    def asks_on_in_a_thread(self) -> str:
        while True:
            with suppress(Withdrawn):
                try:
                    ask.sync(ask.text("Go?"))
                except Withdrawn:
                    self.seen.append("withdrawn")
                    raise
                finally:
                    self.seen.append("finally")

    async def _noted(self, asking: Callable[[], Awaitable[Any]]) -> str:
        try:
            return str(await asking())
        except Withdrawn:
            self.seen.append("withdrawn")
            raise
        finally:
            self.seen.append("finally")


@pytest.mark.shows("O2", "O7")
@LEGACY
@LEAVING
@pytest.mark.parametrize(
    "tool",
    [
        "one",
        "several",
        "early",
        "grouped",
        "grouped_by_asyncio",
        "thread",
        "task",
        "gathered",
        "timed",
        "waited",
        "limited",
        "was_cancelled_before",
        "waits_for_one_that_was",
    ],
)
async def test_a_client_that_leaves_withdraws_the_question_of_its_call(
    revision: Revision,
    leave: Callable[[Wire], Awaitable[None]],
    tool: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    left = Left(linger=600)  # nobody is told so late
    with caplog.at_level(logging.WARNING):
        async with wired(left.server, revision) as wire:
            await wire.call("call", tool)
            question = await wire.question()
            await leave(wire)
            await until(lambda: left.seen == ["withdrawn", "finally"])
            if leave is cancel:
                assert (await wire.receive())["params"]["requestId"] == question["id"]
                await wire.require_open()
    if not tool.startswith("grouped"):  # the framework tells of every group that fails
        assert not caplog.records


@LEGACY
async def test_a_body_that_tidies_up_has_a_while_for_it(revision: Revision) -> None:
    left = Left(linger=0.1)
    async with wired(left.server, revision) as wire:
        await cancel_at_question(wire, "tidies")
        await until(lambda: left.seen == ["tidied", "ended"])
        await wire.require_open()


@LEGACY
@pytest.mark.parametrize("tool", ["asks_on", "asks_on_early", "asks_on_in_a_thread"])
async def test_a_body_that_asks_on_and_on_ends_and_its_client_is_not_asked_again(
    revision: Revision, tool: str
) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await cancel_at_question(wire, tool)
        await until(lambda: left.seen == ["withdrawn", "finally", "finally"])
        await wire.require_open()


@LEGACY
async def test_a_body_that_asks_only_after_its_client_left_is_told_so(revision: Revision) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await wire.call("call", "asks_at_the_end")
        await until(lambda: left.seen == ["works"])
        await cancel(wire)
        await until(lambda: left.seen == ["works", "withdrawn", "finally"])
        await wire.require_open()


@pytest.mark.shows("O2", "O7")
@LEGACY
@LEAVING
async def test_every_question_that_was_open_is_withdrawn(
    revision: Revision, leave: Callable[[Wire], Awaitable[None]]
) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await wire.call("call", "three")
        asked = {(await wire.question())["id"] for _ in range(3)}
        await leave(wire)
        await until(lambda: left.seen == ["withdrawn", "finally"] * 3)
        if leave is cancel:
            assert {(await wire.receive())["params"]["requestId"] for _ in range(3)} == asked
            await wire.require_open()


OWN_LIMITS = pytest.mark.parametrize("tool", ["own_limit", "own_timeout", "own_task", "limits_its_task"])


@LEGACY
@OWN_LIMITS
async def test_limits_of_the_authors_own_end_a_question_as_limits_do(revision: Revision, tool: str) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await wire.call("call", tool)
        question = await wire.question()
        assert left.end_limit is not None
        left.end_limit()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        assert await wire.texts() == ["done"]
        assert left.seen == ["finally", "the author's own"]
        await wire.require_open()


@LEGACY
@OWN_LIMITS
async def test_who_leaves_is_told_also_where_limits_and_shields_are_around(
    revision: Revision, tool: str
) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await cancel_at_question(wire, tool)
        await until(lambda: left.seen == ["withdrawn", "finally"])
        await wire.require_open()


@LEGACY
async def test_a_body_that_works_while_its_task_asks_is_cancelled_after_a_while(
    revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    left = Left(linger=0.05)
    async with wired(left.server, revision) as wire:
        await cancel_at_question(wire, "tidies_its_task")
        await until(lambda: left.seen == ["withdrawn", "finally", "tidied"])
        await wire.require_open()
    gc.collect()
    assert not caplog.records


@pytest.mark.shows("O7")
@LEGACY
@pytest.mark.parametrize("leave", [cancel, None], ids=["cancels", "ends"])
async def test_a_question_that_a_body_leaves_behind_is_taken_back_with_its_call(
    revision: Revision, leave: Any, caplog: pytest.LogCaptureFixture
) -> None:
    left = Left()
    async with wired(left.server, revision) as wire:
        await wire.call("call", "leaves_behind")
        question = await wire.question()
        if leave is None:
            left.go_on.set()
        else:
            await leave(wire)
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        if leave is None:
            assert await wire.texts() == ["returned"]
        await until(lambda: left.seen == ["withdrawn", "finally"])
        await wire.require_open()
    assert left.left_behind is not None
    await asyncio.wait((left.left_behind,))
    assert isinstance(left.left_behind.exception(), Withdrawn)
    left.left_behind = None
    gc.collect()
    assert not caplog.records


@LEGACY
async def test_nothing_is_left_of_calls_that_were_cancelled(revision: Revision) -> None:
    left = Left()

    async def cancel_five(wire: Wire) -> None:
        for _ in range(5):
            left.seen.clear()
            await wire.call("call", "one")
            await wire.question()
            await cancel(wire)
            await wire.receive()
            await until(lambda: left.seen == ["withdrawn", "finally"])
        await wire.require_open()

    async with wired(left.server, revision) as wire:
        await cancel_five(wire)
        gc.collect()
        gc.disable()
        try:
            await cancel_five(wire)
            # Not at once: an event loop keeps a timer that was cancelled, with its context, behind one that was not.
            await until(lambda: not _legacy_calls())
        finally:
            gc.enable()


def _legacy_calls() -> int:
    return sum(type(each) is LegacyCall for each in gc.get_objects())


@LEGACY
async def test_a_limit_around_the_call_ends_it_as_a_limit_does(revision: Revision) -> None:
    """Somebody's middleware gives calls a moment: it hears that its time is up, whatever the body made of that."""
    left = Left()
    limits: list[anyio.CancelScope] = []

    async def limited(ctx: Any, call_next: Any) -> Any:
        with anyio.CancelScope() as limit:
            limits.append(limit)
            return await call_next(ctx)
        return {"content": [{"type": "text", "text": "time is up"}]}

    left.server._lowlevel_server.middleware.insert(0, limited)
    async with wired(left.server, revision) as wire:
        await wire.call("call", "one")
        question = await wire.question()
        limits[-1].cancel()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        assert await wire.texts() == ["time is up"]
    assert left.seen == ["withdrawn", "finally"]


@pytest.mark.shows("O7")
@LEGACY
@LEAVING
@pytest.mark.parametrize("tool", ["one", "task"])
@pytest.mark.parametrize("limited", [False, True])
async def test_a_call_that_middleware_runs_in_a_task_of_its_own_is_told_alike(
    revision: Revision, leave: Callable[[Wire], Awaitable[None]], tool: str, limited: bool
) -> None:
    left = Left()

    async def served(ctx: Any, call_next: Any) -> Any:
        with anyio.fail_after(30) if limited else nullcontext():
            return await call_next(ctx)

    async def apart(ctx: Any, call_next: Any) -> Any:
        return await asyncio.create_task(served(ctx, call_next))

    left.server._lowlevel_server.middleware.insert(0, apart)
    async with wired(left.server, revision) as wire:
        await wire.call("answered", "one")
        await wire.answer(await wire.question(), answer="yes")
        assert await wire.texts() == ["Accepted(data='yes')"]
        await wire.call("crashed", "crashes")
        [text] = await wire.texts()
        assert text.startswith("Error executing tool crashes")  # mcp 2.0 adds the exception's own text
        left.seen.clear()
        await wire.call("call", tool)
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == ["withdrawn", "finally"])


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "left.db")
    yield ledger
    await ledger.aclose()


@pytest.mark.shows("G1")
@LEGACY
@LEAVING
async def test_the_ledger_has_what_was_used_and_what_was_withdrawn(
    revision: Revision, leave: Callable[[Wire], Awaitable[None]], ledger: Ledger
) -> None:
    left = Left(ledger)
    async with wired(left.server, revision) as wire:
        await wire.call("call", "goes_on")
        await wire.answer(await wire.question(), answer="yes")
        await wire.question()
        await leave(wire)
        await until(lambda: left.seen == ["withdrawn"])
    await ledger.finish()
    told = [event.kind async for _, event in ledger.events()]
    assert told == ["asked", "decided", "asked", "withdrawn", "used"]
