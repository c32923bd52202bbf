"""Every request of a legacy session reaches the node that has it, whichever node it came to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from handraise import Handraise
from handraise.conversation import Store
from handraise.errors import SetupError, StoreError
from handraise.server.hops import HOP
from handraise.server.residents import SharedStore
from handraise.server.routing import RoutedApp, require_node_url
from handraise.site.listener import Listener
from handraise.stores import MemoryStore, SqliteStore

pytestmark = pytest.mark.anyio


class Peer:
    """A server with sessions of its own, as the SDK's: it knows those that began here, and no other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sessions: set[str] = set()
        self.seen: list[Any] = []
        self.came: asyncio.Queue[str] = asyncio.Queue()
        self.left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            return
        headers = {key.decode(): value.decode() for key, value in scope["headers"] if key != b"connection"}
        body = b""
        while (event := await receive())["type"] == "http.request":
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.seen.append(
            (scope["method"], scope["path"], scope["query_string"].decode(), headers, body.decode())
        )
        self.came.put_nowait(body.decode())
        session = headers.get("mcp-session-id")
        if session is None:
            session = f"{self.name}-{len(self.sessions)}"
            self.sessions.add(session)
            await _send(send, 200, b"new", session)
        elif session not in self.sessions:
            await _send(send, 404, b"no session")
        elif scope["method"] == "GET":
            await self._stream(receive, send)
        elif body == b"wait":
            await receive()
            self.left.set()
        else:
            await _send(
                send, 202 if body.startswith(b"{") else 200, f"{self.name} got {body.decode()}".encode()
            )

    async def _stream(self, receive: Receive, send: Send) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


async def _send(send: Send, status: int, body: bytes, session: str | None = None) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    headers += [(b"mcp-session-id", session.encode())] if session else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Node:
    """One peer behind its routing, on a port."""

    def __init__(self, name: str, store: SharedStore, listener: Listener, *, reachable: bool = True) -> None:
        self.peer = Peer(name)
        self.listener = listener
        self.url = listener.base_url
        self.app = RoutedApp(self.peer, store, self.url if reachable else None)

    async def stop(self) -> None:
        await self.listener.stop()

    async def leave(self) -> None:
        """What the end of a server's lifespan does."""

        async def shut_down() -> Message:
            return {"type": "lifespan.shutdown"}

        async def ignore(event: Message) -> None: ...

        await self.app({"type": "lifespan"}, shut_down, ignore)


Start = Callable[..., Awaitable[Node]]


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore | SqliteStore]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")
    yield store
    await store.aclose()


@pytest.fixture
async def start(store: MemoryStore | SqliteStore) -> AsyncIterator[Start]:
    nodes: list[Node] = []

    async def start(name: str, **options: Any) -> Node:
        listener = Listener(name)
        made: list[Node] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await made[0].app(scope, receive, send)

        await listener.start(app)
        made.append(Node(name, store, listener, **options))
        nodes.extend(made)
        return made[0]

    yield start
    for node in nodes:
        await node.leave()
    await asyncio.gather(*(node.stop() for node in nodes))


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=10.0, trust_env=False) as client:
        yield client


async def begin(http: httpx2.AsyncClient, node: Node) -> str:
    began = await http.post(f"{node.url}/mcp", content=b"initialize")
    return began.headers["mcp-session-id"]


async def arrival(peer: Peer, body: str) -> None:
    """Wait until a request with this body came."""
    async with asyncio.timeout(30):
        while await peer.came.get() != body:
            pass


@pytest.mark.shows("X2")
async def test_a_request_reaches_its_session_from_every_node_as_it_was_sent(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    headers = {"mcp-session-id": session, "authorization": "Bearer t", "host": "mcp.example.com"}
    for node in (one, two):
        got = await http.post(f"{node.url}/mcp?x=1&y=%20", content=b"hello", headers=headers)
        assert (got.status_code, got.text) == (200, "one got hello")
    here, carried = one.peer.seen[1:]
    assert here[:3] == carried[:3] == ("POST", "/mcp", "x=1&y=%20")
    assert carried[3] == {**here[3], HOP.decode(): carried[3][HOP.decode()]}
    assert two.peer.seen == []


async def test_a_request_of_another_path_and_one_without_a_session_stay_where_they_are(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one"), await start("two")
    assert (await begin(http, one), await begin(http, two)) == ("one-0", "two-0")


@pytest.mark.shows("X2")
async def test_a_stream_is_carried_as_it_comes_and_ends_when_the_client_leaves(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    async with http.stream("GET", f"{two.url}/mcp", headers={"mcp-session-id": session}) as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        assert await anext(stream.aiter_raw()) == b"data: 1\n\n"
        assert not one.peer.left.is_set()
    await asyncio.wait_for(one.peer.left.wait(), 5)


async def test_a_session_that_its_client_ended_is_nowhere(
    start: Start, http: httpx2.AsyncClient, store: MemoryStore
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    await http.delete(f"{two.url}/mcp", headers={"mcp-session-id": session})
    assert await store.sessions.find(session, now=store.now()) is None


# Nodes that are gone.


@pytest.mark.shows("X2")
async def test_a_session_whose_node_was_killed_is_not_found_so_that_its_client_starts_anew(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    await one.stop()
    got = await http.post(f"{two.url}/mcp", content=b"hello", headers={"mcp-session-id": session})
    assert got.status_code == 404
    assert got.json()["error"]["message"] == "Session not found: its node is gone"


async def test_a_session_whose_node_left_is_not_found(start: Start, http: httpx2.AsyncClient) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    await one.leave()
    got = await http.post(f"{two.url}/mcp", content=b"hello", headers={"mcp-session-id": session})
    assert (got.status_code, got.text) == (404, "no session")


async def test_a_request_goes_one_hop_and_no_further(start: Start, http: httpx2.AsyncClient) -> None:
    """The process at the address is another one now: it knows no such session, and asks nobody else."""
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    one.peer.sessions.clear()
    one.app._residents._here.clear()
    got = await http.post(f"{two.url}/mcp", content=b"hello", headers={"mcp-session-id": session})
    assert (got.status_code, got.text) == (404, "no session")
    assert two.peer.seen == []


async def test_a_node_that_cannot_be_reached_is_no_reason_to_start_anew(
    start: Start, http: httpx2.AsyncClient, store: MemoryStore
) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    two = await start("two")
    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await store.sessions.announce("ill", address, until=store.now() + 60)
        await store.sessions.enter("s", "ill", until=store.now() + 60)
        got = await http.post(f"{two.url}/mcp", content=b"hello", headers={"mcp-session-id": "s"})
    assert got.status_code == 503


async def test_a_machine_without_power_closes_no_connection_and_its_lease_tells(
    start: Start, http: httpx2.AsyncClient, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.server.routing._LOOK_AGAIN", 0.05)
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    call = asyncio.ensure_future(
        http.post(f"{two.url}/mcp", content=b"wait", headers={"mcp-session-id": session})
    )
    await arrival(one.peer, "wait")
    await store.sessions.announce(one.app._residents.node, one.url, until=store.now())
    got = await asyncio.wait_for(call, 5)
    assert (got.status_code, one.peer.left.is_set()) == (404, True)


# Who may say that a request was sent on.


@pytest.mark.parametrize("proof", ["", "0.", "now.x", "9999999999.AAAA", "nonsense", "1.%%%"])
async def test_nobody_else_can_pretend_to_be_a_node(
    start: Start, http: httpx2.AsyncClient, proof: str
) -> None:
    one = await start("one")
    session = await begin(http, one)
    headers = {"mcp-session-id": session, HOP.decode(): proof}
    got = await http.post(f"{one.url}/mcp", content=b"hello", headers=headers)
    assert got.status_code == 403
    assert len(one.peer.seen) == 1


async def test_a_proof_is_good_for_one_kind_of_request_to_one_node_and_for_a_while(
    start: Start, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)
    await http.post(f"{two.url}/mcp", content=b"hello", headers={"mcp-session-id": session})
    headers = {"mcp-session-id": session, HOP.decode(): one.peer.seen[-1][3][HOP.decode()]}

    async def status(method: str, url: str) -> int:
        return (await http.request(method, url, headers=headers)).status_code

    assert await status("POST", f"{one.url}/mcp") == 200
    for method, url in (("DELETE", f"{one.url}/mcp"), ("POST", f"{one.url}/x"), ("POST", f"{two.url}/mcp")):
        assert await status(method, url) == 403
    monkeypatch.setattr(one.app._hops, "_now", lambda: one.app._store.now() + 61.0)
    assert await status("POST", f"{one.url}/mcp") == 403


# Nodes that cannot reach each other.


@pytest.mark.shows("X2")
async def test_an_answer_goes_by_the_store_to_a_node_that_cannot_be_reached(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one", reachable=False), await start("two", reachable=False)
    session = await begin(http, one)
    answer = json.dumps({"jsonrpc": "2.0", "id": "q", "result": {"action": "accept", "content": {"a": "ä"}}})
    headers = {"mcp-session-id": session, "authorization": "Bearer t"}
    got = await http.post(f"{two.url}/mcp?x=1", content=answer.encode(), headers=headers)
    assert (got.status_code, got.content) == (202, b"")
    await arrival(one.peer, answer)
    method, path, query, arrived, body = one.peer.seen[1]
    assert (method, path, query, body) == ("POST", "/mcp", "x=1", answer)
    assert arrived["authorization"] == "Bearer t"
    assert two.peer.seen == []


async def test_what_wants_a_reply_from_a_node_that_cannot_be_reached_is_refused_clearly(
    start: Start, http: httpx2.AsyncClient
) -> None:
    one, two = await start("one", reachable=False), await start("two", reachable=False)
    headers = {"mcp-session-id": await begin(http, one)}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}).encode()
    for method, body in (
        ("POST", call),
        ("POST", b"garbage"),
        ("POST", b"[]"),
        ("GET", None),
        ("DELETE", None),
    ):
        got = await http.request(method, f"{two.url}/mcp", content=body, headers=headers)
        assert got.status_code == 503
        assert "node_url" in got.json()["error"]["message"]


# The store is away.


async def test_while_the_store_is_away_no_session_begins_and_none_is_given_up(
    start: Start, http: httpx2.AsyncClient, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await start("one"), await start("two")
    session = await begin(http, one)

    async def away(*_: Any, **__: Any) -> None:
        raise StoreError("away")

    for name in ("enter", "find", "announce", "leave"):
        monkeypatch.setattr(store.sessions, name, away)
    assert (await http.post(f"{one.url}/mcp", content=b"initialize")).status_code == 503
    headers = {"mcp-session-id": session}
    assert (await http.post(f"{one.url}/mcp", content=b"hello", headers=headers)).status_code == 200
    assert (await http.post(f"{two.url}/mcp", content=b"hello", headers=headers)).status_code == 503
    monkeypatch.undo()
    assert (await http.post(f"{two.url}/mcp", content=b"hello", headers=headers)).status_code == 200


# What is configured.


def test_an_address_of_a_node_is_a_plain_one() -> None:
    assert require_node_url("http://10.0.0.5:8000/") == "http://10.0.0.5:8000"
    for wrong in ("10.0.0.5:8000", "ftp://x", "http://", "http://a@b", "http://x/path", "http://x?q", ""):
        with pytest.raises(SetupError):
            require_node_url(wrong)


def test_the_address_of_a_node_is_given_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None: ...

    def address(**options: Any) -> str | None:
        routed: Any = Handraise(store=MemoryStore(), **options).routed(app)
        found: str | None = routed._residents.address
        return found

    assert address() is None
    assert address(node_url="http://10.0.0.5:8000") == "http://10.0.0.5:8000"
    monkeypatch.setenv("HANDRAISE_NODE_URL", "http://10.0.0.6:8000")
    assert address() == "http://10.0.0.6:8000"


def test_a_store_that_knows_no_sessions_cannot_be_shared() -> None:
    class Own:
        durable = False

        def __getattr__(self, name: str) -> Any:
            if name == "sessions":
                raise AttributeError(name)
            return getattr(MemoryStore(), name)

    own: Store = Own()
    with pytest.raises(SetupError, match="keeps no sessions"):
        Handraise(store=own).routed(lambda *_: None)  # type: ignore[arg-type]
