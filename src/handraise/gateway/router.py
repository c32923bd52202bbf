"""Several servers behind one link. Each message goes to the server that it is for."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

from handraise.gateway.catalog import (
    BY_URI,
    KINDS,
    LISTS,
    Catalog,
    combine_discovery,
    combine_hello,
    kind_of_reference,
    named,
)
from handraise.gateway.json_text import LONGEST
from handraise.gateway.links import Destination, Link, TaskSet
from handraise.gateway.messages import (
    CANCELLED,
    COMPLETE,
    ELICIT,
    INVALID_REQUEST,
    SERVER_FAULT,
    Id,
    Message,
    cancel_for,
    error_response,
    id_key,
    links_in,
    objects_in,
    request,
    response,
    unknown_target,
)
from handraise.gateway.peers import capabilities_in, envelope_of, server_info_in
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)

_PAGES: Final = 100
_PATIENCE: Final = 60.0
"""Seconds that a server has to answer a request of ours. Otherwise a silent one would keep the client from the rest."""
_MOST_IDS: Final = 4096
_MOST_ASKED: Final = 1024
"""How many requests of one server may be open."""
_TASKS: Final = "tasks/list"
_TO_ALL: Final = frozenset(
    {"initialize", "server/discover", *LISTS, _TASKS, "logging/setLevel", "subscriptions/listen"}
)


class AskedBy(NamedTuple):
    """A request of a server: the server, its id there, and the token for the client's progress."""

    server: str
    id: Id
    token: Any


class ServerRouter(Link):
    """One link to several servers."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        super().__init__()
        self._links = dict(links)
        self._sources = {name: link.source_of(_NOTHING) for name, link in links.items()}
        self._together = Source(next(iter(self._sources.values())).upstream)
        """All of them: a request to all goes on while one is left."""
        self._catalog = Catalog()
        self._envelope: dict[str, Any] = {}
        self._capabilities: dict[str, Mapping[str, Any]] = {}
        self._ours: dict[Id, asyncio.Future[Message]] = {}
        self._sent_to: dict[Id, set[str]] = {}
        """The servers that may answer a request. Responses from others are dropped."""
        self._asked_by: dict[Id, AskedBy] = {}
        """Open requests of servers, by the id that the client sees."""
        self._made_task: dict[str, str] = {}
        """The server that made each task, by task id."""
        self._asked_to_open: dict[str, str] = {}
        """The server that asked to open each link, by elicitation id."""
        self._fresh = count(1)
        self._tasks = TaskSet()
        for name, link in links.items():
            link.on_message = partial(self._received, name)
            link.on_closed = partial(self._closed, name)

    def source_of(self, message: Message) -> Source:
        if message.method in _TO_ALL:
            return self._together
        return self._sources[self._server_of(message) or next(iter(self._sources))]

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        name = self._server_of(message)
        if name is None or name not in self._links:
            return False
        self._sent_to.setdefault(id_key(message.id), set()).add(name)
        return self._links[name].reissue(self._catalog.with_own_name(message), round)

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await asyncio.gather(*(link.aclose() for link in self._links.values()))

    def send(self, message: Message) -> None:
        if message.is_request:
            self._note_envelope(message)
        match message.method:
            case None:
                self._reply(message)
            case "initialize" | "server/discover":
                self._run(message, self._greet(message))
            case method if method in LISTS or method == _TASKS:
                self._run(message, self._list(message))
            case "ping":
                self.on_message(response(message.id, {}))
            case "logging/setLevel":
                self._run(message, self._tell_all(message))
            case "subscriptions/listen":
                self._send_to(message, *self._links)
            case "notifications/cancelled":
                self._send_to(message, *self._sent_to.pop(message.params.get("requestId", ""), ()))
            case "notifications/progress":  # its text is for the server that asked
                token = message.params.get("progressToken", "")
                self._send_to(
                    message, *{each.server for each in self._asked_by.values() if each.token == token}
                )
            case _ if message.is_notice:
                self._send_to(message, *self._links)
            case _:
                self._run(message, self._route(message))

    def _run(self, message: Message, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` for a message. If it fails, a request still gets an answer."""
        self._tasks.run(work).add_done_callback(partial(self._tell_failure, message))

    def _tell_failure(self, message: Message, done: asyncio.Task[None]) -> None:
        if done.cancelled() or (error := done.exception()) is None:
            return
        logger.error("%s could not be routed", message.method, exc_info=error)
        if message.is_request:
            self.on_message(
                error_response(message.id, SERVER_FAULT, "The request could not be routed to a server.")
            )

    def _note_envelope(self, message: Message) -> None:
        """Remember how the client speaks, for requests of our own."""
        if envelope := envelope_of(message.params):
            self._envelope = {"_meta": envelope}

    async def _greet(self, message: Message) -> None:
        """Greet every server. Servers that fail are left out, unless all fail."""
        answers = await self._ask_all(message.method or "", message.params)
        good = {name: answer.result for name, answer in answers.items() if answer.result is not None}
        if not good:
            self.on_message(next(iter(answers.values())).with_(id=message.id))
            return
        for name, result in good.items():
            self._capabilities[name] = capabilities_in(result)
            self._sources[name].claimed = server_info_in(result)
            self._sources[name].revision = str(result.get("protocolVersion", "2026-07-28"))
        combine = combine_hello if message.method == "initialize" else combine_discovery
        answer = response(message.id, combine(good))
        answer.source = self._together
        self.on_message(answer)

    async def _list(self, message: Message) -> None:
        method = message.method or ""
        key = "tasks" if method == _TASKS else LISTS[method][0]
        result: dict[str, Any] = {key: await self._listed(method)}
        if self._envelope:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        self.on_message(response(message.id, result))

    async def _listed(self, method: str) -> list[dict[str, Any]]:
        """The entries that all servers list, over all pages."""
        kind = method.partition("/")[0]
        key = kind if method == _TASKS else LISTS[method][0]
        able = [name for name in self._links if kind in self._capabilities.get(name, {kind: {}})]
        pages = await asyncio.gather(*(self._pages(name, method, key) for name in able))
        listed = dict(zip(able, pages, strict=True))
        if method != _TASKS:
            return self._catalog.fill(method, listed)
        return [task for name, tasks in listed.items() for task in tasks if self._owns_task(name, task)]

    async def _pages(self, name: str, method: str, key: str) -> list[dict[str, Any]]:
        """What a server lists. The attack: a hundred pages of 16 MiB each."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        size = 0
        for _ in range(_PAGES):
            answer = await self._ask(name, method, {**self._envelope, **cursor})
            result = answer.result or {}
            size += len(answer.raw)
            if size > LONGEST:
                logger.warning("%s lists more than %d MiB; the rest is left out", name, LONGEST // 2**20)
                break
            found += objects_in(result, key)
            if not isinstance(result.get("nextCursor"), str):
                break
            cursor = {"cursor": result["nextCursor"]}
        return found

    async def locate(self, message: Message) -> Destination | None:
        self._note_envelope(message)
        name = await self._found(message)
        if name is None:
            return None
        own_name, listed = self._catalog.with_own_name(message), self._catalog.listed(message)
        return Destination(self._sources[name], own_name, listed)

    async def _found(self, message: Message) -> str | None:
        """The server that a message is for. If it is unknown, ask all servers for their lists first."""
        if self._server_of(message) is None:
            kind = KINDS.get(message.method or "") or kind_of_reference(message)
            kinds = ["resources/list", "resources/templates/list"] if message.method in BY_URI else [kind]
            await asyncio.gather(*(self._listed(each) for each in kinds if each is not None))
        return self._server_of(message)

    async def _route(self, message: Message) -> None:
        """Send a request to the server that it is for."""
        name = await self._found(message)
        if message.source is not None and (name is None or self._sources[name] is not message.source):
            # Its guard asked about another server, which had a tool of this name until a moment ago.
            self.on_message(unknown_target(message.id))
        elif name in self._links:
            self._send_to(self._catalog.with_own_name(message), name)
        elif named(message) or "taskId" in message.params:
            self.on_message(unknown_target(message.id))
        else:
            text = f"Several servers are behind this gateway, and {message.method} does not say which one it is for."
            self.on_message(error_response(message.id, -32601, text))

    def _server_of(self, message: Message) -> str | None:
        """The server that a message is for, as far as it is known."""
        task = message.params.get("taskId")
        if isinstance(task, str) and (message.method or "").startswith("tasks/"):
            return self._made_task.get(task)
        return self._catalog.server_of(message) or next(iter(self._sent_to.get(id_key(message.id), ())), None)

    def _owns_task(self, name: str, task: object) -> bool:
        """Remember the server that made a task; False for another server's task.

        The first server counts. Otherwise a server could take over another's task. The client does not hear of the
        second one, because its requests about that task would reach the first server.
        """
        id = task.get("taskId") if isinstance(task, Mapping) else None
        return not isinstance(id, str) or _is_first(self._made_task, id, name)

    def _note_links(self, name: str, questions: Sequence[Mapping[str, Any]]) -> None:
        """Remember who asked for which links to be opened."""
        for each in questions:
            if isinstance(id := each.get("elicitationId"), str):
                _is_first(self._asked_to_open, id, name)

    async def _tell_all(self, message: Message) -> None:
        answers = await self._ask_all(message.method or "", message.params)
        first = next(
            (each for each in answers.values() if each.result is not None), next(iter(answers.values()))
        )
        self.on_message(first.with_(id=message.id))

    async def _ask_all(self, method: str, params: Mapping[str, Any]) -> dict[str, Message]:
        names = list(self._links)  # one may end meanwhile
        answers = await asyncio.gather(*(self._ask(name, method, params) for name in names))
        return dict(zip(names, answers, strict=True))

    async def _ask(self, name: str, method: str, params: Mapping[str, Any]) -> Message:
        """Send a request of our own to one server and wait for the response."""
        id = f"handraise-s{next(self._fresh)}"
        if name not in self._links:
            return _gone(id, name)
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._ours[id] = answered  # a bridge may answer at once
        self._send_to(request(id, method, params), name)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await answered
        except TimeoutError:
            logger.warning("%s does not answer %s; the other servers go on", name, method)
            self._sent_to.pop(id, None)
            return error_response(id, SERVER_FAULT, f"The server {name!r} does not answer.")
        finally:
            self._ours.pop(id, None)

    def _send_to(self, message: Message, *names: str) -> None:
        if message.is_request and message.id is not None:
            self._sent_to[message.id] = set(names)
        for name in names:
            self._links[name].send(message)

    def _reply(self, message: Message) -> None:
        """Pass the client's response to the server that asked."""
        asked = self._asked_by.pop(id_key(message.id), None)
        if asked is not None and asked.server in self._links:
            self._links[asked.server].send(message if message.id == asked.id else message.with_(id=asked.id))

    def _received(self, name: str, message: Message) -> None:
        link_id = str(message.params.get("elicitationId"))
        if message.method is None:
            self._take_response(name, message)
        elif message.is_request and message.id is not None:
            self._take_request(name, message, message.id)
        elif message.method == CANCELLED:
            self._take_cancel(name, message)
        elif message.method == COMPLETE and self._asked_to_open.get(link_id, name) != name:
            logger.warning("%s completed a link of another server; nothing was passed on", name)
        elif not self._owns_task(name, message.params):
            logger.warning("%s told about a task of another server; nothing was passed on", name)
        else:
            self.on_message(self._catalog.as_known(name, message))

    def _take_response(self, name: str, message: Message) -> None:
        id = id_key(message.id)
        waited = self._sent_to.get(id, set())
        if name not in waited:
            # Otherwise one server could answer a call to another one.
            logger.warning("%s answered a request that it was not sent; nothing was passed on", name)
            return
        waited.discard(name)
        if waited:  # a request to all servers ends with the last response
            return
        del self._sent_to[id]
        result = message.result or {}
        if not self._owns_task(name, result.get("task", result)):
            text = f"The server {name!r} names a task of another server as its own."
            message = error_response(message.id, SERVER_FAULT, text)
        if message.requires_links:
            self._note_links(name, links_in(message.error))
        if (ours := self._ours.pop(id, None)) is not None:
            ours.set_result(message)
        else:
            self.on_message(message)

    def _take_request(self, name: str, message: Message, id: Id) -> None:
        mine = {each.id: known for known, each in self._asked_by.items() if each.server == name}
        if id in mine:
            self._links[name].send(
                error_response(id, INVALID_REQUEST, "A request of this id is not answered yet.")
            )
            return
        told_as = id
        while told_as in self._asked_by:  # a server may have guessed an id of ours, too
            told_as = f"handraise-a{next(self._fresh)}"
        if message.method == ELICIT:
            self._note_links(name, [message.params])
        if len(mine) >= _MOST_ASKED:  # the client's answer to the oldest is dropped
            del self._asked_by[next(iter(mine.values()))]
        self._asked_by[told_as] = AskedBy(name, id, message.meta.get("progressToken"))
        self.on_message(message if told_as == id else message.with_(id=told_as))

    def _take_cancel(self, name: str, message: Message) -> None:
        """Pass on that a server cancels its own request, never another server's request with the same id."""
        cancelled = (name, message.params.get("requestId"))
        told_as = next((id for id, asked in self._asked_by.items() if asked[:2] == cancelled), None)
        if told_as is None:
            logger.info("%s cancelled a request that it did not make; nothing was passed on", name)
            return
        del self._asked_by[told_as]
        self.on_message(cancel_for(message, told_as))

    def _closed(self, name: str, source: Source, last: bool) -> None:
        """Handle the end of one server. The others go on."""
        gone = [id for id, names in self._sent_to.items() if name in names]
        self.on_closed(source, len(self._links) == 1)
        del self._links[name]
        self._asked_by = {id: asked for id, asked in self._asked_by.items() if asked.server != name}
        for id in gone:
            self._sent_to[id].discard(name)
            if self._sent_to[id]:
                continue
            del self._sent_to[id]
            if (ours := self._ours.pop(id, None)) is not None:
                ours.set_result(_gone(id, name))


def _gone(id: Id, name: str) -> Message:
    return error_response(id, SERVER_FAULT, f"The server {name!r} is gone.")


def _is_first(owners: dict[str, str], id: str, name: str) -> bool:
    """Note whose an id is, if it is nobody's yet; whether it is this server's.

    The server with the most ids loses its oldest. The attack: it names so many that those of another one are forgotten.
    """
    is_its = owners.setdefault(id, name) == name
    if len(owners) > _MOST_IDS:
        ((most, _),) = Counter(owners.values()).most_common(1)
        del owners[next(each for each, owner in owners.items() if owner == most)]
    return is_its


_NOTHING: Final = Message({})
