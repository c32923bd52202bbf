"""Every kind of server asks alike, on every revision, over memory, stdio and HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import StdioServerParameters
from mcp.shared.exceptions import MCPError
from tests.server.conftest import Place
from tests.server.kinds import KINDS, LINK, target_of
from tests.server.peers import CANCEL, DECLINE, ROOT, Person, accept, http_server, text_of
from tests.server.rounds import by_hand

from handraise.revisions import Revision

ACCEPT = types.ElicitResult(action="accept")


@pytest.fixture(scope="session")
def kinds_url() -> Iterator[str]:
    with http_server("tests.server.kinds") as url:
        yield url


@cache
def in_this_process(kind: str) -> Any:
    """One server of a kind for all: its tools take a while to make."""
    return target_of(KINDS[kind]())


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def here(kind: str, revision: Revision) -> Place:
    """In this process."""
    return Place("memory", revision, lambda: in_this_process(kind))


@pytest.fixture(
    params=[
        "memory",
        pytest.param("stdio", marks=pytest.mark.slow),
        pytest.param("http", marks=pytest.mark.slow),
    ]
)
def place(request: pytest.FixtureRequest, kind: str, revision: Revision) -> Place:
    transport: str = request.param
    if transport == "memory":
        return Place(transport, revision, lambda: in_this_process(kind))
    if transport == "stdio":
        command = str(request.getfixturevalue("programs") / "python")
        served = StdioServerParameters(
            command=command,
            args=["tests/server/kinds.py", "stdio", kind],
            cwd=ROOT,
            env={"FASTMCP_LOG_LEVEL": "CRITICAL"},
        )
        return Place(transport, revision, lambda: served)
    url = request.getfixturevalue("kinds_url").replace("/mcp", f"/{kind}/mcp")
    return Place(transport, revision, lambda: url)


async def effects(place: Place, client: Any) -> str:
    return text_of(await client.call_tool("effects", {"run": place.run}))


only_mcpserver = pytest.mark.parametrize("kind", ["mcpserver"])
but_mcpserver = pytest.mark.parametrize("kind", ["lowlevel", "fastmcp"])  # which is the kitchen


@pytest.mark.shows("C1", "N6")
@but_mcpserver
async def test_a_body_asks_in_a_row_at_once_and_again(place: Place) -> None:
    def counted(params: Any) -> types.ElicitResult:
        return accept(answer=params.message.replace("Number ", "n").rstrip("?"))

    in_a_row = accept(answer="Ada"), accept(confirm=True)
    chained = accept(answer=1), accept(answer="two"), accept(answer=2)
    person = Person(*in_a_row, counted, counted, counted, *chained)
    async with place.client(person) as client:
        assert text_of(await client.call_tool("pay", {"run": place.run})) == "Ada accept"
        assert await effects(place, client) == "before, between"
        assert text_of(await client.call_tool("three", {"run": place.run})) == "n1 n2 n3"
        assert await effects(place, client) == "before, between, before, after"
        assert text_of(await client.call_tool("chain", {"run": f"{place.run}-chain", "length": 2})) == "1 2"
    assert person.messages[:2] == ["To whom?\n\nIf you decline: Nothing is paid.", "Really?"]
    assert "could not be used" in person.messages[-1]


@pytest.mark.shows("C7")
@but_mcpserver
async def test_prompts_and_resources_ask(place: Place) -> None:
    async with place.client(Person(accept(answer="Ada"), accept(answer="v2"))) as client:
        prompt = await client.get_prompt("introduce", {"run": place.run})
        assert prompt.messages[0].content.text == "Introduce Ada."  # type: ignore[union-attr]
        read = await client.read_resource("note://plans")
        assert read.contents[0].text == "plans: v2"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["fastmcp"])
async def test_a_plain_function_asks(here: Place) -> None:
    async with here.client(Person(accept(answer="b"))) as client:
        assert text_of(await client.call_tool("plainly", {"run": here.run})) == "b"
        assert await effects(here, client) == "before"


async def test_roots_the_model_and_a_question_in_one_body(here: Place) -> None:
    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///a")])  # type: ignore[arg-type]

    async def model(_context: Any, _params: Any) -> types.CreateMessageResult:
        said = types.TextContent(type="text", text="Hello!")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    asked = {"list_roots_callback": roots, "sampling_callback": model}
    async with here.client(Person(accept(answer="file:///a")), **asked) as client:
        assert text_of(await client.call_tool("where", {"run": here.run})) == "Hello! file:///a"


# Endings that nobody caught.


NOT_ANSWERED = {
    types.METHOD_NOT_FOUND: "This needs an answer from the person, and their client cannot be asked.",
    types.INTERNAL_ERROR: "The person's client could not deliver an answer.",
    types.CONNECTION_CLOSED: "The person's client could not deliver an answer.",  # it says so, and is still there
}


@pytest.mark.shows("O1", "O2", "C8")
async def test_what_nobody_caught_says_what_happened(place: Place) -> None:
    """An error as an answer ends the wait at once. (On 2026-07-28 there is none: what is no answer stands for it.)"""
    errors = [types.ErrorData(code=code, message="no") for code in NOT_ANSWERED]
    sentences = list(NOT_ANSWERED.values()) if place.revision.legacy else []

    async def too_late() -> types.ElicitResult:
        await seen(place, client, "finally, finally")
        return accept(answer="yes")

    async def ending_of(**arguments: Any) -> str:
        result = await client.call_tool("wait", {"run": place.run, **arguments})
        assert result.is_error
        return text_of(result)

    async with place.client(Person(DECLINE, lambda _params: too_late(), *errors)) as client:
        assert await ending_of() == "The person declined. Nothing was done."
        assert (await ending_of(timeout=0.05)).startswith("The person did not answer in time.")
        for sentence in sentences:
            with anyio.fail_after(5):
                assert (await ending_of()).startswith(sentence)


@pytest.mark.shows("O2")
@pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)
@only_mcpserver
async def test_what_is_no_answer_ends_the_wait_at_once(place: Place) -> None:
    async with by_hand(place.target()) as rounds:
        first = await rounds.call("wait", {"run": place.run})
        garbage = {key: {"action": "maybe"} for key in first["inputRequests"]}
        retry = {"state": first["requestState"], "responses": garbage}
        with anyio.fail_after(5):
            result = await rounds.call("wait", {"run": place.run}, **retry)
        assert result["isError"]
        assert result["content"][0]["text"].startswith(NOT_ANSWERED[types.INTERNAL_ERROR])


async def seen(place: Place, client: Any, told: str) -> None:
    """Wait until these effects happened."""
    with anyio.fail_after(30):
        while await effects(place, client) != told:  # noqa: ASYNC110
            await anyio.sleep(0.01)


@only_mcpserver
async def test_a_caller_that_leaves_in_a_later_round_ends_the_body(place: Place) -> None:
    async with place.client(Person(accept(answer="on"))) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "work", {"run": place.run})
            await seen(place, client, "on")
            calls.cancel_scope.cancel()
        await seen(place, client, "on, finally")


@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
@only_mcpserver
async def test_progress_with_the_callers_token_keeps_a_waiting_call_alive(place: Place) -> None:
    told: list[float] = []
    enough = anyio.Event()

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            enough.set()

    async def thinks() -> types.ElicitResult:
        with anyio.fail_after(30):
            await enough.wait()
        return accept(answer="yes")

    async with place.client(Person(lambda _params: thinks())) as client:
        result = await client.call_tool("wait", {"run": place.run}, progress_callback=watch)
        assert text_of(result) == "yes"
    assert told == sorted(set(told))


# Links.

with_links = pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)


class Notices:
    """The links that the client was told are finished."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            self.told.append(message.params.elicitation_id)


@pytest.mark.shows("L1", "L2")
@with_links
async def test_a_link_is_finished_after_its_accept_or_before(place: Place) -> None:
    notices = Notices()
    early, late = f"{place.run}-early", f"{place.run}-late"

    async def finished_already() -> types.ElicitResult:
        await client.call_tool("finish", {"run": early})
        return types.ElicitResult(action="accept", content={"token": "never used"})

    def finished_soon(_params: Any) -> types.ElicitResult:
        behind.start_soon(client.call_tool, "finish", {"run": late})
        return ACCEPT

    person = Person(lambda _params: finished_already(), finished_soon, ACCEPT, ACCEPT)
    async with (
        place.client(person, message_handler=notices) as client,
        anyio.create_task_group() as behind,
    ):
        for run in (early, late):
            assert text_of(await client.call_tool("link", {"run": run})) == "Accepted(data=None)"
    assert {asked.url for asked in person.asked} == {LINK}  # type: ignore[union-attr]
    assert notices.told == ([early, late] if place.revision.legacy else [])


@pytest.mark.shows("O1")
@with_links
@only_mcpserver
async def test_a_link_may_be_declined_or_dismissed(place: Place) -> None:
    async with place.client(Person(DECLINE, CANCEL)) as client:
        told = [text_of(await client.call_tool("link", {"run": f"{place.run}-{n}"})) for n in range(2)]
        assert told == ["Declined(by='action')", "Cancelled()"]


@pytest.mark.shows("L4")
@pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)
@only_mcpserver
async def test_a_retry_that_was_held_shows_the_link_again(place: Place) -> None:
    arguments = {"run": place.run}
    async with by_hand(place.target()) as rounds:
        first = await rounds.call("link", arguments)
        consent = {key: {"action": "accept"} for key in first["inputRequests"]}
        again = await rounds.call("link", arguments, state=first["requestState"], responses=consent)
        [shown] = again["inputRequests"].values()
        assert shown["params"]["url"] == LINK
        assert "not finished yet" in shown["params"]["message"]
        await rounds.call("finish", arguments)
        last = await rounds.call("link", arguments, state=again["requestState"], responses=consent)
        assert last["content"][0]["text"] == "Accepted(data=None)"


@pytest.mark.shows("L3", "L4")
@with_links
@only_mcpserver
async def test_what_is_required_first_is_asked_for_and_then_the_call_goes_through(place: Place) -> None:
    arguments = {"run": place.run}

    async def finished_already() -> types.ElicitResult:
        await client.call_tool("finish", arguments)
        return ACCEPT

    async with place.client(Person(lambda _params: finished_already())) as client:
        if place.revision.legacy:
            with pytest.raises(MCPError) as needed:
                await client.call_tool("files", arguments)
            assert needed.value.code == -32042
            [listed] = needed.value.data["elicitations"]
            assert (listed["url"], listed["elicitationId"]) == (LINK, place.run)
            await client.call_tool("finish", arguments)
        assert text_of(await client.call_tool("files", arguments)) == "files"
