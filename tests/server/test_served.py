"""A call while it is served: what its handler sees around a question, and how mistakes and errors end it."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from tests.server.kitchen import make_kitchen
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand, sign_in
from tests.waiting import until

from handraise import Handraise, ask
from handraise.errors import FormError, Stale, UsageError
from handraise.guards.consent import end_with
from handraise.revisions import Revision

MINE: ContextVar[str] = ContextVar("mine", default="nothing")


async def test_the_authors_context_variables_survive_a_question(revision: Revision) -> None:
    server = Handraise().install(MCPServer("variables"))

    @server.tool()
    async def work() -> str:
        MINE.set("kept")
        await ask.text("Go?")
        return MINE.get()

    async with connect(server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool("work")) == "kept"
    assert MINE.get() == "nothing"


async def test_a_handler_holds_after_a_question_what_it_held_before(revision: Revision) -> None:
    """A lock, a task group and a shield of the author's, and nobody else comes in between."""
    server = Handraise().install(MCPServer("held"))
    lock, log = anyio.Lock(), []

    @server.tool()
    async def work() -> str:
        beside = anyio.Event()

        async def wait_beside() -> None:
            await beside.wait()
            log.append("beside")

        async with lock, anyio.create_task_group() as tasks:
            tasks.start_soon(wait_beside)
            with anyio.CancelScope(shield=True) as shield:
                answer = (await ask.text("Go?")).or_stop()
            assert shield.shield
            assert not shield.cancelled_caught
            beside.set()
        log.append(answer)
        return answer

    @server.tool()
    async def other() -> str:
        async with lock:
            log.append("other")
        return ""

    async def meanwhile() -> types.ElicitResult:
        others.start_soon(client.call_tool, "other")
        await until(lambda: lock.statistics().tasks_waiting)
        return accept(answer="went")

    async with (
        connect(server, revision, Person(lambda _params: meanwhile())) as client,
        anyio.create_task_group() as others,
    ):
        assert text_of(await client.call_tool("work")) == "went"
    assert log in (["beside", "went", "other"], ["beside", "other", "went"])


async def test_a_task_beside_a_question_that_fails_ends_the_wait(revision: Revision) -> None:
    """As a task group of the author's has it: what waits in it is cancelled, here the person's question."""
    server = Handraise().install(MCPServer("failing"))
    shown, log = anyio.Event(), []

    @server.tool()
    async def work() -> str:
        async def fail() -> None:
            await shown.wait()
            raise ConnectionError

        async def question() -> None:
            try:
                await ask.text("Go?")
            except anyio.get_cancelled_exc_class():
                log.append("cancelled")
                raise

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fail)
                tasks.start_soon(question)
        except* ConnectionError:
            log.append("failed")
        return "went on"

    async def meanwhile() -> types.ElicitResult:
        shown.set()
        await until(lambda: log == ["cancelled", "failed"])
        return accept(answer="too late")

    async with connect(server, revision, Person(lambda _params: meanwhile())) as client:
        assert text_of(await client.call_tool("work")) == "went on"
    assert log == ["cancelled", "failed"]


@pytest.mark.parametrize("who", ["body", "child", "thread"])
async def test_a_handler_sees_the_access_token_of_the_request_that_is_live(who: str) -> None:
    server = Handraise().install(MCPServer("tokens"))
    seen: list[Any] = []

    @server.tool()
    async def body() -> None:
        seen.append(get_access_token())
        await ask.text("Go?")
        seen.append(get_access_token())

    @server.tool()
    async def child() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(body)

    @server.tool()
    def thread() -> None:
        seen.append(get_access_token())
        ask.sync(ask.text("Go?"))
        seen.append(get_access_token())

    async with by_hand(server) as rounds:
        sign_in("ada")
        first = await rounds.call(who, {})
        sign_in("ada")
        await rounds.call(who, {}, state=first["requestState"], responses=accepted(first, answer="y"))
        sign_in(None)
    assert seen[0] is not seen[1]
    assert seen[0].subject == seen[1].subject == "ada"


class Span(trace.NonRecordingSpan):
    """A span that somebody keeps, until it ends."""

    is_open = True

    def is_recording(self) -> bool:
        return self.is_open

    def end(self, end_time: int | None = None) -> None:
        self.is_open = False


async def test_a_span_of_the_authors_own_is_the_current_one_after_a_question(revision: Revision) -> None:
    server = Handraise().install(MCPServer("spans"))
    own = Span(trace.INVALID_SPAN_CONTEXT)

    @server.tool()
    async def work() -> str:
        with trace.use_span(own, end_on_exit=True):
            await ask.text("Go?")
            return str(trace.get_current_span() is own)

    async with connect(server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool("work")) == "True"


async def test_a_question_is_asked_in_the_trace_that_its_call_names(revision: Revision) -> None:
    server = Handraise().install(MCPServer("traced"))
    named = "4bf92f3577b34da6a3ce929d0e0e4736"

    @server.tool()
    async def asks() -> str:
        await ask.text("Go?")
        return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)

    async with connect(server, revision, Person(accept(answer="yes"))) as client:
        meta: Any = {"traceparent": f"00-{named}-00f067aa0ba902b7-01"}
        assert text_of(await client.call_tool("asks", meta=meta)) == named


async def test_asking_outside_of_a_request_says_where_to_ask() -> None:
    with pytest.raises(UsageError, match="outside of a request"):
        await ask.text("Hello?")


async def test_a_task_that_outlives_its_call_is_told_that_it_is_over(revision: Revision) -> None:
    server, over, told = Handraise().install(MCPServer("late")), asyncio.Event(), []

    async def later() -> None:
        await over.wait()
        try:
            await ask.text("Still there?")
        except UsageError as error:
            told.append(error.args[0])

    @server.tool()
    async def work() -> str:
        tasks.append(asyncio.create_task(later()))
        return "done"

    tasks: list[asyncio.Task[None]] = []
    async with connect(server, revision, Person()) as client:
        assert text_of(await client.call_tool("work")) == "done"
        over.set()
        await tasks[0]
    assert told == ["the call that this question belongs to is over: ask before its handler returns"]


async def test_an_error_of_the_authors_own_passes_as_it_would_without_us() -> None:
    server = MCPServer("raising")
    Handraise().install(server)

    @server.tool()
    async def work() -> str:
        raise MCPError(code=-32099, message="my own")

    async with Client(server, mode="2026-07-28") as client:
        with pytest.raises(MCPError, match="my own"):
            await client.call_tool("work")


USAGE = {
    "no UTF-8": "os.fsencode",
    "no key": "key has to be text, not 5",
    "no time": "timeout has to be a number",
    "no await": "`await` is missing",
    "no await of one on its way": "`await` is missing",
    "one key twice": "a and b have the same key 'k'",
    "sync": "in an `async def` write `await`",
}


FORM = {
    "no options": "answer: there is nothing to choose from",
    "nested": "order: a form is flat",
    "no UTF-8 to choose": "os.fsencode",
}


@pytest.mark.parametrize(("mistake", "says"), [*USAGE.items(), *FORM.items()])
async def test_the_log_says_what_to_mend(
    revision: Revision, mistake: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:

    async with connect(make_kitchen(), revision, Person()) as client:
        await client.call_tool("mistaken", {"run": "log", "mistake": mistake})
    (told,) = [r for r in caplog.records if r.name == "handraise.server.served"]
    assert told.levelno == logging.ERROR
    assert says in told.getMessage()


async def test_a_mistake_in_a_prompt_is_a_protocol_error(revision: Revision) -> None:
    from mcp.server.mcpserver import MCPServer

    server = Handraise().install(MCPServer("prompts"))

    @server.prompt()
    async def introduce() -> str:
        return (await ask.choose("Which?", list[str]())).or_stop()

    async with connect(server, revision, Person()) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("introduce")
    assert refused.value.error.message == FormError.public
    assert refused.value.error.data == {"reason": "form"}


async def test_nothing_runs_after_the_call_was_ended_for_a_guard(revision: Revision) -> None:
    server, ran = Handraise().install(MCPServer("ended")), list[str]()

    @server.tool()
    async def work() -> str:
        end_with(Stale("the notes changed"))
        ran.append("after")
        return "done"

    async with connect(server, revision, Person()) as client:
        result = await client.call_tool("work")
    assert (result.is_error, ran) == (True, [])
    assert "This changed while the person was deciding." in text_of(result)
