"""Every kind of server asks alike, from tools, prompts and resources, on every revision and over every transport."""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
import pytest
from tests.server.conftest import JUNE, NOVEMBER, Place, cells, everywhere
from tests.server.kinds.servers import made, target_of
from tests.server.kinds.ways import WAYS, Ended
from tests.server.peers import CANCEL, DECLINE, Person, accept, text_of
from tests.server.wired import wired

from handraise.errors import UnusableAnswer
from handraise.revisions import Revision


@pytest.mark.shows("C1", "C4", "C7", "N6")
@everywhere
async def test_questions_come_in_order_and_effects_happen_once(place: Place) -> None:
    person = Person(*[accept(answer="Ada"), accept(answer=True)] * len(WAYS))
    async with place.client(person) as client:
        for way, run in place.runs():
            assert await way.call(client, "pay", run) == "Ada accept"
            assert await place.did(client, run) == "before, between"
    shown = [re.sub(r"\d+", "", message) for message in person.messages]
    assert shown == ["To whom? ()\nIf you decline: Nothing is paid.", "Really? ()"] * len(WAYS)


@pytest.mark.shows("C1", "O5")
@everywhere
async def test_five_in_a_chain_three_at_once_one_after_a_caught_exception_and_one_sent_early(
    place: Place,
) -> None:
    def counted(params: Any) -> types.ElicitResult:
        return accept(answer=params.message.replace("Number ", "n").rstrip("?"))

    chain = [accept(answer=number) for number in range(5)]
    person = Person(*[*chain, *[counted] * 3, accept(answer="me"), accept(answer="on")] * len(WAYS))
    async with place.client(person) as client:
        for (way, run), (_, other) in zip(place.runs(), place.runs("-other"), strict=True):
            assert await way.call(client, "chain", run) == "0 1 2 3 4"
            assert await way.call(client, "three", other) == "n1 n2 n3"
            assert await way.call(client, "rescued", other) == "me"
            assert await way.call(client, "early", other) == "on"
            assert await place.did(client, other) == "before, after, no model, Go on?"


@pytest.mark.shows("O1", "O3")
@everywhere
async def test_every_answer_reaches_the_body_as_what_it_is(place: Place) -> None:
    answers = [accept(answer=True), accept(answer=False), DECLINE, CANCEL]
    seen = ["Accepted(data=True)", "Declined(by='answer')", "Declined(by='action')", "Cancelled()"]
    async with place.client(Person(*answers * len(WAYS))) as client:
        for way, run in place.runs():
            assert [await way.call(client, "told", run) for _ in answers] == seen


@pytest.mark.shows("C5", "F6")
@everywhere
async def test_an_answer_that_does_not_fit_is_asked_again_with_the_reasons_and_not_forever(
    place: Place,
) -> None:
    fits = [accept(answer=number) for number in range(1, 5)]
    unfit = [accept(answer="two")]
    person = Person(*[accept(answer=0), *unfit * 3, *fits, *unfit * 4] * len(WAYS))
    async with place.client(person) as client:
        for way, run in place.runs():
            assert await way.call(client, "chain", run) == "0 1 2 3 4"
            assert await way.ending(client, "chain", f"{run}-never") == UnusableAnswer.public
            assert await place.did(client, f"{run}-never") == ""
    for asked in range(0, len(person.messages), 12):
        first, *_, last = person.messages[asked + 8 : asked + 12]
        assert first == "Next?"
        assert "could not be used" in last


@pytest.mark.shows("N5", "N2")
@everywhere
async def test_a_client_that_cannot_be_asked_is_not_and_the_author_may_have_a_value_for_it(
    place: Place,
) -> None:
    async with place.client() as client:
        for way, run in place.runs():
            assert await way.call(client, "careful", run) == "fell back to UTC"
            with pytest.raises(Ended) as ended:
                await way.call(client, "wait", run)
            assert ended.value.sentence.startswith("This needs an answer from the person")
            if place.revision.modern:
                assert ended.value.code == -32021
                assert ended.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
            else:
                assert (ended.value.code is None) == (way.method == "tools/call")
            assert await place.did(client, run) == "not_supported, finally"


@cells(kind=lambda kind: kind != "lowlevel")  # its handlers are coroutines
async def test_a_plain_function_asks(place: Place) -> None:
    async with place.client(Person(accept(answer="b"))) as client:
        assert text_of(await client.call_tool("plainly", {"run": place.run})) == "b"
        assert await place.did(client, place.run) == "before"


@everywhere
async def test_progress_goes_to_the_request_that_is_live(place: Place) -> None:
    seen: list[str | None] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        if message in ("before", "between", "after"):  # and not that somebody is waited for
            seen.append(message)

    async with place.client(Person(*[accept(answer="y")] * 2)) as client:
        result = await client.call_tool("reports", {"run": place.run}, progress_callback=watch)
        assert text_of(result) == ("another" if place.revision.modern else "the same")
    # FastMCP alone, without us, reports nothing there: in memory the SDK has no token for it.
    unheard = place.cell.transport == "memory" and place.cell.kind == "fastmcp" and place.revision.modern
    assert seen == ([] if unheard else ["before", "between", "after"])


@pytest.mark.shows("X4")
@pytest.mark.parametrize(
    ("kind", "revision"), [("mcpserver", NOVEMBER), ("lowlevel", JUNE), ("fastmcp", NOVEMBER)], ids=str
)
async def test_a_legacy_call_that_is_dispatched_twice_asks_once(kind: str, revision: Revision) -> None:
    async with wired(target_of(made(kind)), revision) as wire:
        for way in WAYS:
            for _ in range(2):
                await wire.send(id=str(way), method=way.method, params=way.params("told", "twice"))
            question = await wire.question()
            await wire.answer(question, answer=True)
            results = [(await wire.receive())["result"] for _ in range(2)]
            assert [way.text(result) for result in results] == ["Accepted(data=True)"] * 2
            await wire.send(id=f"{way} again", method=way.method, params=way.params("told", "twice"))
            another = await wire.question()
            assert another["id"] != question["id"]
            await wire.answer(another, answer=True)
            await wire.receive()


async def _roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///a")])  # type: ignore[arg-type]


async def _model(_context: Any, _params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="Hello!")
    return types.CreateMessageResult(role="assistant", content=said, model="m")


@pytest.mark.shows("U7", "C7")
@everywhere
async def test_roots_the_model_and_a_question_in_one_body(place: Place) -> None:
    asked = {"list_roots_callback": _roots, "sampling_callback": _model}
    async with place.client(Person(*[accept(answer="file:///a")] * len(WAYS)), **asked) as client:
        for way, run in place.runs():
            assert await way.call(client, "where", run) == "Hello! file:///a"


@pytest.mark.shows("N2", "N5")
@everywhere
async def test_a_client_without_roots_or_a_model_is_not_asked_for_them(place: Place) -> None:
    for callbacks in ({}, {"list_roots_callback": _roots}):
        async with place.client(Person(), **callbacks) as client:
            for way, run in place.runs():
                with pytest.raises(Ended) as ended:
                    await way.call(client, "where", run)
                assert (ended.value.code == -32021) == place.revision.modern


@pytest.mark.shows("C1")
@everywhere
async def test_a_step_between_questions_is_done_once(place: Place) -> None:
    person = Person(*[accept(answer="1"), accept(answer="2")] * len(WAYS) * 2)
    async with place.client(person) as client:
        for body in ("stepped", "again"):
            for way, run in place.runs(f"-{body}"):
                assert await way.call(client, body, run) == "1 2"
                assert await place.did(client, run) == "1"
