"""While the person is in their browser: the call goes on by itself, again on "done", or ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import Host, host, over_http
from tests.server.peers import text_of
from tests.waiting import until

from handraise import Handraise, ask, complete
from handraise.client.calls import MAX_RESENT
from handraise.client.consent_client import MAX_RETRIES
from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.errors import Stopped
from handraise.questions import Accepted, Cancelled, Person
from handraise.revisions import Revision
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"
MODERN = Revision.JULY_2026


class Connector:
    """A server whose tool waits for a browser flow."""

    def __init__(self, hold: float = 45.0) -> None:
        self.steps: list[str] = []
        self.person: Callable[[Person], object] = bool
        self.server = Handraise(hold=hold).install(MCPServer("connector"))
        self.server.tool()(self.connect)

    async def connect(self) -> str:
        self.steps.append("began")
        self.person(ask.person())
        try:
            await ask.open("Please connect.", URL, "flow")
            self.steps.append("connected")
        finally:
            self.steps.append("ended")
        return "connected"


@pytest.fixture
async def connector(monkeypatch: pytest.MonkeyPatch) -> Connector:
    monkeypatch.setattr("handraise.client.consent_client.PATIENCE", 0.05)
    return Connector()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows whenever the call is sent to the server: at first, and with each retry."""
    counted: list[None] = []
    send = ClientSession.send_request

    async def counting(session: ClientSession, request: Any, *args: Any, **options: Any) -> Any:
        if request.method == "tools/call":
            counted.append(None)
        return await send(session, request, *args, **options)

    monkeypatch.setattr(ClientSession, "send_request", counting)
    return counted


async def browsing(here: Host) -> str:
    """The id of the question that waits for the browser, once a desk has it."""
    queue = here.queue
    await until(lambda: any(waiting.browsing and waiting in here.desk.seen for waiting in queue.waiting()))
    (waiting,) = queue.waiting()
    return waiting.id


def say(here: Host, question_id: str, answer: Accepted[None] | Cancelled) -> None:
    assert here.queue.decide(question_id, Decision(answer, by="agent")) == "taken"


SCRIPT = [Line("accept"), Line("leave", repeat=True)]


@pytest.mark.shows("L4")
async def test_the_call_goes_on_by_itself_and_the_desk_is_empty_again(connector: Connector) -> None:
    async with host(connector.server, MODERN, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            await browsing(here)
            await complete("flow", person=local_person())

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert [waiting.browsing for waiting in here.desk.seen] == [False, True]
        assert here.queue.waiting() == ()


@pytest.mark.shows("L4")
async def test_done_sends_the_retry_again_and_the_body_runs_once(
    connector: Connector, sent: list[None]
) -> None:
    async with host(connector.server, MODERN, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            say(here, first := await browsing(here), Accepted(None))
            await until(lambda: here.queue.find(first) is None)
            await browsing(here)
            await complete("flow", person=local_person())

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert connector.steps == ["began", "connected", "ended"]
        assert len(sent) == 3


@pytest.mark.shows("L4")
async def test_done_sends_the_retry_again_over_http_too(connector: Connector, sent: list[None]) -> None:
    """There the retry that is no longer waited for is a broken connection to the server."""
    async with (
        over_http(connector.server.streamable_http_app()) as url,
        host(url, MODERN, SCRIPT) as here,
        anyio.create_task_group() as tasks,
    ):
        person: list[Person] = []
        connector.person = person.append

        async def finish() -> None:
            say(here, first := await browsing(here), Accepted(None))
            await until(lambda: here.queue.find(first) is None)
            await browsing(here)
            await complete("flow", person=person[0])

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert connector.steps == ["began", "connected", "ended"]
        assert len(sent) == 3


@pytest.mark.shows("L4")
async def test_cancel_ends_the_call_with_an_error_to_the_host(connector: Connector) -> None:
    async with host(connector.server, MODERN, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def give_up() -> None:
            say(here, await browsing(here), Cancelled())

        tasks.start_soon(give_up)
        with pytest.raises(Stopped) as stopped:
            await here.client.call_tool("connect")
        assert stopped.value.action == "cancel"
        assert here.queue.waiting() == ()


@pytest.mark.shows("L4", "O7")
async def test_a_call_that_is_cancelled_leaves_nothing_at_the_desk(connector: Connector) -> None:
    async with host(connector.server, MODERN, SCRIPT) as here:
        async with anyio.create_task_group() as calls:
            calls.start_soon(here.client.call_tool, "connect")
            await browsing(here)
            calls.cancel_scope.cancel()
        await until(lambda: not here.queue.waiting())


@pytest.mark.slow
@pytest.mark.shows("L4")
async def test_done_sends_a_few_retries_and_then_the_call_just_waits(
    connector: Connector, sent: list[None]
) -> None:
    async with host(connector.server, MODERN, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def never_tire() -> None:
            for _ in range(MAX_RETRIES + 2):
                say(here, await browsing(here), Accepted(None))
            say(here, await browsing(here), Cancelled())

        tasks.start_soon(never_tire)
        with pytest.raises(Stopped):
            await here.client.call_tool("connect")
        assert len(sent) == 2 + MAX_RETRIES
        assert connector.steps[0] == "began"
        assert connector.steps.count("began") == 1


@pytest.mark.shows("L4")
async def test_a_call_goes_on_by_itself_when_the_person_is_done_after_the_hold() -> None:
    """The server stopped holding the retry and sent the link again, while the person was in the browser."""
    connector = Connector(hold=0.2)
    script = [Line("accept"), Line("leave", repeat=True)]
    async with host(connector.server, MODERN, script) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            await until(lambda: here.consent.calls[0].resent == 2)
            await complete("flow", person=local_person())

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert [waiting for waiting in here.desk.seen if waiting.asked_again] == []
        assert connector.steps.count("began") == 1


@pytest.mark.shows("L4")
async def test_a_link_that_comes_back_too_often_waits_for_the_person() -> None:
    """The client gives a call up after ten rounds, so the last ones are the person's."""
    connector = Connector(hold=0.01)
    script = [Line("accept"), Line("leave", repeat=True)]
    async with host(connector.server, MODERN, script) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            await until(lambda: any(waiting.asked_again for waiting in here.desk.seen))
            assert here.consent.calls[0].resent == MAX_RESENT
            await complete("flow", person=local_person())
            say(here, here.queue.waiting()[0].id, Accepted(None))

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert connector.steps.count("began") == 1


NOVEMBER = Revision.NOVEMBER_2025


@pytest.mark.shows("L4")
async def test_a_call_that_waits_for_the_browser_on_2025_11_25_can_be_ended(connector: Connector) -> None:
    async with host(connector.server, NOVEMBER, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def give_up() -> None:
            say(here, await browsing(here), Cancelled())

        tasks.start_soon(give_up)
        with pytest.raises(Stopped) as stopped:
            await here.client.call_tool("connect")
        assert stopped.value.action == "cancel"
        assert here.queue.waiting() == ()
        await until(lambda: connector.steps == ["began", "ended"])  # the server is told


@pytest.mark.shows("L4")
@pytest.mark.parametrize("says_done", [False, True])
async def test_a_call_on_2025_11_25_goes_on_when_the_server_reports_the_end(
    connector: Connector, says_done: bool
) -> None:
    async with host(connector.server, NOVEMBER, SCRIPT) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            waiting = await browsing(here)
            if says_done:
                say(here, waiting, Accepted(None))
            await complete("flow", person=local_person())

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("connect")) == "connected"
        assert [waiting.can_be_declined for waiting in here.desk.seen] == [True, False]
        assert here.queue.waiting() == ()
        assert len(here.consent.flows) == 0


async def test_a_call_that_does_not_wait_for_the_browser_offers_nothing() -> None:
    made = Handraise().install(MCPServer("asker"))

    @made.tool()
    async def look() -> str:
        await ask.open("Look at this.", URL, wait=False)
        return "sent"

    async with host(made, NOVEMBER, SCRIPT) as here:
        assert text_of(await here.client.call_tool("look")) == "sent"
        assert [waiting.browsing for waiting in here.desk.seen] == [False]


async def test_the_questions_of_one_round_are_one_group_and_those_of_one_call_have_its_id() -> None:
    made = Handraise().install(MCPServer("asker"))

    @made.tool()
    async def plan() -> str:
        await ask.all(team=ask.text("Who?"), budget=ask.text("How much?"))
        await ask.text("When?")
        return "planned"

    script = [Line("accept", {"answer": "x"}, repeat=True)]
    async with host(made, MODERN, script) as here:
        for _ in range(2):
            result = await here.client.call_tool("plan")
            assert isinstance(result, types.CallToolResult)
        together, alone, *_ = groups = [waiting.group for waiting in here.desk.seen]
        assert groups[0] == groups[1] is not None
        assert groups[2] is None
        assert groups[3] not in (None, together, alone)
        ids = [waiting.cause.call_id for waiting in here.desk.seen if waiting.cause is not None]
        assert ids == [ids[0]] * 3 + [ids[3]] * 3
        assert ids[0] != ids[3]
