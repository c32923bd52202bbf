"""Several servers behind one link: each message goes to the server it belongs to, and what comes back is told apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from handraise.gateway.errands import Errands
from handraise.gateway.links import Link, Place
from handraise.gateway.messages import Id, Message, fault, known, nowhere, request, response
from handraise.gateway.peers import claimed_in, envelope_of
from handraise.gateway.several.combined import combine_discovery, combine_hello
from handraise.gateway.several.directory import LISTS
from handraise.gateway.several.named import BY_URI, KINDS, kind_of_reference
from handraise.gateway.several.whose import Whose
from handraise.gateway.upstreams import Source

_PAGES: Final = 100
_TO_ALL: Final = ("notifications/initialized", "notifications/roots/list_changed", "logging/setLevel")


class Switchboard:
    """One link to all of them."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self._links = dict(links)
        self._sources = {name: link.source_of(_NOTHING) for name, link in links.items()}
        self._whose = Whose()
        self._envelope: dict[str, Any] = {}
        self._capabilities: dict[str, Mapping[str, Any]] = {}
        self._ours: dict[Id, asyncio.Future[Message]] = {}
        self._sent_to: dict[Id, str] = {}
        self._asked_by: dict[Id, tuple[str, Id]] = {}
        self._fresh = count(1)
        self._errands = Errands()
        for name, link in links.items():
            link.on_message = self._receiving(name)
            link.on_closed = self._closing(name)

    def source_of(self, message: Message) -> Source:
        return self._sources[self._server_of(message) or next(iter(self._sources))]

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        name = self._server_of(message)
        return name is not None and self._links[name].reissue(self._whose.with_own_name(message), round)

    async def aclose(self) -> None:
        await self._errands.aclose()
        await asyncio.gather(*(link.aclose() for link in self._links.values()))

    def send(self, message: Message) -> None:
        if message.is_request:
            self._note_envelope(message)
        match message.method:
            case None:
                self._reply(message)
            case "initialize" | "server/discover":
                self._errands.run(self._greet(message))
            case method if method in LISTS:
                self._errands.run(self._list(message))
            case "ping":
                self.on_message(response(message.id, {}))
            case method if method in _TO_ALL or method == "subscriptions/listen":
                self._errands.run(self._tell_all(message))
            case "notifications/cancelled":
                self._send_to(self._sent_to.get(message.params.get("requestId", "")), message)
            case _:
                self._errands.run(self._route(message))

    def _note_envelope(self, message: Message) -> None:
        """Remember how the client speaks, for requests of our own."""
        if envelope := envelope_of(message.params):
            self._envelope = {"_meta": envelope}

    async def _greet(self, message: Message) -> None:
        """Begin with every server; those that cannot be reached are left out, unless all are."""
        answers = await self._ask_all(message.method or "", message.params)
        good = {name: answer.result for name, answer in answers.items() if answer.result is not None}
        if not good:
            self.on_message(next(iter(answers.values())).with_(id=message.id))
            return
        for name, result in good.items():
            self._capabilities[name] = result.get("capabilities") or {}
            self._sources[name].claimed = claimed_in(result)
            self._sources[name].revision = str(result.get("protocolVersion", "2026-07-28"))
        combine = combine_hello if message.method == "initialize" else combine_discovery
        answer = response(message.id, combine(good))
        answer.source = Source(next(iter(self._sources.values())).upstream)
        self.on_message(answer)

    async def _list(self, message: Message) -> None:
        shown = await self._listed(message.method or "")
        key, _ = LISTS[message.method or ""]
        result: dict[str, Any] = {key: shown}
        if self._envelope:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        self.on_message(response(message.id, result))

    async def _listed(self, method: str) -> list[dict[str, Any]]:
        """What all servers list, every page of it."""
        key, _ = LISTS[method]
        kind = method.partition("/")[0]
        able = [name for name in self._links if kind in self._capabilities.get(name, {kind: {}})]
        pages = await asyncio.gather(*(self._pages(name, method, key) for name in able))
        return self._whose.fill(method, dict(zip(able, pages, strict=True)))

    async def _pages(self, name: str, method: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(_PAGES):
            answer = await self._ask(name, method, {**self._envelope, **cursor})
            result = answer.result or {}
            found += [each for each in result.get(key) or () if isinstance(each, dict)]
            if not isinstance(result.get("nextCursor"), str):
                break
            cursor = {"cursor": result["nextCursor"]}
        return found

    async def locate(self, message: Message) -> Place | None:
        self._note_envelope(message)
        name = await self._found(message)
        return None if name is None else Place(self._sources[name], self._whose.with_own_name(message))

    async def _found(self, message: Message) -> str | None:
        """The server that has what a message is about; all are asked what they have if that is not known yet."""
        if self._server_of(message) is None:
            kind = KINDS.get(message.method or "") or kind_of_reference(message)
            kinds = ["resources/list", "resources/templates/list"] if message.method in BY_URI else [kind]
            await asyncio.gather(*(self._listed(each) for each in kinds if each is not None))
        return self._server_of(message)

    async def _route(self, message: Message) -> None:
        """Send a request to the server that has what it is about."""
        name = await self._found(message)
        if name is not None:
            self._send_to(name, self._whose.with_own_name(message))
        elif message.is_request:
            self.on_message(nowhere(message.id))

    def _server_of(self, message: Message) -> str | None:
        """Whose a message is, as far as we know."""
        return self._whose.server_of(message) or self._sent_to.get(known(message.id))

    async def _tell_all(self, message: Message) -> None:
        if message.id is None:
            for link in self._links.values():
                link.send(message)
            return
        if message.method == "subscriptions/listen":
            for name in self._links:
                self._send_to(name, message)
            return
        answers = await self._ask_all(message.method or "", message.params)
        first = next(
            (each for each in answers.values() if each.result is not None), next(iter(answers.values()))
        )
        self.on_message(first.with_(id=message.id))

    async def _ask_all(self, method: str, params: Mapping[str, Any]) -> dict[str, Message]:
        answers = await asyncio.gather(*(self._ask(name, method, params) for name in self._links))
        return dict(zip(self._links, answers, strict=True))

    async def _ask(self, name: str, method: str, params: Mapping[str, Any]) -> Message:
        """A request of our own to one server."""
        id = f"handraise-s{next(self._fresh)}"
        self._ours[id] = asyncio.get_running_loop().create_future()
        self._send_to(name, request(id, method, params))
        return await self._ours[id]

    def _send_to(self, name: str | None, message: Message) -> None:
        if name is None:
            return
        if message.is_request and message.id is not None:
            self._sent_to[message.id] = name
        self._links[name].send(message)

    def _reply(self, message: Message) -> None:
        """The client answers a request of one of the servers."""
        asked = self._asked_by.pop(message.id, None) if message.id is not None else None
        if asked is not None:
            self._links[asked[0]].send(message if message.id == asked[1] else message.with_(id=asked[1]))

    def _receiving(self, name: str) -> Callable[[Message], None]:
        return lambda message: self._received(name, message)

    def _received(self, name: str, message: Message) -> None:
        if message.method is None:
            self._sent_to.pop(known(message.id), None)
            if (ours := self._ours.pop(known(message.id), None)) is not None:
                ours.set_result(message)
            else:
                self.on_message(message)
        elif message.is_request and message.id is not None:
            told_as = message.id if message.id not in self._asked_by else f"handraise-a{next(self._fresh)}"
            self._asked_by[told_as] = (name, message.id)
            self.on_message(message if told_as == message.id else message.with_(id=told_as))
        else:
            self.on_message(self._whose.as_known(name, message))

    def _closing(self, name: str) -> Callable[[Source, bool], None]:
        return lambda source, last: self._closed(name, source)

    def _closed(self, name: str, source: Source) -> None:
        """One server is gone; the others go on."""
        gone = [id for id, sent_to in self._sent_to.items() if sent_to == name]
        self.on_closed(source, len(self._links) == 1)
        del self._links[name]
        for id in gone:
            self._sent_to.pop(id, None)
            if (ours := self._ours.pop(id, None)) is not None:
                ours.set_result(fault(id, -32000, f"The server {name!r} is gone."))


_NOTHING: Final = Message({})
