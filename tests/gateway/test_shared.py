"""Several people over HTTP: each is known by a token, sees and answers their own questions, and nobody else's."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import httpx2
import pytest
from tests.gateway.notes import make_notes
from tests.gateway.peers import MemoryLink
from tests.gateway.teams import Browser, Team, handles, questions, team
from tests.gateway.test_holding import ended, ticket_in
from tests.server.peers import REVISIONS, Person, accept, free_port, text_of

from handraise.desks import Decision, Queue
from handraise.errors import SetupError
from handraise.gateway.client_desk import load_habits
from handraise.gateway.eras import EraLink
from handraise.gateway.http.admission import require_loopback
from handraise.gateway.links import Link
from handraise.gateway.options import Options
from handraise.gateway.people import PeopleFile
from handraise.gateway.serve_shared import Sharing, serve_shared
from handraise.gateway.servers import ServerSet
from handraise.gateway.state import habits_file
from handraise.ledger import Ledger
from handraise.questions import Accepted, Declined
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7")]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_question_is_its_persons_only_at_the_desk_and_by_ticket(
    revision: Revision, tmp_path: Path
) -> None:
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        async with shared.client(revision, ann) as anns, shared.client(revision, bob) as bobs:
            parked = await anns.call_tool("delete", {"title": "plans"})
            await questions(shared.queue, 1)
            stolen = await bobs.call_tool("handraise_resume", {"ticket": ticket_in(parked)})
            assert "no call with this ticket" in text_of(stolen)
            hers, his = Browser(shared), Browser(shared)
            assert await hers.sign_in(shared.invitation("ann")) == 303
            assert await his.sign_in(shared.invitation("bob")) == 303
            (question,) = handles(await hers.see())
            assert not handles(await his.see())
            assert "plans" not in await his.see()
            await _cannot_be_answered_by(his, question)
            (waiting,) = shared.queue.waiting()
            assert waiting.person.subject == "ann"
            shared.queue.decide(waiting.id, Decision(Accepted({"answer": "old"}), by="agent", desk="test"))
            done = await ended(anns, ticket_in(parked))
            assert text_of(done) == "deleted plans: old"
            await hers.aclose()
            await his.aclose()


async def _cannot_be_answered_by(other: Browser, question: str) -> None:
    """Neither where it is nor in the other's own place."""
    own = re.sub(r"^/[^/]+/", other.inbox, question)
    for path in (question, own):
        assert (await other.get(path)).status_code in (403, 404)
        assert (await other.post(path, do="accept", answer="x")).status_code in (403, 404)


async def test_the_history_at_the_desk_is_everybodys_own_also_from_before(tmp_path: Path) -> None:
    """Decided in one run of the gateway, and looked at in the next."""
    ledger = Ledger.at(tmp_path / "ledger.db")
    async with (
        team(tmp_path, ledger=ledger) as shared,
        shared.client(Revision.JULY_2026, shared.people.add("ann")) as anns,
    ):
        await anns.call_tool("delete", {"title": "plans"})
        (waiting,) = await questions(shared.queue, 1)
        shared.queue.decide(waiting.id, Decision(Declined()))
        await questions(shared.queue, 0)
    async with team(tmp_path, ledger=ledger) as shared:
        shared.people.add("bob")
        seen = {}
        for name in ("ann", "bob"):
            browser = Browser(shared)
            await browser.sign_in(shared.invitation(name))
            seen[name] = (await browser.get(f"{browser.inbox}history")).text
            await browser.aclose()
        assert "A person declined it" in seen["ann"]
        assert "A person declined it" not in seen["bob"]
    await ledger.aclose()


async def test_the_same_call_of_two_people_is_two_questions(revision: Revision, tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        async with shared.client(revision, ann) as anns, shared.client(revision, bob) as bobs:
            one = await anns.call_tool("delete", {"title": "plans"})
            other = await bobs.call_tool("delete", {"title": "plans"})
            assert ticket_in(one) != ticket_in(other)
            waiting = await questions(shared.queue, 2)
            assert {each.person.subject for each in waiting} == {"ann", "bob"}
        assert len(shared.links) >= 2


async def test_a_session_is_its_persons_only(tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        began = await shared.post(ann, HELLO)
        session = began.headers["mcp-session-id"]
        assert (await shared.post(bob, LIST, **{"mcp-session-id": session})).status_code == 404
        assert (await shared.post(ann, LIST, **{"mcp-session-id": session})).status_code == 200


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer hr_guess", f"Bearer {'x' * 5000}", "Basic YW5uOmFubg==", "operator"],
    ids=repr,
)
async def test_nobody_is_let_in_without_a_token_of_theirs(given: str, tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        refused = await shared.post(None, HELLO, **({"authorization": given} if given else {}))
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert not shared.links


async def test_who_is_taken_out_of_the_file_is_out_at_once(tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        assert (await shared.post(ann, HELLO)).status_code == 200
        async with aclosing(Browser(shared)) as browser:
            assert await browser.sign_in(shared.invitation("ann")) == 303
            assert (await browser.get(browser.inbox)).status_code == 200
            shared.people.remove("ann")
            assert (await shared.post(ann, HELLO)).status_code == 401
            assert (await browser.get(browser.inbox)).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403)],
    ids=["name", "page", "sandboxed page"],
)
async def test_other_names_and_other_sites_are_refused(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        assert (await shared.post(ann, HELLO, **headers)).status_code == status
        assert not shared.links


async def test_a_body_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.http.exchange.LONGEST", 1000)
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        refused = await shared.post(ann, {**LIST, "params": {"x": "y" * 2000}})
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, -32700)


@pytest.mark.shows("W8")
async def test_a_persons_token_goes_no_further(revision: Revision, tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        async with shared.client(revision, ann) as client:
            await client.call_tool("echo", {"text": "x"})
        sent = b"".join(message.raw for link in shared.links for message in link.sent)
    assert sent
    assert ann.encode() not in sent


@pytest.mark.shows("W9")
async def test_the_token_of_a_client_does_not_open_the_desk(tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        ann, browser = shared.people.add("ann"), Browser(shared)
        for path in ("/", "/enter/" + ann, "/sign-in/" + ann, f"/{ann}/"):
            assert (await browser.get(path)).status_code in (403, 404)
        await browser.aclose()


async def test_a_link_works_once_for_ten_minutes_and_not_from_before_the_start(tmp_path: Path) -> None:
    async with team(tmp_path) as shared:
        shared.people.add("ann")
        link, first, second = shared.invitation("ann"), Browser(shared), Browser(shared)
        assert await first.sign_in(link) == 303
        assert await second.sign_in(link) == 403
        assert await second.sign_in(shared.invitation("ann", time.time() - 60)) == 403
        assert await second.sign_in(shared.invitation("ann", time.time() + 60)) == 403
        assert await second.sign_in(shared.invitation("ann")[:-1]) == 403
        assert await second.sign_in(shared.invitation("nobody")) == 403
        for browser in (first, second):
            await browser.aclose()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_without_people_only_this_computer_is_served(host: str) -> None:
    with pytest.raises(SetupError, match="--people"):
        require_loopback(host)


@pytest.mark.parametrize("url", ["http://gateway.example", "https://gateway.example/x", "gateway.example"])
def test_a_shared_gateway_is_found_under_https(url: str) -> None:
    with pytest.raises(SetupError, match="https"):
        Sharing(url, issuer="https://id.example")


async def test_open_streams_of_somebody_who_was_taken_out_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.serve_shared._RECHECK", 0.1)
    async with team(tmp_path) as shared, httpx2.AsyncClient() as http, aclosing(Browser(shared)) as browser:
        tokens = {name: shared.people.add(name) for name in ("ann", "bob")}
        following = {}
        for name, token in tokens.items():
            session = (await shared.post(token, HELLO)).headers["mcp-session-id"]
            headers = {"authorization": f"Bearer {token}", "mcp-session-id": session}
            following[name] = asyncio.create_task(_read(http, f"{shared.url}/mcp", headers))
        assert await browser.sign_in(shared.invitation("ann")) == 303
        desk = asyncio.create_task(browser.get(f"{browser.inbox}events"))
        async with shared.client(Revision.JULY_2026, tokens["bob"]) as bob:
            await bob.call_tool("delete", {"title": "plans"})
            await questions(shared.queue, 1)
            assert not following["ann"].done()
            assert not desk.done()
            shared.people.remove("ann")
            await asyncio.wait_for(following["ann"], 5)
            await bob.call_tool("delete", {"title": "more plans"})  # the desk looks at every change
            assert (await asyncio.wait_for(desk, 5)).text.count('"') == 0
        assert not following["bob"].done()
        following["bob"].cancel()


async def _read(http: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> None:
    async with http.stream("GET", url, headers={**headers, "accept": "text/event-stream"}) as reply:
        assert reply.status_code == 200
        await reply.aread()


async def test_the_page_behind_a_link_says_whose_desk_it_opens(tmp_path: Path) -> None:
    """Otherwise somebody who sends their own link to another person has their questions answered."""
    async with team(tmp_path) as shared, aclosing(Browser(shared)) as browser:
        shared.people.add("eve")
        page = await browser.get((await browser.get(shared.invitation("eve"))).headers["location"])
        assert "This opens the desk of eve." in re.sub(r"<[^>]+>", "", page.text)


async def test_one_person_follows_the_desk_with_a_few_pages_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.desks.web.site._MOST_STREAMS", 2)
    async with team(tmp_path) as shared, AsyncExitStack() as browsers:
        following = []
        for name in ("ann", "ann", "bob"):
            shared.people.add(name)
            browser = await browsers.enter_async_context(aclosing(Browser(shared)))
            assert await browser.sign_in(shared.invitation(name)) == 303
            following += [asyncio.create_task(browser.get(f"{browser.inbox}events")) for _ in range(2)]
            done, _ = await asyncio.wait(following, timeout=0.5)
        assert [each.done() for each in following] == [False, False, True, True, False, False]
        assert {each.result().status_code for each in done} == {204}
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)


@pytest.mark.shows("W3c")
async def test_what_clients_were_seen_doing_is_kept_when_the_gateway_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Notes(ServerSet):
        async def connect(self, accounts: object = None, person: object = None) -> Link:
            link = MemoryLink(make_notes())
            await link.open()
            return EraLink(link)

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    people, ready = PeopleFile(tmp_path / "people.json"), asyncio.Event()
    port, token = free_port(), people.add("ann")
    sharing = Sharing(f"http://127.0.0.1:{port}", people)
    async with asyncio.timeout(60):
        serving = asyncio.ensure_future(
            serve_shared(
                Notes(), Options(hold=30, too_fast=0), "127.0.0.1", port, sharing, lambda _: ready.set()
            )
        )
        await ready.wait()
        client = Team(sharing.public_url, Queue(), people).client(
            Revision.NOVEMBER_2025, token, Person(accept(answer="b"), accept(answer="short"))
        )
        async with client as connected:
            await connected.call_tool("rename", {"title": "a"})
        os.kill(os.getpid(), signal.SIGTERM)
        assert await serving == 0
    ((name, seen),) = load_habits(habits_file(os.environ)).items()
    assert name.endswith(" (ann)"), "one person's client says nothing about another's"
    assert (seen.answered, seen.last) == (2, "answered")
