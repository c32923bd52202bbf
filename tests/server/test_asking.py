"""A question that was made: it is no answer, it is asked once or given up, now or early, also from a thread."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.peers import CANCEL, DECLINE, Person, accept, connect, runtime_of, text_of
from tests.server.rounds import accepted, by_hand
from tests.server.wired import wired
from tests.waiting import until

from handraise import (
    Handraise,
    NotSupported,
    Withdrawn,
    ask,
    once,
)
from handraise.errors import UsageError
from handraise.pages import Pages
from handraise.revisions import Revision
from handraise.server import asking
from handraise.vault import EphemeralKeys


def test_a_question_is_neither_true_nor_false() -> None:
    for question in (ask.confirm("Delete it?"), ask.secret("API key"), ask.roots()):
        with pytest.raises(UsageError, match="`await` is missing"):
            bool(question)


@pytest.mark.filterwarnings("ignore:a question was made")
@pytest.mark.parametrize("name", ["or_stop", "data", "action"])
def test_a_question_that_is_taken_for_its_answer_says_that_await_is_missing(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no `{name}`.*`await` is missing"):
        getattr(ask.confirm("Delete it?"), name)
    assert "await it" in repr(ask.confirm("Delete it?"))


async def test_a_body_that_forgot_to_await_does_nothing(revision: Revision) -> None:
    server = Handraise().install(MCPServer("forgetful"))
    deleted: list[str] = []

    @server.tool()
    async def delete() -> str:
        if ask.confirm("Delete it?"):
            deleted.append("all")
        return "done"

    async with connect(server, revision, Person()) as client:
        assert (await client.call_tool("delete")).is_error
    assert not deleted


@pytest.mark.parametrize("answer", [DECLINE, CANCEL, accept(answer=False), accept(answer=True)])
async def test_a_body_that_takes_any_answer_for_a_yes_does_nothing(
    revision: Revision, answer: types.ElicitResult
) -> None:
    server = Handraise().install(MCPServer("hasty"))
    deleted: list[str] = []

    @server.tool()
    async def delete() -> str:
        if await ask.confirm("Delete it?"):
            deleted.append("all")
        return "done"

    async with connect(server, revision, Person(answer)) as client:
        result = await client.call_tool("delete")
    assert result.is_error
    assert text_of(result) == UsageError.public
    assert not deleted


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: {"a": ask.text("A?", key="b"), "b": ask.text("B?")}, "a and b have the same key 'b'"),
        (lambda: {"a": ask.text("A?"), "b": 5}, "b has to be a question"),
        (lambda: {"a": ask.text("A?"), "b": ask.require()}, "b has to be a question"),
        (lambda: {"a": ask.text("A?"), "\udce9": ask.text("B?")}, "fsencode"),
    ],
)
async def test_questions_that_cannot_be_told_apart_are_refused_before_anybody_is_asked(
    wrong: Any, says: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UsageError, match=says):
            await ask.all(**wrong())
        gc.collect()


@pytest.mark.shows("N5")
@pytest.mark.parametrize(
    "impossible", [lambda: ask.open("Go there.", "https://example.org/"), lambda: ask.roots()]
)
async def test_nobody_is_asked_if_one_of_several_questions_cannot_be_asked(
    revision: Revision, impossible: Callable[[], Any]
) -> None:
    server = Handraise().install(MCPServer("several"))

    @server.tool()
    async def ask_all() -> str:
        try:
            await ask.all(name=ask.text("Your name?"), rest=impossible())
        except NotSupported as error:
            return error.mode
        return "answered"

    person = Person()
    async with connect(server, revision, person, modes="form") as client:
        assert text_of(await client.call_tool("ask_all")) in {"url", "roots"}
    assert not person.asked


async def test_one_of_several_questions_may_fall_back(revision: Revision) -> None:
    server = Handraise().install(MCPServer("several"))

    @server.tool()
    async def ask_all() -> str:
        link = ask.open("Go there.", "https://example.org/", fallback="nowhere")
        return str([*(await ask.all(link=link, name=ask.text("Your name?"))).items()])

    async with connect(server, revision, Person(accept(answer="Ada")), modes="form") as client:
        answers = text_of(await client.call_tool("ask_all"))
    assert answers == "[('link', Fallback(value='nowhere')), ('name', Accepted(data='Ada'))]"


def test_waiting_outside_of_a_worker_thread_says_what_to_do_instead() -> None:
    async def step() -> int:
        return 1

    with pytest.raises(UsageError, match="write `await` instead"):
        ask.sync(ask.confirm("Sure?"))
    with pytest.raises(UsageError, match="write `await` instead"):
        ask.sync(step())


async def test_asking_in_another_event_loop_says_what_to_do_instead(
    revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    server = Handraise().install(MCPServer("loops"))

    @server.tool()
    async def work() -> str:
        async def name() -> str:
            return (await ask.text("Your name?")).or_stop()

        return await asyncio.to_thread(lambda: asyncio.run(name()))

    async with connect(server, revision, Person()) as client:
        with anyio.fail_after(5):
            assert text_of(await client.call_tool("work")) == UsageError.public
    assert caplog.text.count("not the event loop of the server") == 1


async def test_what_goes_wrong_while_a_plain_function_waits_is_told_as_it_is(revision: Revision) -> None:
    server = Handraise().install(MCPServer("plain"))

    def check(_: str) -> None:
        raise RuntimeError("the disk is full")

    @server.tool()
    def work() -> str:
        with pytest.raises(RuntimeError, match="disk"):
            ask.sync(ask.text("Name?", check=check))
        return "told"

    async with connect(server, revision, Person(accept(answer="x"))) as client:
        assert text_of(await client.call_tool("work")) == "told"


async def test_a_question_that_is_made_and_never_asked_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="never asked"):
        ask.text("Nobody hears this")


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
            calls = runtime_of(server).calls
            await until(lambda: not calls.running)
            retry = {"state": first["requestState"], "responses": accepted(first, answer="late")}
            assert (await rounds.call("two", {}, **retry))["isError"]
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


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
        with anyio.fail_after(60):
            await all_asked.wait()
            assert text_of(await client.call_tool("quick")) == "quick"
        others_done.set()
    assert results == ["went"] * many
    assert anyio.to_thread.current_default_thread_limiter().total_tokens < many


async def test_too_many_plain_functions_that_wait_are_refused(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_MAX_WAITING_THREADS", 1)
    server = waits_in_a_thread()
    async with connect(server, revision, Person(lambda _params: second())) as client:

        async def second() -> types.ElicitResult:
            refused = await client.call_tool("work", {"name": "two"})
            assert refused.is_error
            assert "too many questions" in text_of(refused)
            return accept(answer="went")

        assert text_of(await client.call_tool("work", {"name": "one"})) == "went"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are new in Python 3.12")
async def test_questions_are_asked_where_tasks_start_eagerly(revision: Revision) -> None:
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined, unused-ignore]
    server = Handraise().install(MCPServer("eager"))

    @server.tool()
    async def rename() -> str:
        title = await ask.text("New title?")
        both = await ask.all(sure=ask.confirm("Sure?"), really=ask.confirm("Really?"))
        return f"{title.or_stop()} {[each.or_stop() for each in both.values()]}"

    person = Person(accept(answer="b"), accept(answer=True), accept(answer=True))
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("rename")) == "b [True, True]"
