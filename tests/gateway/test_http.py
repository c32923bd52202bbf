"""Streamable HTTP in front of the gateway, behind it, and on both sides."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from tests.client.hosts import OpenGate
from tests.command import ROOT
from tests.gateway.notes import make_notes
from tests.gateway.peers import connect, opening
from tests.gateway.test_holding import ticket_in
from tests.server.peers import REVISIONS, Person, accept, free_port, text_of

from handraise.client.consent import Gate
from handraise.desks import Decision, Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.messages import request
from handraise.gateway.options import Options
from handraise.gateway.servers import ServerSet
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import Upstream
from handraise.questions import Accepted
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W1")]


class _Server(uvicorn.Server):
    """Ends as soon as it can: uvicorn sleeps for tenths of seconds there, which would be most of a short test."""

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: object = None) -> None:
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(1):
                while state.connections or state.tasks:  # noqa: ASYNC110 - it has no event
                    await asyncio.sleep(0.001)
        except TimeoutError:
            for task in state.tasks:
                task.cancel()
        await self.lifespan.shutdown()


@asynccontextmanager
async def served(app: Any, lifespan: str, port: int = 0) -> AsyncIterator[str]:
    """An application on a port of this computer; its URL."""
    port = port or free_port()
    server = _Server(
        uvicorn.Config(app, port=port, log_level="error", lifespan=lifespan)  # type: ignore[arg-type]
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done()
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def gateway_to(upstream: Upstream, script: list[Line], gate: Gate | None = None) -> AsyncIterator[str]:
    """A gateway over HTTP in front of a server."""
    queue = Queue()
    state = GatewayState(
        Options(hold=30, too_fast=0), opening(QuestionHandler(queue, gate or OpenGate(), timeout=300))
    )
    app = HttpGateway(state, lambda person: ServerSet(upstream).connect())
    desk = asyncio.create_task(ScriptedDesk(queue, script).run())
    async with served(app, "off") as url:
        yield url
        await app.aclose()
    desk.cancel()
    await asyncio.gather(desk, return_exceptions=True)


@asynccontextmanager
async def behind() -> AsyncIterator[Upstream]:
    """A server at a URL."""
    async with served(make_notes().streamable_http_app(), "on") as url:
        yield Upstream("my notes", url=url)


def till(folder: Path, era: str) -> Upstream:
    """A server that is a process."""
    command = (sys.executable, "-m", "tests.gateway.till", str(folder / "book"), era)
    return Upstream("till", command, directory=str(ROOT), environment={"PYTHONPATH": str(ROOT)})


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_questions_pass_over_http(revision: Revision) -> None:
    person = Person(accept(answer="b"), accept(answer="short"))
    async with (
        behind() as upstream,
        gateway_to(upstream, []) as url,
        connect(url, revision, person) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "plain"})) == "plain"
        assert text_of(await client.call_tool("rename", {"title": "a"})) == "a is b because short"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_questions_of_a_process_pass_to_a_client_over_http(
    revision: Revision, era: str, tmp_path: Path
) -> None:
    person = Person(accept(answer="7"))
    async with gateway_to(till(tmp_path, era), []) as url, connect(url, revision, person) as client:
        assert text_of(await client.call_tool("pay", {"to": "ann"})) == "paid"
    assert (tmp_path / "book").read_text() == "looked\npaid 7\n"


async def test_who_cannot_be_asked_answers_at_our_desk(revision: Revision) -> None:
    script = [Line("accept", {"answer": "old"})]
    async with (
        behind() as upstream,
        gateway_to(upstream, script) as url,
        connect(url, revision) as client,
    ):
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"


async def test_progress_goes_to_the_request_it_belongs_to(revision: Revision) -> None:
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with (
        behind() as upstream,
        gateway_to(upstream, []) as url,
        connect(url, revision, Person()) as client,
    ):
        assert text_of(await client.call_tool("work", {"steps": 3}, progress_callback=note)) == "3 steps"
    assert told == [1, 2, 3]


@pytest.mark.shows("W6")
async def test_a_server_that_ended_is_started_anew_for_whoever_comes_next(tmp_path: Path) -> None:
    script = [Line("leave"), Line("accept", {"answer": "7"})]
    async with (
        gateway_to(till(tmp_path, "legacy"), script) as url,
        connect(url, Revision.JULY_2026) as client,
    ):
        ended = await client.call_tool("ask_and_end", {"to": "ann"})
        assert "ended while the user was being asked" in text_of(ended)
        assert text_of(await client.call_tool("pay", {"to": "ann"})) == "paid"
    assert (tmp_path / "book").read_text() == "looked\nlooked\npaid 7\n"


async def test_servers_are_not_left_running_because_another_one_cannot_be_started(tmp_path: Path) -> None:
    """A client may try again and again."""
    servers = ServerSet(till(tmp_path, "legacy"), Upstream("gone", (str(tmp_path / "no-such-program"),)))
    state = GatewayState(Options(), opening(QuestionHandler(Queue(), OpenGate(), timeout=300)))
    app = HttpGateway(state, lambda person: servers.connect())
    before = set(children())
    async with served(app, "off") as url, httpx2.AsyncClient(timeout=30) as http:
        for _ in range(3):
            told = await http.post(url, content=HELLO.raw)
            assert told.status_code == 500
            assert "could not be started" in told.json()["error"]["message"]
        assert set(children()) == before
        await app.aclose()


HELLO = request("hello", "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})


def children() -> list[str]:
    """The processes that this one started and that are still there."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


@pytest.mark.shows("W2")
async def test_a_parked_call_is_resumed_in_another_session_when_its_own_is_over(revision: Revision) -> None:
    queue = Queue()
    state = GatewayState(
        Options(hold=0.05, too_fast=0), opening(QuestionHandler(queue, OpenGate(), timeout=300))
    )
    async with behind() as upstream:
        app = HttpGateway(state, lambda person: ServerSet(upstream).connect())
        async with served(app, "off") as url:
            async with connect(url, revision) as client:
                ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
            (waiting,) = queue.waiting()
            queue.decide(waiting.id, Decision(Accepted({"answer": "old"}), by="agent", desk="test"))
            async with asyncio.timeout(60), connect(url, revision) as later:
                while text_of(
                    told := await later.call_tool("handraise_resume", {"ticket": ticket})
                ).startswith("This call waits"):
                    pass
            assert text_of(told) == "deleted plans: old"
            await app.aclose()


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("2025-11-25", {"method": "notifications/initialized"}),
        ("2025-11-25", {"method": "notifications/cancelled", "params": {"requestId": 7}}),
        ("2025-11-25", {"id": "of nobody", "result": {}}),
        ("2026-07-28", {"method": "notifications/cancelled", "params": {"requestId": 7}}),
    ],
)
async def test_what_needs_no_answer_is_accepted_with_nothing(revision: str, message: dict[str, Any]) -> None:
    hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with behind() as upstream, gateway_to(upstream, []) as url, httpx2.AsyncClient() as http:
        headers = {"mcp-protocol-version": revision}
        if revision == "2025-11-25":
            began = await http.post(url, json=request(1, "initialize", hello).body)
            headers["mcp-session-id"] = began.headers["mcp-session-id"]
        told = await http.post(url, json={"jsonrpc": "2.0", **message}, headers=headers)
        assert (told.status_code, told.content) == (202, b"")
