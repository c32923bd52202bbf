"""Asking inside a body: the same code on every revision, over every transport."""

from __future__ import annotations

from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.conftest import Place
from tests.server.kitchen import make_kitchen
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, connect, text_of

from handraise import Form, Handraise, ask
from handraise.errors import SecretInForm, UsageError
from handraise.forms import Text
from handraise.revisions import Revision

ORDER = accept(item="tea", count=2, gift=False)


@pytest.mark.shows("C1", "C4", "D3", "N6")
async def test_questions_come_in_order_and_effects_happen_once(place: Place) -> None:
    person = Person(ORDER, accept(answer=3), accept(confirm=True))
    async with place.client(person) as client:
        result = await client.call_tool("journey", {"run": place.run})
        assert text_of(result) == "paid"
        assert await place.effects(client) == ["before", "reserved 2 tea", "nights 3", "paid"]
    assert [message.split(" (")[0] for message in person.messages] == [
        "What shall it be?",
        "How many nights?",
        "Pay now?",
    ]
    assert person.messages[2].endswith("Why: the card is charged at once")


@pytest.mark.shows("O1", "O3")
@pytest.mark.parametrize(("answer", "told"), [(DECLINE, "order: decline"), (CANCEL, "order: cancel")])
async def test_decline_and_cancel_reach_the_body_as_different_values(
    place: Place, answer: types.ElicitResult, told: str
) -> None:
    async with place.client(Person(answer)) as client:
        result = await client.call_tool("journey", {"run": place.run})
        assert text_of(result) == told
        assert not result.is_error
        assert await place.effects(client) == ["before"]


@pytest.mark.shows("O1")
async def test_answering_a_confirmation_with_no_is_a_decline_by_answer(place: Place) -> None:
    async with place.client(Person(ORDER, accept(answer=0), accept(confirm=False))) as client:
        assert text_of(await client.call_tool("journey", {"run": place.run})) == "declined by answer"


@pytest.mark.shows("F4")
async def test_a_confirmation_suggests_no_answer(revision: Revision) -> None:
    person = Person(accept(confirm=True))
    async with connect(make_kitchen(), revision, person) as client:
        await client.call_tool("what_came", {"run": "unbiased", "question": "yes"})
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestFormParams)
    assert asked.requested_schema["properties"] == {"confirm": {"type": "boolean", "title": "Go ahead?"}}
    assert asked.requested_schema["required"] == ["confirm"]


@pytest.mark.shows("O5")
async def test_five_questions_in_a_chain(place: Place) -> None:
    person = Person(*(accept(answer=f"a{number}") for number in range(5)))
    async with place.client(person) as client:
        result = await client.call_tool("chain", {"run": place.run, "length": 5})
        assert text_of(result) == "a0, a1, a2, a3, a4"
        assert await place.effects(client) == ["a0", "a1", "a2", "a3", "a4"]


async def test_three_questions_at_once(place: Place) -> None:
    def answered(params: Any) -> types.ElicitResult:
        names = list(params.requested_schema["properties"])
        return accept(place="Rome", nights=2) if "nights" in names else _one(params)

    person = Person(answered, answered, answered)
    async with place.client(person) as client:
        result = await client.call_tool("three_at_once", {"run": place.run})
        assert text_of(result) == "['Ada', <Size.LARGE: 'l'>, Trip(place='Rome', nights=2)]"
        assert await place.effects(client) == ["before", "after"]


def _one(params: Any) -> types.ElicitResult:
    return accept(answer="Ada" if params.message == "Who?" else "l")


async def test_tasks_of_the_author_may_ask_too(place: Place) -> None:
    def answered(params: Any) -> types.ElicitResult:
        return accept(answer=params.message.replace("Number ", "n"))

    async with place.client(Person(answered, answered, answered)) as client:
        assert text_of(await client.call_tool("gathered", {"run": place.run})) == "n0 n1 n2"
        assert await place.effects(client) == ["before"]


@pytest.mark.shows("C1", "N1", "N2")
@pytest.mark.parametrize("modes", ["form", ""])
async def test_a_question_after_an_exception_that_the_body_caught(place: Place, modes: str) -> None:
    """`elicitation: {}` is form only, so the link is never sent."""
    async with place.client(Person(accept(answer="fine")), modes=modes) as client:
        assert text_of(await client.call_tool("rescued", {"run": place.run})) == "fine"
        assert await place.effects(client) == ["no link"]


@pytest.mark.shows("F10")
@pytest.mark.parametrize(
    ("question", "answer", "seen"),
    [
        ("order", ORDER, "Accepted(data=Order(item='tea', count=2, gift=False))"),
        ("trip", accept(place="Rome", nights=2), "Accepted(data=Trip(place='Rome', nights=2))"),
        ("size", accept(answer="s"), "Accepted(data=<Size.SMALL: 's'>)"),
        ("seat", accept(answer="2"), "Accepted(data=20)"),
        ("colour", accept(answer="red"), "Accepted(data='red')"),
        ("yes", accept(confirm=True), "Accepted(data=True)"),
        ("day", accept(value="2026-02-28"), "Accepted(data=datetime.date(2026, 2, 28))"),
    ],
)
async def test_the_type_that_was_asked_for_comes_back(
    revision: Revision, question: str, answer: types.ElicitResult, seen: str
) -> None:
    from tests.server.kitchen import make_kitchen

    async with connect(make_kitchen(), revision, Person(answer)) as client:
        result = await client.call_tool("what_came", {"run": "types", "question": question})
        assert text_of(result) == seen


@pytest.mark.shows("N6", "F10")
async def test_several_may_be_chosen_on_the_revisions_that_have_lists(revision: Revision) -> None:
    async with connect(make_kitchen(), revision, Person(accept(answer=["3", "1"]))) as client:
        result = await client.call_tool("what_came", {"run": "lists", "question": "sizes"})
    listed = revision is not Revision.JUNE_2025
    assert text_of(result) == ("Accepted(data=[3, 1])" if listed else "not_supported")


@pytest.mark.shows("F6", "C5")
async def test_an_answer_that_does_not_fit_is_asked_again_with_the_reasons(place: Place) -> None:
    person = Person(accept(item="x", count=99), ORDER, accept(answer=1), accept(confirm=True))
    async with place.client(person) as client:
        assert text_of(await client.call_tool("journey", {"run": place.run})) == "paid"
        assert await place.effects(client) == ["before", "reserved 2 tea", "nights 1", "paid"]
    assert "could not be used" in person.messages[1]
    assert person.messages[1].count("\n- ") == 2


@pytest.mark.shows("C5")
async def test_an_answer_that_never_fits_ends_in_a_clear_tool_error(place: Place) -> None:
    person = Person(*(accept(item="x", count=99) for _ in range(9)))
    async with place.client(person) as client:
        result = await client.call_tool("journey", {"run": place.run})
        assert result.is_error
        assert "did not fit the form" in text_of(result)
        assert await place.effects(client) == ["before"]
    assert len(person.asked) == 4


async def test_the_authors_own_check_asks_again(place: Place) -> None:
    person = Person(accept(answer=3), accept(answer=4))
    async with place.client(person) as client:
        assert text_of(await client.call_tool("picky", {"run": place.run})) == "4"
    assert "The number has to be even." in person.messages[1]


@pytest.mark.shows("N2", "N5")
async def test_a_client_that_cannot_be_asked_is_never_asked(place: Place) -> None:
    async with place.client() as client:
        if place.revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("uncaught", {"run": place.run})
            assert refused.value.code == -32021
            assert refused.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        else:
            result = await client.call_tool("uncaught", {"run": place.run})
            assert result.is_error
            assert "cannot be asked" in text_of(result)
        assert await place.effects(client) == ["finally"]


@pytest.mark.shows("N2")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_a_client_that_takes_links_only_is_never_sent_a_form(revision: Revision) -> None:
    async with connect(make_kitchen(), revision, Person(), modes="url") as client:
        assert text_of(await client.call_tool("with_fallback", {"run": "links only"})) == "fell back to UTC"


@pytest.mark.shows("N5")
async def test_the_error_for_a_missing_capability_has_http_status_400() -> None:
    app = make_kitchen().streamable_http_app()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "uncaught", "arguments": {"run": "400"}, "_meta": meta}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "uncaught",
    }
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8000") as web,
    ):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        response = await web.post("/mcp", json=call, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32021


@pytest.mark.shows("N5")
async def test_a_fallback_is_not_an_answer(place: Place) -> None:
    async with place.client() as client:
        assert text_of(await client.call_tool("with_fallback", {"run": place.run})) == "fell back to UTC"
    async with place.client(Person(accept(answer="CET"))) as client:
        assert text_of(await client.call_tool("with_fallback", {"run": place.run})) == "asked: CET"


@pytest.mark.shows("O5")
async def test_a_loop_that_asks_without_end_is_stopped(place: Place) -> None:
    person = Person(*(accept(answer="on") for _ in range(20)))
    async with place.client(person) as client:
        result = await client.call_tool("endless", {"run": place.run})
        assert result.is_error
        assert "too many questions" in text_of(result)
        assert len(await place.effects(client)) == 10


async def test_a_plain_function_may_ask(place: Place) -> None:
    async with place.client(Person(accept(answer="b"))) as client:
        assert text_of(await client.call_tool("plain_def", {"run": place.run})) == "b"
        assert await place.effects(client) == ["before", "after"]


async def test_a_method_may_ask(place: Place) -> None:
    """On its own object, whose count of this run begins at one."""
    async with place.client(Person(accept(answer="Ada"), accept(answer="Bob"))) as client:
        for told in ("Ada 1", "Bob 2"):
            assert text_of(await client.call_tool("counted", {"run": place.run})) == told


async def test_structured_output_after_a_question_and_a_polite_end_without(place: Place) -> None:
    async with place.client(Person(accept(answer="hello"), DECLINE)) as client:
        result = await client.call_tool("structured", {"run": place.run})
        assert result.structured_content == {"answer": "hello"}
        stopped = await client.call_tool("structured", {"run": place.run})
        assert stopped.is_error
        assert text_of(stopped) == "Then not."


async def test_progress_goes_to_the_request_that_is_live(place: Place) -> None:
    seen: list[tuple[float, str | None]] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, message))

    async with place.client(Person(accept(answer="y"), accept(answer="y"))) as client:
        result = await client.call_tool("with_progress", {"run": place.run}, progress_callback=watch)
        first, last = text_of(result).split()
    assert [message for _, message in seen] == ["before", "between", "after"]
    assert (first != last) == place.revision.modern


async def test_the_sdks_own_resolvers_work_beside_ask(place: Place) -> None:
    async with place.client(Person(accept(sure=True), accept(answer="both"))) as client:
        assert text_of(await client.call_tool("resolved", {"run": place.run})) == "both"
        effects = await place.effects(client)
        assert effects.count("sure True") == 1


async def test_a_step_that_is_done_once_is_not_done_again(place: Place) -> None:
    async with place.client(Person(accept(answer="no"))) as client:
        assert text_of(await client.call_tool("paid_once", {"run": place.run})) == "receipt 1 receipt 1"
        assert await place.effects(client) == ["charged"]


async def test_a_tool_that_never_asks_is_served_as_ever(place: Place) -> None:
    async with place.client() as client:
        assert text_of(await client.call_tool("quiet", {"run": place.run})) == "quiet"
        assert await place.effects(client) == ["ran"]


async def test_a_crash_after_a_question_stays_the_sdks_to_report(place: Place) -> None:
    async with place.client(Person(accept(answer="yes"))) as client:
        result = await client.call_tool("crashes", {"run": place.run})
        assert result.is_error
        assert text_of(result).startswith("Error executing tool crashes")  # and what follows is up to the SDK


@pytest.mark.shows("C7")
async def test_a_prompt_may_ask(place: Place) -> None:
    async with place.client(Person(accept(answer="Ada"))) as client:
        result = await client.get_prompt("introduce", {"run": place.run})
        assert result.messages[0].content.text == "Introduce Ada."  # type: ignore[union-attr]
        assert await place.effects(client) == ["before"]


@pytest.mark.shows("C7")
async def test_a_resource_template_may_ask(place: Place) -> None:
    async with place.client(Person(accept(answer="v2"))) as client:
        result = await client.read_resource("note://plans")
        assert result.contents[0].text == "plans: v2"  # type: ignore[union-attr]


@pytest.mark.shows("C7", "N5")
async def test_a_prompt_that_cannot_ask_ends_with_a_protocol_error(place: Place) -> None:
    async with place.client() as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("introduce", {"run": place.run})
    assert refused.value.code == (-32021 if place.revision.modern else -32603)
    assert "cannot be asked" in refused.value.message


async def test_roots_and_a_question_in_one_body(place: Place) -> None:
    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(
            roots=[types.Root(uri="file:///a", name="A"), types.Root(uri="file:///b")]  # type: ignore[arg-type]
        )

    async with place.client(Person(accept(answer="file:///b")), list_roots_callback=roots) as client:
        assert text_of(await client.call_tool("where", {"run": place.run})) == "file:///b"


@pytest.mark.shows("U7")
async def test_the_clients_model_and_a_question_in_one_body(place: Place) -> None:
    async def model(_context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="Hello!"), model="m"
        )

    person = Person(accept(confirm=True))
    async with place.client(person, sampling_callback=model) as client:
        assert text_of(await client.call_tool("drafted", {"run": place.run})) == "Hello!"
        assert person.messages == ["Send this? Hello!"]
        assert await place.effects(client) == ["drafted"]


@pytest.mark.shows("N2")
async def test_roots_are_not_asked_of_a_client_that_has_none(place: Place) -> None:
    async with place.client(Person()) as client:
        if place.revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("where", {"run": place.run})
            assert refused.value.data == {"requiredCapabilities": {"roots": {}}}
        else:
            assert (await client.call_tool("where", {"run": place.run})).is_error


@pytest.mark.shows("N2")
async def test_the_model_is_not_asked_of_a_client_that_lends_none(revision: Revision) -> None:
    async with connect(make_kitchen(), revision, Person()) as client:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("drafted", {"run": "no model"})
            assert refused.value.data == {"requiredCapabilities": {"sampling": {}}}
        else:
            result = await client.call_tool("drafted", {"run": "no model"})
            assert "cannot be asked" in text_of(result)


@pytest.mark.shows("C7")
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_a_completion_cannot_ask(revision: Revision) -> None:
    server: Any = Handraise().install(MCPServer("letters"))
    raised: list[UsageError] = []

    async def complete(_ref: Any, _argument: Any, _context: Any) -> None:
        with pytest.raises(UsageError, match="inside a tool, prompt or resource") as caught:
            await ask.text("Which one?")
        raised.append(caught.value)

    server.completion()(complete)
    person = Person()
    async with connect(server, revision, person) as client:
        await client.complete(types.PromptReference(name="letter"), {"name": "to", "value": "A"})
    assert raised
    assert not person.asked


@pytest.mark.shows("S1", "S2")
@pytest.mark.parametrize("name", ["password", "api_key", "card_number", "ssn"])
async def test_a_form_that_asks_for_a_secret_is_refused_where_the_question_is_made(name: str) -> None:
    with pytest.raises(SecretInForm, match=rf"{name}.*ask\.secret") as refused:
        ask("Please fill this in", Form.by_hand(Text(name)))
    assert refused.value.field == name
