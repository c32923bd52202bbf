"""`ask`: what each question sends and gives back. `kinds/` has the same for every server, transport and revision."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, get_args

import httpx
import httpx2
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field
from tests.server.kitchen import EFFECTS, make_kitchen
from tests.server.peers import DECLINE, Person, accept, connect, text_of
from tests.server.wired import wired

from handraise import Accepted, Cancelled, Declined, Form, Handraise, NotSupported, Stale, ask, testing
from handraise.errors import (
    DefinitionError,
    HandraiseError,
    SecretInForm,
    Stopped,
    UnusableAnswer,
    UsageError,
)
from handraise.forms import DEFAULT_LIMITS, Flag, Limits, Text
from handraise.questions import Buttons, FormQuestion, QuestionHints, UrlQuestion, with_reasons
from handraise.revisions import Revision
from handraise.server.client_requests import FormRequest, Unusable, UrlRequest
from handraise.wire import REFUSALS, RefusalCode, dump_refusal, parse_question

ORDER = accept(item="tea", count=2, gift=False)
RUNS = count()


class Kitchen:
    """A client of the kitchen, and what its tools did."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.run = f"ask {next(RUNS)}"

    async def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        return await self.client.call_tool(tool, {"run": self.run, **arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        return text_of(await self.call(tool, **arguments))

    @property
    def effects(self) -> list[str]:
        return EFFECTS[self.run]


@pytest.fixture(scope="module")
def server() -> MCPServer:
    """One kitchen for all: its tools take a while to make."""
    return make_kitchen()


@asynccontextmanager
async def at(
    server: MCPServer, revision: Revision, person: Any = None, modes: str = "form url"
) -> AsyncIterator[Kitchen]:
    async with connect(server, revision, person, modes) as client:
        yield Kitchen(client)


@pytest.mark.shows("D3")
async def test_the_reason_for_a_question_is_part_of_its_message(
    server: MCPServer, revision: Revision
) -> None:
    person = Person(ORDER, accept(answer=3), accept(answer=True))
    async with at(server, revision, person) as kitchen:
        assert await kitchen.text("journey") == "paid"
    assert person.messages[2].splitlines()[1:] == ["Why: the card is charged at once"]


@pytest.mark.shows("F4")
async def test_a_confirmation_suggests_no_answer(server: MCPServer, revision: Revision) -> None:
    person = Person(accept(answer=True))
    async with at(server, revision, person) as kitchen:
        await kitchen.call("what_came", question="yes")
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestFormParams)
    assert asked.requested_schema["properties"] == {"answer": {"type": "boolean", "title": "Go ahead?"}}
    assert asked.requested_schema["required"] == ["answer"]


@pytest.mark.shows("D2c", "D2e", "O8")
async def test_a_confirmation_names_its_buttons_and_its_deadline_and_stays_one_boolean(
    revision: Revision,
) -> None:
    server = Handraise().install(MCPServer("files"))

    @server.tool()
    async def tidy() -> str:
        """Asks before it deletes."""
        question = ask.confirm("Delete 47 files?", yes="Delete 47 files", no="Keep them", timeout=30)
        return str(await question)

    person = Person(accept(answer=False))
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("tidy", {})) == "Declined(by='answer')"
    (asked,) = person.asked
    raw = asked.model_dump(by_alias=True, exclude_none=True)
    assert raw["requestedSchema"]["properties"] == {"answer": {"type": "boolean", "title": "Go ahead?"}}
    assert raw["requestedSchema"]["required"] == ["answer"]
    hints = parse_question(raw, revision).hints
    assert hints.buttons == Buttons("Delete 47 files", "Keep them")
    assert hints.expires_in is not None
    assert 0 < hints.expires_in <= 30


async def test_questions_at_once_have_typed_answers(server: MCPServer, revision: Revision) -> None:
    def answered(params: Any) -> types.ElicitResult:
        if "nights" in params.requested_schema["properties"]:
            return accept(place="Rome", nights=2)
        return accept(answer="Ada" if params.message == "Who?" else "l")

    async with at(server, revision, Person(*[answered] * 3)) as kitchen:
        told = await kitchen.text("three_at_once")
    assert told == "['Ada', <Size.LARGE: 'l'>, Trip(place='Rome', nights=2)]"


async def test_tasks_of_the_author_may_ask_too(server: MCPServer, revision: Revision) -> None:
    def answered(params: Any) -> types.ElicitResult:
        return accept(answer=params.message.replace("Number ", "n"))

    async with at(server, revision, Person(*[answered] * 3)) as kitchen:
        assert await kitchen.text("gathered") == "n0 n1 n2"
        assert kitchen.effects == ["before"]


@pytest.mark.shows("N1", "N2")
@pytest.mark.parametrize("modes", ["form", ""])
async def test_a_client_that_declares_no_mode_can_be_asked_by_forms_only(
    server: MCPServer, revision: Revision, modes: str
) -> None:
    async with at(server, revision, Person(accept(answer="fine")), modes) as kitchen:
        assert await kitchen.text("rescued") == "fine"
        assert kitchen.effects == ["no link"]


@pytest.mark.shows("N2", "N5")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_a_client_that_takes_links_only_is_never_sent_a_form(
    server: MCPServer, revision: Revision
) -> None:
    async with at(server, revision, Person(), modes="url") as kitchen:
        assert await kitchen.text("with_fallback") == "fell back to UTC"


@pytest.mark.shows("F10")
@pytest.mark.parametrize(
    ("question", "answer", "seen"),
    [
        ("order", ORDER, "Accepted(data=Order(item='tea', count=2, gift=False))"),
        ("trip", accept(place="Rome", nights=2), "Accepted(data=Trip(place='Rome', nights=2))"),
        ("size", accept(answer="s"), "Accepted(data=<Size.SMALL: 's'>)"),
        ("seat", accept(answer="2"), "Accepted(data=20)"),
        ("colour", accept(answer="red"), "Accepted(data='red')"),
        ("day", accept(answer="2026-02-28"), "Accepted(data=datetime.date(2026, 2, 28))"),
    ],
)
async def test_the_type_that_was_asked_for_comes_back(
    server: MCPServer, revision: Revision, question: str, answer: types.ElicitResult, seen: str
) -> None:
    async with at(server, revision, Person(answer)) as kitchen:
        assert await kitchen.text("what_came", question=question) == seen


@pytest.mark.shows("N6", "F10")
async def test_several_may_be_chosen_on_the_revisions_that_have_lists(
    server: MCPServer, revision: Revision
) -> None:
    async with at(server, revision, Person(accept(answer=["3", "1"]))) as kitchen:
        told = await kitchen.text("what_came", question="sizes")
    assert told == ("not_supported" if revision is Revision.JUNE_2025 else "Accepted(data=[3, 1])")


@pytest.mark.shows("N5", "N6")
@pytest.mark.parametrize("old", ["2024-11-05", "2025-03-26"])
async def test_a_client_of_a_revision_before_questions_is_not_asked(old: str) -> None:
    server = Handraise().install(MCPServer("old"))

    @server.tool()
    async def plain() -> str:
        return (await ask.text("Who?")).or_stop()

    @server.tool()
    async def prepared() -> str:
        return repr(await ask.text("Who?", fallback="nobody"))

    async with wired(server, old) as wire:
        await wire.call(1, "plain")
        await wire.call(2, "prepared")
        fallback, refused = sorted(await wire.texts(2))
        assert fallback == "Fallback(value='nobody')"
        assert "cannot be asked over this connection" in refused


@pytest.mark.shows("N5")
@pytest.mark.parametrize("option", ["json_response", "stateless_http"])
async def test_a_server_that_cannot_reach_its_clients_does_not_blame_them(option: str) -> None:
    server = Handraise().install(MCPServer("one-way"))
    reasons = []

    @server.tool()
    async def name() -> str:
        try:
            return repr(await ask.text("Who?"))
        except NotSupported as error:
            reasons.append(error.reason)
            raise

    options: dict[str, Any] = {option: True}
    app = server.streamable_http_app(**options)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as web,
    ):
        stream = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=web)
        async with connect(stream, Revision.NOVEMBER_2025, Person()) as client:
            result = text_of(await client.call_tool("name"))
    assert "cannot be asked over this connection" in result
    assert option in reasons[0]


@pytest.mark.shows("N5")
async def test_a_client_that_shows_forms_is_told_what_it_lacks() -> None:
    server = Handraise().install(MCPServer("june"))

    @server.tool()
    async def several() -> str:
        return repr(await ask.choose_many("Which?", ["a", "b"]))

    @server.tool()
    async def link() -> str:
        return repr(await ask.open("Sign in", "https://example.com/"))

    async with connect(server, Revision.JUNE_2025, Person()) as client:
        told = [text_of(await client.call_tool(name)) for name in ("several", "link")]
    assert "show a choice of several options" in told[0]
    assert "open a link" in told[1]


@pytest.mark.shows("F6", "C5")
async def test_every_problem_of_an_answer_is_told_when_it_is_asked_again(
    server: MCPServer, revision: Revision
) -> None:
    person = Person(accept(item="x", count=99), DECLINE)
    async with at(server, revision, person) as kitchen:
        await kitchen.call("what_came", question="order")
    assert "could not be used" in person.messages[1]
    assert person.messages[1].count("\n- ") == 2


@pytest.mark.shows("C5", "D2d")
async def test_a_number_at_an_exclusive_bound_is_asked_for_again_by_its_label(revision: Revision) -> None:
    class Expense(BaseModel):
        amount_eur: float = Field(gt=0, lt=10_000)

    server = Handraise().install(MCPServer("expenses"))

    @server.tool()
    async def book() -> str:
        return str((await ask("How much?", Expense)).or_stop().amount_eur)

    person = Person(accept(amount_eur=0), accept(amount_eur=10_000), accept(amount_eur=12.5))
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("book")) == "12.5"
    assert "Amount eur: Enter more than 0." in person.messages[1]
    assert "Amount eur: Enter less than 10000." in person.messages[2]


async def test_the_authors_own_check_asks_again(server: MCPServer, revision: Revision) -> None:
    person = Person(accept(answer=3), accept(answer=4))
    async with at(server, revision, person) as kitchen:
        assert await kitchen.text("picky") == "4"
    assert "The number has to be even." in person.messages[1]


@pytest.mark.shows("O5")
async def test_a_loop_that_asks_without_end_is_stopped(server: MCPServer, revision: Revision) -> None:
    async with at(server, revision, Person(*[accept(answer="on")] * 20)) as kitchen:
        result = await kitchen.call("endless")
        assert result.is_error
        assert "too many questions" in text_of(result)
        assert len(kitchen.effects) == 10


async def test_a_method_may_ask(server: MCPServer, revision: Revision) -> None:
    async with at(server, revision, Person(accept(answer="Ada"), accept(answer="Bob"))) as kitchen:
        assert [await kitchen.text("counted") for _ in range(2)] == ["Ada 1", "Bob 2"]


async def test_structured_output_after_a_question_and_a_polite_end_without(
    server: MCPServer, revision: Revision
) -> None:
    async with at(server, revision, Person(accept(answer="hello"), DECLINE)) as kitchen:
        assert (await kitchen.call("structured")).structured_content == {"answer": "hello"}
        stopped = await kitchen.call("structured")
        assert (stopped.is_error, text_of(stopped)) == (True, "Then not.")


async def test_the_sdks_own_resolvers_work_beside_ask(server: MCPServer, revision: Revision) -> None:
    async with at(server, revision, Person(accept(sure=True), accept(answer="both"))) as kitchen:
        assert await kitchen.text("resolved") == "both"
        assert kitchen.effects.count("sure True") == 1


async def test_a_tool_that_never_asks_is_served_as_ever(server: MCPServer, revision: Revision) -> None:
    async with at(server, revision) as kitchen:
        assert await kitchen.text("quiet") == "quiet"
        assert kitchen.effects == ["ran"]


async def test_a_crash_after_a_question_stays_the_sdks_to_report(
    server: MCPServer, revision: Revision
) -> None:
    async with at(server, revision, Person(accept(answer="yes"))) as kitchen:
        result = await kitchen.call("crashes")
        assert result.is_error
        assert text_of(result).startswith("Error executing tool crashes")  # and what follows is up to the SDK


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


@pytest.mark.shows("N2")
@pytest.mark.parametrize(("tool", "needs"), [("where", "roots"), ("drafted", "sampling")])
async def test_a_client_is_told_which_capability_is_missing(
    server: MCPServer, revision: Revision, tool: str, needs: str
) -> None:
    async with at(server, revision, Person()) as kitchen:
        if revision.legacy:
            assert f"a client that supports {needs}" in await kitchen.text(tool)
            return
        with pytest.raises(MCPError) as refused:
            await kitchen.call(tool)
    assert refused.value.data == {"requiredCapabilities": {needs: {}}}


@pytest.mark.shows("C7")
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


@pytest.mark.shows("O6")
async def test_an_answer_is_not_used_when_the_world_changed_while_the_person_thought(
    revision: Revision,
) -> None:
    server, notes = Handraise().install(MCPServer("stale")), {"plans"}

    @server.tool()
    async def delete() -> str:
        def still_there() -> str | None:
            return None if "plans" in notes else "The note is gone."

        try:
            answer = await ask.confirm("Delete the note?", still=still_there)
        except Stale as changed:
            return f"stale: {changed.reason}"
        return "deleted" if isinstance(answer, Accepted) else "kept"

    def gone(_params: Any) -> types.ElicitResult:
        notes.clear()
        return accept(answer=True)

    async with connect(server, revision, Person(accept(answer=True), gone)) as client:
        assert text_of(await client.call_tool("delete")) == "deleted"
        assert text_of(await client.call_tool("delete")) == "stale: The note is gone."


@pytest.mark.shows("S1")
async def test_questions_that_ask_for_a_card_together_are_refused(revision: Revision) -> None:
    server = Handraise().install(MCPServer("shop"))

    @server.tool()
    async def pay() -> str:
        await ask.text("How do we reach you?")
        for message, title in (("Step 1", "16 digits"), ("Step 2, for the payment", "Three digits")):
            await ask(message, Form.by_hand(Text("n", title=title)))
        return "paid"

    person = Person(accept(answer="by mail"), accept(n="1" * 16), accept(n="123"))
    async with connect(server, revision, person) as client:
        result = await client.call_tool("pay", {})
    assert text_of(result).startswith("This server tried to ask for a secret in a form")
    assert person.messages == ["How do we reach you?", "Step 1"]


@pytest.mark.shows("O10")
@pytest.mark.parametrize("framework", ["MCPServer", "FastMCP"])
@pytest.mark.parametrize("answer", [Declined(), Cancelled(), Accepted(False)])
async def test_a_polite_end_claims_nothing_about_the_tool_and_is_no_failure_in_the_log(
    framework: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)  # the SDK calls a tool failed at this level
    made: Any = MCPServer("desk") if framework == "MCPServer" else FastMCP("desk")
    server = Handraise().install(made)

    @server.tool()  # type: ignore[untyped-decorator]
    async def tidy() -> str:
        """Does one thing before it asks."""
        (await ask.confirm("Go on?")).or_stop()
        return "tidied"

    async with testing.connect(server, "2026-07-28", testing.ScriptedPerson(answer)) as client:
        said = text_of(await client.call_tool("tidy", {}))
    assert said.startswith("The person")
    assert "nothing was done" not in said.lower()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not [line for line in caplog.messages if "failed" in line or "rror" in line]


@pytest.mark.shows("O10")
@pytest.mark.parametrize("error", [Stale, UnusableAnswer, Stopped])
def test_no_sentence_after_a_question_claims_that_nothing_was_done(error: type[HandraiseError]) -> None:
    assert "nothing was done" not in error.public.lower()


@pytest.mark.shows("D2f")
async def test_the_size_of_a_question_can_be_limited_on_a_server(caplog: pytest.LogCaptureFixture) -> None:
    server = Handraise(limits=Limits(fields=1, options=2, message=100)).install(MCPServer("small"))

    @server.tool()
    async def large(which: str) -> str:
        """Asks too much."""
        questions: dict[str, Callable[[], Any]] = {
            "fields": lambda: ask("Who?", Form.by_hand(Text("a"), Text("b"))),
            "options": lambda: ask.choose("Which?", ["a", "b", "c"]),
            "message": lambda: ask.text("é" * 51),
        }
        questions[which]()
        return "fits"

    async with connect(server, Revision.JULY_2026, Person()) as client:
        for which, allowed in (("fields", 1), ("options", 2), ("message", 100)):
            caplog.clear()
            assert text_of(await client.call_tool("large", {"which": which})) == DefinitionError.public
            assert f"{allowed} are allowed" in caplog.text


async def test_a_question_at_the_limit_can_be_asked_again(revision: Revision) -> None:
    server = Handraise().install(MCPServer("long"))
    longest = "x" * DEFAULT_LIMITS.message

    @server.tool()
    async def exact() -> str:
        """Asks with as many words as there may be."""
        return (await ask.text(longest, max_length=3)).or_stop()

    person = Person(accept(answer="four"), accept(answer="two"))
    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("exact", {})) == "two"
    assert max(len(message.encode()) for message in person.messages) <= DEFAULT_LIMITS.message


def test_reasons_are_cut_to_what_is_left_of_the_message() -> None:
    assert with_reasons("Who?", ["Too long."], 1000).endswith("\n- Too long.")
    cut = with_reasons("Who?", ["ü" * 50], 80)
    assert len(cut.encode()) <= 80
    assert cut.endswith("ü…")
    assert with_reasons("Who?", ["Too long."], 4) == "Who?"


@pytest.mark.shows("D2d")
async def test_what_was_right_comes_back_on_every_revision(revision: Revision) -> None:
    server = Handraise().install(MCPServer("again"))

    @server.tool()
    async def trip() -> str:
        """Asks for two things."""
        return str((await ask("Where to?", Form.by_hand(Text("city"), Text("code", max_length=3)))).or_stop())

    person = Person(accept(city="Graz", code="long"), accept(city="Graz", code="GRZ"))
    async with connect(server, revision, person) as client:
        await client.call_tool("trip", {})
    raw = [each.model_dump(by_alias=True, exclude_none=True) for each in person.asked]
    first, second = (parse_question(each, revision) for each in raw)
    assert (first.hints.last_answer, second.hints.last_answer) == ({}, {"city": "Graz"})
    defaults = [each["requestedSchema"]["properties"]["city"].get("default") for each in raw]
    assert defaults == [None, None if revision is Revision.JUNE_2025 else "Graz"]  # for every client


@pytest.mark.shows("D2d")
async def test_a_check_of_the_only_field_objects_at_that_field_and_keeps_what_was_typed() -> None:
    server = Handraise().install(MCPServer("again"))

    @server.tool()
    async def trip() -> str:
        """Asks for one thing."""
        return (await ask.text("Where to?", check=lambda city: city != "Gratz" or "No such city.")).or_stop()

    person = Person(accept(answer="Gratz"), accept(answer="Graz"))
    async with connect(server, Revision.JULY_2026, person) as client:
        await client.call_tool("trip", {})
    raw = person.asked[1].model_dump(by_alias=True, exclude_none=True)
    hints = parse_question(raw, Revision.JULY_2026).hints
    assert (hints.problems, hints.last_answer) == ((("answer", "No such city."),), {"answer": "Gratz"})


async def test_a_guard_that_asks_again_suggests_nothing_to_type() -> None:
    typed = FormQuestion("Delete 47 files?", Form.by_hand(Text("typed")), hints=QuestionHints(guard=True))
    again = Unusable(("Mistyped.",), problems=(("typed", "Mistyped."),), right={"typed": "46"})
    params = FormRequest[Any](typed).dump(Revision.JULY_2026, 3, again)["params"]
    assert "default" not in params["requestedSchema"]["properties"]["typed"]
    assert parse_question(params, Revision.JULY_2026).hints.last_answer == {}


async def test_a_link_that_is_shown_again_says_how_much_time_is_left() -> None:
    request = UrlRequest(UrlQuestion("Look", "https://example.com", "id"), deadline=time.monotonic() + 5)
    params = request.dump(Revision.JULY_2026, 300, Unusable(("Not yet.",)))["params"]
    assert 0 < params["_meta"]["handraise/question"]["expiresIn"] <= 5
    over = UrlRequest(UrlQuestion("Look", "https://example.com", "id"), deadline=time.monotonic() - 5)
    assert over.dump(Revision.JULY_2026, 300)["params"]["_meta"]["handraise/question"]["expiresIn"] == 0


@pytest.mark.shows("D2d")
def test_on_2025_06_18_our_desks_get_right_values_that_the_schema_cannot_carry() -> None:
    request = FormRequest[Any](FormQuestion("Where to?", Form.by_hand(Text("city"), Flag("soon"))))
    again = Unusable(("Too late.",), right={"city": "Graz", "soon": True})
    params = request.dump(Revision.JUNE_2025, 3, again)["params"]
    assert "default" not in params["requestedSchema"]["properties"]["city"]
    assert parse_question(params, Revision.JUNE_2025).hints.last_answer == {"city": "Graz", "soon": True}


@pytest.mark.shows("O9", "D2f")
@pytest.mark.parametrize("code", get_args(RefusalCode))
async def test_a_question_that_no_person_was_shown_is_no_cancel(
    revision: Revision, code: RefusalCode
) -> None:
    server = Handraise().install(MCPServer("files"))

    @server.tool()
    async def tidy() -> str:
        """Tells what it believes."""
        try:
            return repr(await ask.confirm("Delete 47 files?"))
        except HandraiseError as error:
            return f"{type(error).__name__}: {error.reason}"

    told: Any = types.ElicitResult.model_validate({"action": "cancel", "_meta": dump_refusal(code)})
    async with connect(server, revision, Person(told)) as client:
        said = text_of(await client.call_tool("tidy", {}))
    if code == "expired":
        assert said.startswith("Expired: ")
    else:
        assert said == f"Failed: nobody was asked: {REFUSALS[code]}"


@pytest.mark.shows("N5")
@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (types.ErrorData(code=-32601, message="no such method"), "Fallback(value='nobody')"),
        (types.ErrorData(code=-32602, message="unknown mode"), "Fallback(value='nobody')"),
        (types.ErrorData(code=-32603, message="broken"), "Failed"),
        (DECLINE, "Declined(by='action')"),
    ],
)
async def test_a_fallback_is_for_clients_that_cannot_ask_and_for_nothing_else(
    answer: Any, given: str
) -> None:
    server = Handraise().install(MCPServer("clock"))

    @server.tool()
    async def zone() -> str:
        """Asks for the zone."""
        try:
            return repr(await ask.text("Which zone?", fallback="nobody"))
        except HandraiseError as error:
            return type(error).__name__

    async def person(context: Any, params: Any) -> Any:
        return answer

    async with connect(server, Revision.NOVEMBER_2025, person) as client:
        assert text_of(await client.call_tool("zone", {})) == given
