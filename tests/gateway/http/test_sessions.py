"""Sessions over HTTP that nobody uses any more end by themselves, and nobody has them without bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.gateway.teams import Browser, Team, questions, team
from tests.gateway.test_passing import CALL, FORM
from tests.gateway.test_recording import asked_by
from tests.gateway.test_shared import HELLO, LIST
from tests.gateway.wire_http import over_http
from tests.server.peers import REVISIONS
from tests.waiting import until

from handraise.gateway.http.server import HEADER_MISMATCH
from handraise.gateway.messages import INVALID_REQUEST, SERVER_FAULT, Message, notice, request, response
from handraise.gateway.peers import MODERN
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7")]


async def begin(shared: Team, token: str) -> str:
    return (await shared.post(token, HELLO)).headers["mcp-session-id"]


async def works(shared: Team, token: str, session: str) -> bool:
    return (await shared.post(token, LIST, **{"mcp-session-id": session})).status_code == 200


@pytest.fixture
def sweeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that looks for unused sessions all the time."""
    monkeypatch.setattr("handraise.gateway.http.server.SWEEP", 0.02)


@contextmanager
def rested() -> Iterator[None]:
    """Meanwhile every session counts as one that nobody used for an hour."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("handraise.gateway.http.server.IDLE", 0.0)
        yield


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_servers_that_nobody_used_for_an_hour_end_without_a_request(
    tmp_path: Path, sweeping: None, revision: Revision
) -> None:
    async with team(tmp_path) as shared, AsyncExitStack() as later:
        ann = shared.people.add("ann")
        old = await begin(shared, ann)
        await connected(shared, ann, revision, later)
        assert open_links(shared) == 2
        await later.aclose()
        with rested():
            await until(lambda: not open_links(shared))
        assert not await works(shared, ann, old), "its client begins a new one"
        await connected(shared, ann, revision, later)
        await later.aclose()


async def connected(shared: Team, token: str, revision: Revision, stack: AsyncExitStack) -> None:
    """A client that knows its server and has listed the tools."""
    client = await stack.enter_async_context(shared.client(revision, token))
    await client.list_tools()


async def test_servers_of_a_client_that_has_a_question_are_not_ended(sweeping: None) -> None:
    """On 2026-07-28 no request is open meanwhile."""
    async with over_http(modern=True, behind=True) as client, httpx2.AsyncClient() as http:
        client.ask(1, "tools/call", CALL)
        asked_by(client.server, await client.server.taken("tools/call"), FORM)
        round_ = (await client.taken()).result or {}
        other = (await http.post(client.url, json=HELLO)).headers
        session = {"mcp-session-id": other["mcp-session-id"]}
        note = notice("notifications/initialized", {}).body
        with rested():
            while (await http.post(client.url, json=note, headers=session)).status_code != 404:
                pass
        answers = {key: {"action": "accept", "content": {"why": 7}} for key in round_["inputRequests"]}
        retry = {**CALL, "inputResponses": answers, "requestState": round_["requestState"]}
        client.ask(2, "tools/call", retry)
        await until(client.queue.waiting)  # the answer is judged by what was asked


async def test_a_call_that_its_client_hung_up_on_keeps_no_servers_running(sweeping: None) -> None:
    """On older revisions it goes on, and its server may never answer."""
    async with over_http(modern=False, behind=False) as client:
        client.ask(1, "tools/call", CALL)
        await client.server.taken("tools/call")
        await client.leave()
        with rested():
            await until(lambda: not client.app._sessions)


async def test_a_person_whose_modern_clients_rest_can_begin_a_session(tmp_path: Path) -> None:
    async with team(tmp_path, sessions=1) as shared, AsyncExitStack() as later:
        ann = shared.people.add("ann")
        await connected(shared, ann, Revision.JULY_2026, later)
        await later.aclose()
        assert await works(shared, ann, await begin(shared, ann))
        assert open_links(shared) == 1
        await connected(shared, ann, Revision.JULY_2026, later)
        assert open_links(shared) == 1
        await later.aclose()


async def test_a_person_with_too_many_sessions_loses_the_one_that_rested_longest(tmp_path: Path) -> None:
    async with team(tmp_path, sessions=3) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        bobs = await begin(shared, bob)
        first, second, third = [await begin(shared, ann) for _ in range(3)]
        assert await works(shared, ann, first)
        fourth = await begin(shared, ann)
        assert [await works(shared, ann, each) for each in (first, second, third, fourth)] == [
            True,
            False,
            True,
            True,
        ]
        assert await works(shared, bob, bobs), "nobody makes room for somebody else"


async def test_nobody_starts_more_servers_than_allowed_all_at_once_and_in_use(tmp_path: Path) -> None:
    """A session whose client follows its stream is in use, so that it does not make room."""
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        replies = await asyncio.gather(*(shared.post(ann, HELLO) for _ in range(30)))
        begun = [reply.headers["mcp-session-id"] for reply in replies if reply.status_code == 200]
        async with following(shared, ann, begun):
            replies += await asyncio.gather(*(shared.post(ann, HELLO) for _ in range(60)))
            assert open_links(shared) <= 8
            refused = [reply for reply in replies if reply.status_code != 200]
            assert {reply.status_code for reply in refused} == {429}
            assert "8 sessions already" in refused[0].json()["error"]["message"]
            assert (await shared.post(bob, HELLO)).status_code == 200, "nobody else is turned away"


async def test_nobody_takes_the_gateway_or_its_desk_from_others_with_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.http.server.MOST_REQUESTS", 3)
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        browser = Browser(shared)
        begun = [await begin(shared, ann) for _ in range(3)]
        async with following(shared, ann, begun):
            refused = await shared.post(ann, LIST, **{"mcp-session-id": begun[0]})
            assert refused.status_code == 429
            assert "requests under way" in refused.json()["error"]["message"]
            assert await works(shared, bob, await begin(shared, bob))
            assert await browser.sign_in(shared.invitation("bob")) == 303
            await browser.leave()
        assert await works(shared, ann, begun[0])


@pytest.mark.parametrize(("size", "passed"), [(30_000, 2), (1, 12)], ids=["few large", "many small"])
async def test_nobody_fills_the_memory_with_open_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, passed: int
) -> None:
    """A call stays open when its client hangs up, so that a limit for requests is not enough."""
    monkeypatch.setattr("handraise.gateway.http.server.MOST_ROOM", 200_000)
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        session = {"mcp-session-id": await begin(shared, ann)}
        for _ in range(5):
            large = {**LIST, "params": {"_meta": {"x": "x" * 60_000}}}
            assert (await shared.post(ann, large, **session)).status_code == 200
        status = []
        for number in range(passed + 3):
            params = {"name": "delete", "arguments": {"title": f"{number:02}" * size}}
            reply = await shared.post(ann, {**LIST, "method": "tools/call", "params": params}, **session)
            status.append(reply.status_code)
        assert status == [200] * passed + [429] * 3
        assert "open requests" in reply.json()["error"]["message"]
        assert await works(shared, bob, await begin(shared, bob))


async def test_a_session_that_waits_for_a_person_counts_after_its_client_left(tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        replies = []
        for number in range(12):
            replies.append(await shared.post(ann, HELLO))
            if replies[-1].status_code != 200:
                continue
            headers = {"mcp-session-id": replies[-1].headers["mcp-session-id"]}
            params = {"name": "delete", "arguments": {"title": f"x{number}"}}
            await shared.post(ann, {**LIST, "method": "tools/call", "params": params}, **headers)
            async with httpx2.AsyncClient() as http:
                headers |= {"authorization": f"Bearer {ann}"}
                assert (await http.delete(f"{shared.url}/mcp", headers=headers)).status_code == 200
        assert [reply.status_code for reply in replies] == [200] * 8 + [429] * 4
        assert open_links(shared) == 8


@pytest.mark.parametrize("asks", [False, True], ids=["at work", "asking"])
async def test_requests_of_a_session_that_its_client_ends_get_an_error_at_once(asks: bool) -> None:
    async with over_http(modern=False, behind=False, able={}) as client, httpx2.AsyncClient() as http:
        client.ask(1, "tools/call", CALL)
        await client.server.taken("tools/call")
        if asks:
            client.server.say(request(99, "elicitation/create", FORM))
            await until(client.queue.waiting)
        headers = {"mcp-session-id": str(client.session)}
        assert (await http.delete(client.url, headers=headers)).status_code == 200
        told = await client.taken()
        assert (told.id, told.error["message"]) == (1, "The session has ended, and this request with it.")
        await until(lambda: not client.queue.waiting())
        await until(lambda: any(each.method == "notifications/cancelled" for each in client.server.got))


def open_links(shared: Team) -> int:
    return sum(link.is_open for link in shared.links)


@asynccontextmanager
async def following(shared: Team, token: str, sessions: list[str]) -> AsyncIterator[None]:
    """While a client follows the stream of each session."""
    async with httpx2.AsyncClient() as http, AsyncExitStack() as streams:
        for session in sessions:
            headers = {"authorization": f"Bearer {token}", "mcp-session-id": session}
            stream = await streams.enter_async_context(
                http.stream("GET", f"{shared.url}/mcp", headers=headers)
            )
            assert stream.status_code == 200
        yield


async def test_a_session_with_a_call_under_way_is_not_over(tmp_path: Path, sweeping: None) -> None:
    async with team(tmp_path, hold=20) as shared:
        ann = shared.people.add("ann")
        old = await begin(shared, ann)
        call = {**LIST, "method": "tools/call", "params": {"name": "delete", "arguments": {"title": "x"}}}
        calling = asyncio.create_task(shared.post(ann, call, **{"mcp-session-id": old}))
        (waiting,) = await questions(shared.queue, 1)
        await begin(shared, ann)
        with rested():
            await until(lambda: open_links(shared) == 1)
        assert shared.queue.waiting() == (waiting,)
        assert await works(shared, ann, old)
        calling.cancel()


async def test_a_response_that_cannot_be_read_ends_the_request_of_its_own_session_only() -> None:
    async with over_http(modern=False, behind=False) as client:
        client.ask(7, "tools/call", CALL)
        await client.server.taken("tools/call")
        client.server.say(request(99, "roots/list", {}))
        asked = await client.taken("roots/list")
        unreadable = Message({"jsonrpc": "1.0", "id": asked.id, "result": {"roots": []}})
        own, client.session = client.session, "somebody else's"
        client.say(unreadable)
        assert (await client.taken()).body["error"]["code"] == INVALID_REQUEST
        assert not any(each.method is None for each in client.server.got)
        client.session = own
        client.say(unreadable)
        assert (await client.taken()).id is None
        told = await client.server.taken()
        assert (told.id, told.body["error"]["code"]) == (99, SERVER_FAULT)


async def test_a_session_is_for_its_own_person_and_whoever_has_none_is_told_to_begin_one(
    tmp_path: Path,
) -> None:
    async with team(tmp_path) as shared, httpx2.AsyncClient(base_url=shared.url) as http:
        tokens = {name: shared.people.add(name) for name in ("ann", "bob")}
        hers = await begin(shared, tokens["ann"])

        async def status(method: str, who: str, session: str | None) -> int:
            headers = {"authorization": f"Bearer {tokens[who]}"}
            headers |= {} if session is None else {"mcp-session-id": session}
            body = LIST if method == "POST" else None
            async with http.stream(method, "/mcp", headers=headers, json=body) as answer:
                return answer.status_code

        for method, without in (("POST", 400), ("GET", 405), ("DELETE", 404)):
            assert await status(method, "bob", hers) == 404
            assert await status(method, "ann", "no such session") == 404
            assert await status(method, "ann", None) == without
        assert await status("PUT", "ann", hers) == 405
        async with following(shared, tokens["ann"], [hers]):
            assert await status("GET", "ann", hers) == 409, "one stream is enough"
        assert await works(shared, tokens["ann"], hers)
        assert await status("DELETE", "ann", hers) == 200
        assert not await works(shared, tokens["ann"], hers)


async def test_what_cannot_be_read_is_refused_with_a_reason_and_no_session_ends(tmp_path: Path) -> None:
    async with team(tmp_path) as shared, httpx2.AsyncClient(base_url=shared.url) as http:
        token = shared.people.add("ann")
        session = await begin(shared, token)
        headers = {"authorization": f"Bearer {token}", "mcp-session-id": session}
        for body in (b"", b"{", b"[]", b'{"jsonrpc": "1.0", "id": 5, "result": {}}'):
            refused = await http.post("/mcp", content=body, headers=headers)
            assert refused.status_code == 400
            assert "not passed on" in refused.json()["error"]["message"]
        assert await works(shared, token, session)


async def test_a_modern_request_whose_headers_say_something_else_is_refused() -> None:
    async with over_http(modern=True, behind=True) as client:
        call = client.ask(7, "tools/call", CALL)
        came = await client.server.taken("tools/call")
        client.server.say(response(came.id, {"resultType": "complete", "content": []}))
        assert (await client.taken()).id == 7
        async with httpx2.AsyncClient() as http:
            headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list", "mcp-name": "work"}
            refused = await http.post(client.url, content=call.raw, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, HEADER_MISMATCH)
        assert client.server.got == []
