"""A question that is sent early and waited for later, if at all: it ends with its call."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from pydantic import FileUrl
from tests.server.peers import DECLINE, Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand
from tests.server.wired import wired
from tests.waiting import until

from handraise import Handraise, NotSupported, Withdrawn, ask, once
from handraise.pages import Pages
from handraise.revisions import Revision
from handraise.server.runtime import RUNTIMES
from handraise.vault import EphemeralKeys

LEGACY = [revision for revision in Revision if revision.legacy]


def make_early() -> tuple[MCPServer, anyio.Event]:
    """A server whose tools send a question early and end in different ways, after an event or at once."""
    server = Handraise().install(MCPServer("early"))
    go_on = anyio.Event()

    @server.tool()
    async def withdraws() -> str:
        question = ask.text("Go?").prepare()
        await go_on.wait()
        question.withdraw()
        try:
            return (await question).or_stop()
        except Withdrawn:
            return "withdrawn"

    @server.tool()
    async def lets_pass() -> str:
        question = ask.text("Go?").prepare()
        await go_on.wait()
        question.withdraw()
        return (await question).or_stop()

    @server.tool()
    async def returns() -> str:
        ask.text("Go?").prepare()
        await go_on.wait()
        return "returned"

    @server.tool()
    async def raises() -> str:
        ask.text("Go?").prepare()
        await go_on.wait()
        raise ValueError("no")

    @server.tool()
    async def is_over_at_once() -> str:
        ask.text("Go?").prepare()
        return "returned"

    return server, go_on


EARLY = {
    "withdraws": "withdrawn",
    "lets_pass": Withdrawn.public,
    "returns": "returned",
    "raises": "Error executing tool raises",
}


@pytest.mark.shows("O7")
@pytest.mark.parametrize("tool", EARLY)
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_was_sent_early_is_taken_back_when_its_call_ends_or_the_author_wants_it(
    revision: Revision, tool: str
) -> None:
    server, go_on = make_early()
    async with wired(server, revision) as wire:
        await wire.call("call", tool)
        question = await wire.question()
        go_on.set()
        notice = await wire.receive()
        assert notice["method"] == "notifications/cancelled"
        assert notice["params"]["requestId"] == question["id"]
        [text] = await wire.texts()
        assert text.startswith(EARLY[tool])  # mcp 2.0 adds the text of an exception
        await wire.require_open()


@pytest.mark.shows("O7")
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_was_sent_early_is_taken_back_when_the_client_cancels_its_call(
    revision: Revision,
) -> None:
    server, _ = make_early()
    async with wired(server, revision) as wire:
        await wire.call("call", "returns")
        question = await wire.question()
        await wire.send(method="notifications/cancelled", params={"requestId": "call"})
        notice = await wire.receive()
        assert notice["method"] == "notifications/cancelled"
        assert notice["params"]["requestId"] == question["id"]
        await wire.require_open()


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_of_a_call_that_is_over_at_once_is_not_sent(revision: Revision) -> None:
    server, _ = make_early()
    async with wired(server, revision) as wire:
        await wire.call("call", "is_over_at_once")
        assert await wire.texts() == ["returned"]
        await wire.require_open()


@pytest.mark.parametrize("tool", [*EARLY, "is_over_at_once"])
async def test_a_parked_body_that_ends_leaves_no_question_open(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, go_on = make_early()
    async with by_hand(server) as rounds:
        result = await rounds.call(tool, {})
        if tool != "is_over_at_once":
            assert result["resultType"] == "input_required"
            go_on.set()
            await anyio.wait_all_tasks_blocked()
            result = await rounds.call(tool, {}, state=result["requestState"], responses={})
        assert result["content"][0]["text"].startswith(EARLY.get(tool, "returned"))
        await anyio.wait_all_tasks_blocked()
    assert not [
        record for record in caplog.records if record.name == "asyncio" and record.levelno >= logging.ERROR
    ]


PREPARED: dict[str, Any] = {
    "text": lambda: ask.text("Go?"),
    "confirm": lambda: ask.confirm("Go?"),
    "choose": lambda: ask.choose("Go?", ["there", "here"]),
    "number": lambda: ask.number("Go?"),
    "date": lambda: ask.date("Go?"),
    "link": lambda: ask.open("Go", "https://example.com/go", wait=False),
    "named link": lambda: ask.open("Go", "https://example.com/go", "chosen", wait=False),
    "choose many": lambda: ask.choose_many("Go?", ["there", "here"], fallback=[]),
}


@pytest.mark.parametrize("kind", PREPARED)
async def test_every_question_can_be_sent_early_and_tells_what_was_sent(
    revision: Revision, kind: str
) -> None:
    server = Handraise().install(MCPServer("early"))
    told: list[Any] = []

    @server.tool()
    async def work() -> str:
        prepared = PREPARED[kind]().prepare()
        told.append(prepared.request)
        try:
            return type(await prepared).__name__
        except NotSupported:
            return "NotSupported"

    person = Person(DECLINE)
    async with connect(server, revision, person) as client:
        ended = text_of(await client.call_tool("work"))
    if not person.asked:  # no links, or no lists, on that revision
        assert revision is Revision.JUNE_2025
        assert ended == ("Fallback" if kind == "choose many" else "NotSupported")
        return
    assert ended == "Declined"
    sent = person.asked[0].model_dump(by_alias=True, exclude_none=True, mode="json")
    assert {name: sent.get(name) for name in told[0]["params"]} == told[0]["params"]


async def test_several_questions_can_be_sent_early_and_are_answered_by_name(revision: Revision) -> None:
    server = Handraise().install(MCPServer("early"))
    told: list[Any] = []

    @server.tool()
    async def work() -> str:
        prepared = ask.all(who=ask.text("Who?"), where=ask.text("Where?", key="place")).prepare()
        told.append(prepared.request)
        answers = await prepared
        return " ".join(answers[name].or_stop() for name in ("who", "where"))

    def answer(params: Any) -> Any:
        return accept(answer=params.message.rstrip("?").lower())

    person = Person(answer, answer)
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("work")) == "who where"
    assert {key: request["params"]["message"] for key, request in told[0].items()} == {
        "who": "Who?",
        "place": "Where?",
    }


async def test_several_questions_go_out_in_one_round_while_the_body_works() -> None:
    server = Handraise().install(MCPServer("early"))

    @server.tool()
    async def work() -> str:
        prepared = ask.all(who=ask.text("Who?"), where=ask.text("Where?")).prepare()
        effect: str = await once("effect", lambda: "worked")
        return effect + " ".join(answer.or_stop() for answer in (await prepared).values())

    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        assert sorted(first["inputRequests"]) == ["where", "who"]
        last = await rounds.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="!")
        )
        assert last["content"][0]["text"] == "worked! !"


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_several_questions_that_were_sent_early_are_taken_back_with_their_call(
    revision: Revision, recwarn: pytest.WarningsRecorder
) -> None:
    server = Handraise().install(MCPServer("early"))
    go_on = anyio.Event()

    @server.tool()
    async def work(waits: bool) -> str:
        ask.all(who=ask.text("Who?"), where=ask.text("Where?")).prepare()
        if waits:
            await go_on.wait()
        return "returned"

    async with wired(server, revision) as wire:
        await wire.call("call", "work", waits=True)
        question = await wire.question()
        go_on.set()
        assert (await wire.receive())["params"]["requestId"] == question["id"]
        assert await wire.texts() == ["returned"]
        await wire.call("next", "work", waits=False)
        assert await wire.texts() == ["returned"]
        await wire.require_open()
    gc.collect()
    assert not recwarn.list


@pytest.mark.parametrize("kind", ["roots", "model"])
async def test_what_the_client_itself_is_asked_can_be_sent_early(revision: Revision, kind: str) -> None:
    server = Handraise().install(MCPServer("early"))
    told: list[Any] = []

    @server.tool()
    async def work() -> str:
        if kind == "roots":
            roots = ask.roots().prepare()
            told.append(roots.request)
            return str((await roots)[0].uri)
        reply = ask.model("Two and two?", max_tokens=5).prepare()
        told.append(reply.request)
        return str((await reply).text)

    async def list_roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///notes"))])

    async def sample(_context: Any, _params: Any) -> types.CreateMessageResult:
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="four"), model="m"
        )

    client_side: dict[str, Any] = {"list_roots_callback": list_roots, "sampling_callback": sample}
    async with connect(server, revision, Person(), **client_side) as client:
        ended = text_of(await client.call_tool("work"))
    assert (ended, told[0]["method"]) == {
        "roots": ("file:///notes", "roots/list"),
        "model": ("four", "sampling/createMessage"),
    }[kind]


LINK = "https://mcp.example.com/connect"


@pytest.mark.shows("C1")
@pytest.mark.parametrize("kept", ["in memory", "in a file"])
@pytest.mark.parametrize("tool", ["early_first", "required_first", "links", "pages"])
async def test_what_is_asked_in_one_breath_goes_out_in_one_round(
    tool: str, kept: str, tmp_path: Path
) -> None:
    store = tmp_path / "store.db" if kept == "in a file" else None
    server = Handraise(store=store, pages=Pages(keys=EphemeralKeys())).install(MCPServer("breath"))

    @server.tool()
    async def early_first() -> str:
        first = ask.text("First?").prepare()
        await ask.text("Second?")
        return (await first).action

    @server.tool()
    async def required_first() -> str:
        first = ask.require(LINK).prepare()
        await first.sent()
        return (await ask.text("Second?")).action

    @server.tool()
    async def links() -> str:
        return repr(await ask.all(link=ask.open("Go.", LINK), text=ask.text("Second?")))

    @server.tool()
    async def pages() -> str:
        return repr(await ask.all(token=ask.secret("Token", service="a"), text=ask.text("Second?")))

    async with by_hand(server) as rounds:
        first = await rounds.call(tool, {})
    assert len(first["inputRequests"]) == 2


@pytest.mark.parametrize("how", ["expires", "stops"])
async def test_a_question_that_was_sent_early_and_is_not_awaited_any_more_is_not_reported(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Handraise().install(MCPServer("early"))

    @server.tool()
    async def two() -> str:
        timeout = 0.05 if how == "expires" else 30
        one, other = (ask.text(f"{number}?", timeout=timeout).prepare() for number in range(2))
        return (await one).or_stop() + (await other).or_stop()

    async with by_hand(server) as rounds:
        first = await rounds.call("two", {})
        if how == "expires":
            lot = RUNTIMES[server._lowlevel_server].lot
            await until(lambda: not lot.bodies)
            retry = {"state": first["requestState"], "responses": accepted(first, answer="late")}
            assert (await rounds.call("two", {}, **retry))["isError"]
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]
