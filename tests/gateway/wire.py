"""A gateway between a client and a server that are nothing but the messages a test writes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.client.hosts import OpenGate
from tests.gateway.peers import NOTES, opening
from tests.waiting import until

from handraise.desks import Queue
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.call import RelayedCall
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.eras import EraLink
from handraise.gateway.links import DirectLink, Link
from handraise.gateway.messages import Message, error_response, notice, request, response
from handraise.gateway.options import Options
from handraise.gateway.peers import CAPABILITIES_KEY, MODERN, NOVEMBER, VERSION_KEY
from handraise.gateway.reading import parse_message
from handraise.gateway.serve import Front
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import Source
from handraise.wire import RESUMES

OFFERS = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
    "completions": {},
}
ABLE = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}


class WireServer(DirectLink):
    """A server of one era: shakes hands by itself, and leaves the rest to the test."""

    def __init__(self, *, modern: bool, legacy: str = NOVEMBER) -> None:
        super().__init__(Source(NOTES))
        self.got: list[Message] = []
        self.modern = modern
        self.legacy = legacy
        self.begun: dict[str, Any] = {}
        """What the client said in its `initialize`."""
        self.resumes = True
        """Whether it says that it goes on with calls after it was started anew."""

    async def aclose(self) -> None: ...

    def send(self, message: Message) -> None:
        if (hello := self.hello(message)) is not None:
            asyncio.get_running_loop().call_soon(self.say, hello)
        else:
            self.got.append(message)

    def hello(self, message: Message) -> Message | None:
        """The answer to a message that begins something; None to any other."""
        told = {"name": "notes", "version": "7"}
        match message.method, self.modern:
            case "initialize", False:
                self.begun = message.params
                hello = {"protocolVersion": self.legacy, "capabilities": OFFERS, "serverInfo": told}
                return response(message.id, hello)
            case "server/discover", True:
                offers = {**OFFERS, "experimental": {RESUMES: {}} if self.resumes else {}}
                found = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": offers}
                return response(message.id, {**found, "serverInfo": told})
            case "initialize" | "server/discover", _:
                return error_response(message.id, -32601, "Method not found")
            case _:
                return None

    def say(self, message: Message) -> None:
        self.deliver(message)

    def take(self, method: str | None = None) -> Message:
        """The next message of this kind that came, and nothing before it but what a bridge does by itself."""
        found = next(each for each in self.got if each.method == method)
        self.got.remove(found)
        return found

    async def taken(self, method: str | None = None) -> Message:
        """The next message of this kind, when it comes."""
        await until(lambda: any(each.method == method for each in self.got))
        return self.take(method)


class WireClient:
    """A client of one era in front of a gateway in front of such a server."""

    def __init__(
        self,
        *,
        modern: bool,
        behind: bool,
        legacy: str = NOVEMBER,
        able: dict[str, Any] = ABLE,
        guards: Any = (),
        hold: float = 30,
        too_fast: float = 0.0,
        grace: float = 0.0,
        habits: ClientHabits | None = None,
        link: Link | None = None,
        **asking: Any,
    ) -> None:
        """`legacy` is the revision of whichever side is not modern. `link` leads to other servers."""
        self.modern = modern
        self.legacy = legacy
        self.server = WireServer(modern=behind, legacy=legacy)
        self.got: list[Message] = []
        self.queue = Queue()
        self.able = able
        options = Options(hold=hold, too_fast=too_fast, grace=grace)
        asks = opening(QuestionHandler(self.queue, OpenGate(), timeout=300, **asking))
        self.state = GatewayState(options, asks, guards=guards, habits=habits)
        self._front = Front(link or EraLink(self.server), self.state, self)

    @classmethod
    async def begun(cls, **options: Any) -> WireClient:
        """A client that knows its server."""
        client = cls(**options)
        await client.begin()
        return client

    async def begin(self) -> None:
        """Get to know the server."""
        if self.modern:
            self.ask("hello", "server/discover")
        else:
            told = {"name": "c", "version": "1"}
            hello = {"protocolVersion": self.legacy, "capabilities": self.able, "clientInfo": told}
            self.say(request("hello", "initialize", hello))
        assert (await self.taken()).result is not None
        if not self.modern:
            self.tell("notifications/initialized", {})

    def send(self, message: Message) -> None:
        self.got.append(message)

    def say(self, message: Message) -> None:
        self._front.from_client(message)

    def ask(self, id: Any, method: str, params: dict[str, Any] | None = None, **meta: Any) -> Message:
        """Send a request with everything that the client's era wants in it; as it was sent."""
        envelope = {VERSION_KEY: MODERN, CAPABILITIES_KEY: self.able} if self.modern else {}
        whole = {**envelope, **meta}
        sent = spelled(request(id, method, {**(params or {}), **({"_meta": whole} if whole else {})}))
        self.say(sent)
        return sent

    def tell(self, method: str, params: dict[str, Any]) -> Message:
        sent = spelled(notice(method, params))
        self.say(sent)
        return sent

    @property
    def calls(self) -> list[RelayedCall]:
        """The calls of this client that are not over."""
        assert self._front._relay is not None
        return list(self._front._relay.calls.values())

    async def leave(self) -> None:
        """Be gone."""
        await self._front.aclose()

    def take(self, method: str | None = None) -> Message:
        found = next(each for each in self.got if each.method == method)
        self.got.remove(found)
        return found

    async def taken(self, method: str | None = None) -> Message:
        """The next message of this kind, when it comes."""
        await until(lambda: any(each.method == method for each in self.got))
        return self.take(method)


def again(message: Message, **changes: Any) -> Message:
    """The same message with other members."""
    return Message({**message.body, **changes})


def spelled(message: Message) -> Message:
    """The same as another program writes it: laid out in lines, with characters beyond ASCII."""
    return parse_message(json.dumps(message.body, indent=2, ensure_ascii=False).encode())
