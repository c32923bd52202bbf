"""A -32042 for a client that cannot open links: its person opens them, then the call is made anew."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.hosts import OpenGate
from tests.gateway.peers import NOTES, Gateway, _ClientSide, connect, opening
from tests.server.peers import Person, accept, text_of

from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.eras import EraLink
from handraise.gateway.links import DirectLink
from handraise.gateway.messages import Message, error_response, notice, response
from handraise.gateway.options import Options
from handraise.gateway.serve import Front
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import Source
from handraise.revisions import Revision

pytestmark = pytest.mark.anyio

LINK = {
    "mode": "url",
    "elicitationId": "e1",
    "url": "https://notes.example.com/setup",
    "message": "Set it up",
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "setup", "version": "1"},
}


class Demanding(DirectLink):
    """A server of 2025-11-25 that wants a link to be opened before it does anything."""

    def __init__(self) -> None:
        super().__init__(Source(NOTES))
        self.calls = 0

    def send(self, message: Message) -> None:
        match message.method:
            case "initialize":
                self._say(response(message.id, HELLO))
            case "tools/list":
                self._say(
                    response(message.id, {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]})
                )
            case "tools/call":
                self.calls += 1
                if self.calls == 1:
                    self._say(error_response(message.id, -32042, "First", {"elicitations": [LINK]}))
                    self._say(notice("notifications/elicitation/complete", {"elicitationId": "e1"}), 0.05)
                else:
                    self._say(response(message.id, {"content": [{"type": "text", "text": "done"}]}))
            case "server/discover":
                self._say(error_response(message.id, -32601, "Method not found"))

    def _say(self, message: Message, later: float = 0.0) -> None:
        message.source = self.source
        asyncio.get_running_loop().call_later(later, lambda: self.on_message(message))

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("revision", "modes"),
    [(Revision.NOVEMBER_2025, "form"), (Revision.JUNE_2025, "form"), (Revision.JULY_2026, "form url")],
    ids=["form only", "2025-06-18", "2026-07-28"],
)
async def test_the_call_is_made_anew_when_the_link_is_done(revision: Revision, modes: str) -> None:
    queue, server = Queue(), Demanding()
    desk = ScriptedDesk(queue, [Line("accept"), Line("leave", repeat=True)])
    serving = asyncio.create_task(desk.run())
    state = GatewayState(Options(too_fast=0), opening(QuestionHandler(queue, OpenGate(), timeout=300)))
    seen = Gateway(server, state, queue, desk, OpenGate())
    person = Person(*([accept()] if revision.modern else []))
    link = EraLink(server)
    async with connect(
        _ClientSide(lambda port: Front(link, state, port), seen), revision, person, modes
    ) as client:
        assert text_of(await client.call_tool("work", {})) == "done"
    assert server.calls == 2
    assert len(person.asked) + len(desk.seen[:1]) == 1
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
