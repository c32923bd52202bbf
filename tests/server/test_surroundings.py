"""What a body sees around its questions: context variables, tokens, injected parameters, duplicates."""

from __future__ import annotations

import subprocess
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from fastmcp import FastMCP
from fastmcp.dependencies import Depends
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand, sign_in
from tests.server.wired import wired
from tests.waiting import until

from handraise import Handraise, ask, complete
from handraise.revisions import Revision
from handraise.server import threads
from handraise.this_user import local_person

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


async def test_what_a_body_holds_around_a_question_it_holds_after_it(revision: Revision) -> None:
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


def waits_in_a_thread() -> MCPServer:
    server = Handraise().install(MCPServer("threads"))

    @server.tool()
    def work(name: str) -> str:
        return ask.sync(ask.text(f"Go, {name}?")).or_stop()

    @server.tool()
    def quick() -> str:
        return "quick"

    return server


async def test_many_plain_functions_that_wait_keep_no_thread_from_others(revision: Revision) -> None:
    many = 60
    assert many > anyio.to_thread.current_default_thread_limiter().total_tokens
    all_asked = anyio.Event()

    async def thinks() -> types.ElicitResult:
        if len(person.asked) == many:
            all_asked.set()
        await others_done.wait()
        return accept(answer="went")

    others_done = anyio.Event()
    person = Person(*(lambda _params: thinks() for _ in range(many)))
    results: list[str] = []

    async def call(name: str) -> None:
        results.append(text_of(await client.call_tool("work", {"name": name})))

    async with connect(waits_in_a_thread(), revision, person) as client, anyio.create_task_group() as calls:
        for number in range(many):
            calls.start_soon(call, str(number))
        with anyio.fail_after(30):
            await all_asked.wait()
            assert text_of(await client.call_tool("quick")) == "quick"
        others_done.set()
    assert results == ["went"] * many
    assert anyio.to_thread.current_default_thread_limiter().total_tokens < many


@pytest.mark.parametrize("who", ["body", "child", "thread"])
async def test_a_body_sees_the_access_token_of_the_round_that_is_live(who: str) -> None:
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


async def test_too_many_plain_functions_that_wait_are_refused(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_MAX_WAITING_THREADS", 1)
    server = waits_in_a_thread()
    async with connect(server, revision, Person(lambda _params: second())) as client:

        async def second() -> types.ElicitResult:
            refused = await client.call_tool("work", {"name": "two"})
            assert refused.is_error
            assert "too many questions" in text_of(refused)
            return accept(answer="went")

        assert text_of(await client.call_tool("work", {"name": "one"})) == "went"


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


async def test_injected_parameters_of_fastmcp_stay_what_they_were(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("injected"))
    made: list[int] = []

    def connection() -> str:
        made.append(1)
        return f"connection {len(made)}"

    @server.tool
    async def work(db: str = Depends(connection)) -> str:
        return f"{(await ask.text('Go?')).or_stop()} {db}"

    async with connect(server._mcp_server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool("work")) == "yes connection 1"
    assert made == [1]


@pytest.mark.shows("X4")
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_call_that_is_dispatched_twice_asks_once(revision: Revision) -> None:
    server = Handraise().install(MCPServer("twice"))

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?")).or_stop()

    async with wired(server, revision) as wire:
        for _ in range(2):
            await wire.call("same", "work")
        question = await wire.question()
        await wire.answer(question, answer="once")
        assert await wire.texts(2) == ["once", "once"]
        await wire.call("deliberate", "work")
        assert (await wire.question())["id"] != question["id"]


@pytest.mark.shows("X4")
@pytest.mark.parametrize("key", [None, "word"])
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_number_and_the_text_that_looks_like_it_are_the_ids_of_two_calls(
    revision: Revision, key: str | None
) -> None:
    server = Handraise().install(MCPServer("alike"))

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?", key=key)).or_stop()

    async with wired(server, revision) as wire:
        for number in (1, "1"):
            await wire.call(number, "work")
        questions = [await wire.question(), await wire.question()]
        assert questions[0]["id"] != questions[1]["id"]
        for told, question in zip(("first", "second"), questions, strict=True):
            await wire.answer(question, answer=told)
        results = [await wire.receive(), await wire.receive()]
        told_to = {result["id"]: result["result"]["content"][0]["text"] for result in results}
        assert told_to == {1: "first", "1": "second"}


@pytest.mark.shows("X4", "L2")
@pytest.mark.parametrize("key", [None, "link"])
async def test_a_call_that_is_dispatched_twice_has_one_link_and_both_end_with_it(key: str | None) -> None:
    server = Handraise().install(MCPServer("twice"))

    @server.tool()
    async def link() -> str:
        answer = await ask.open("Allow access.", "https://mcp.example.com/connect", key=key, timeout=20)
        return f"{answer.action}"

    async with wired(server, Revision.NOVEMBER_2025) as wire:
        for _ in range(2):
            await wire.send(id="same", method="tools/call", params={"name": "link", "arguments": {}})
        question = await wire.receive()
        await wire.send(id=question["id"], result={"action": "accept"})
        chosen = question["params"]["elicitationId"]
        await complete(chosen, person=local_person())
        told: list[Any] = []
        results: list[Any] = []
        with anyio.fail_after(10):
            while len(results) < 2:
                message = await wire.receive()
                (told if "method" in message else results).append(message)
        assert {notice["params"]["elicitationId"] for notice in told} == {chosen}
        assert [r["result"]["content"][0]["text"] for r in results] == ["accept", "accept"]
        await wire.send(id="deliberate", method="tools/call", params={"name": "link", "arguments": {}})
        assert (await wire.receive())["params"]["elicitationId"] != chosen


@pytest.mark.slow
@pytest.mark.shows("L2")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_a_flow_is_finished_by_a_real_other_process(
    tmp_path: Any, programs: Path, revision: Revision
) -> None:
    path = tmp_path / "store.db"
    server = Handraise(store=path, hold=20).install(MCPServer("flows"))

    @server.tool()
    async def link() -> str:
        answer = await ask.open("Allow access.", "https://mcp.example.com/connect", "flow", timeout=30)
        return f"{answer.action}"

    finish = tmp_path / "finish.py"
    finish.write_text(
        "import asyncio, sys; from handraise import Person, SqliteStore, complete\n"
        "asyncio.run(complete('flow', person=Person(*sys.argv[2:5]), store=SqliteStore(sys.argv[1])))\n"
    )

    async def in_another_process(_params: Any) -> types.ElicitResult:
        who = local_person()
        command = [str(programs / "python"), str(finish), str(path), who.issuer, who.subject, who.how]
        await anyio.run_process(command, stderr=subprocess.STDOUT)
        return types.ElicitResult(action="accept")

    async with connect(server, revision, Person(in_another_process)) as client:
        assert text_of(await client.call_tool("link")) == "accept"
