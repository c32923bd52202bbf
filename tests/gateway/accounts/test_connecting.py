"""Accounts at a server behind a shared gateway: each person connects their own, and nobody's serves another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.gateway.accounts.browsing import Browser
from tests.gateway.accounts.diary import Diary, open_diary
from tests.gateway.teams import Team, questions, team
from tests.gateway.test_shared import HELLO
from tests.server.peers import REVISIONS, free_port, text_of

from handraise.desks import Decision
from handraise.gateway.servers import ServerSet
from handraise.gateway.upstreams import Upstream
from handraise.questions import Accepted, Declined, UrlQuestion
from handraise.revisions import Revision
from handraise.vault.keys import new_key

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.shows("W8")]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture(autouse=True)
def own_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", new_key().hex())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@asynccontextmanager
async def gateway_to(diary: Diary, folder: Path, hold: float = 20, port: int = 0) -> AsyncIterator[Team]:
    upstream = Upstream("diary", url=diary.mcp)
    async with team(folder, servers=ServerSet(upstream), hold=hold, port=port) as shared:
        yield shared


async def at_desk(shared: Team, name: str) -> Browser:
    """A browser that is signed in to the desk."""
    browser = Browser()
    await browser.open(shared.invitation(name))
    assert await browser.press("") == 200
    return browser


async def invited(shared: Team, name: str) -> str:
    """The link that somebody is asked to open, once they agreed to."""
    async with asyncio.timeout(60):
        async for waiting in shared.queue.changes():
            for each in waiting:
                if each.person.subject == name and not each.browsing:
                    assert isinstance(each.question, UrlQuestion)
                    shared.queue.decide(each.id, Decision(Accepted(None), by="agent", desk="test"))
                    return each.question.url
    raise AssertionError


async def connected(shared: Team, diary: Diary, name: str) -> None:
    """Somebody does what they are asked for."""
    async with await at_desk(shared, name) as browser:
        await browser.connect(await invited(shared, name), diary, f"{name}@diary")
        assert browser.heading == "Done"


async def test_everybody_connects_their_own_account_and_uses_no_other(
    revision: Revision, tmp_path: Path
) -> None:
    async with open_diary() as diary, gateway_to(diary, tmp_path) as shared:
        tokens = {name: shared.people.add(name) for name in ("ann", "bob")}
        for name, token in tokens.items():
            async with asyncio.TaskGroup() as both:
                both.create_task(connected(shared, diary, name))
                wrote = both.create_task(_write(shared, revision, token, name))
            assert wrote.result() == f"{name}@diary wrote {name}'s"
        for name, token in tokens.items():
            assert await _write(shared, revision, token, "more") == f"{name}@diary wrote more"
        assert not shared.queue.waiting(), "nobody is asked twice"
    carried = {each["authorization"] for each in diary.headers if "authorization" in each}
    assert len(carried) == 2
    for token in tokens.values():
        assert all(token not in value for each in diary.headers for value in each.values())
    assert len(diary.provider.clients) == 1, "the gateway registers once"


async def _write(shared: Team, revision: Revision, token: str, text: str) -> str:
    text = f"{text}'s" if text in ("ann", "bob") else text
    async with shared.client(revision, token) as client:
        return text_of(await client.call_tool("write", {"text": text}))


async def test_somebody_elses_page_opens_to_nobody_who_is_not_them(tmp_path: Path) -> None:
    async with (
        open_diary() as diary,
        gateway_to(diary, tmp_path) as shared,
        Browser() as stranger,
    ):
        ann, _ = shared.people.add("ann"), shared.people.add("bob")
        writing = asyncio.create_task(_write(shared, Revision.JULY_2026, ann, "x"))
        link = await invited(shared, "ann")
        async with await at_desk(shared, "bob") as bobs:
            assert await bobs.open(link) == 403
            assert bobs.heading == "This page is for somebody else"
        assert await stranger.open(link) == 401
        async with await at_desk(shared, "ann") as anns:
            await anns.connect(link, diary, "ann@diary")
        assert await writing == "ann@diary wrote x"
        assert diary.written == [("ann@diary", "x")]


@pytest.mark.parametrize("where", ["at the desk", "on the page", "at the authorization server"])
async def test_who_declines_ends_it_with_a_sentence(where: str, tmp_path: Path) -> None:
    async with open_diary() as diary, gateway_to(diary, tmp_path) as shared:
        ann = shared.people.add("ann")
        trying = asyncio.create_task(shared.post(ann, HELLO))
        if where == "at the desk":
            (waiting,) = await questions(shared.queue, 1)
            shared.queue.decide(waiting.id, Decision(Declined(), by="agent", desk="test"))
        else:
            link = await invited(shared, "ann")
            async with await at_desk(shared, "ann") as browser:
                if where == "on the page":
                    await browser.open(link)
                    await browser.press("decline")
                else:
                    await browser.connect(link, diary, None)
                assert browser.heading == "Declined"
        told = (await trying).json()["error"]["message"]
        assert "does not want to connect an account for the server 'diary'" in told
        assert "nothing was done" in told


async def test_a_handshake_waits_so_long_and_the_next_one_goes_through(tmp_path: Path) -> None:
    async with open_diary() as diary, gateway_to(diary, tmp_path, hold=0.05) as shared:
        ann = shared.people.add("ann")
        for _ in range(3):
            told = (await shared.post(ann, HELLO)).json()["error"]["message"]
            assert "they have not connected one yet" in told
        assert len(shared.queue.waiting()) == 1, "however often a client tries"
        await connected(shared, diary, "ann")
        assert "result" in (await shared.post(ann, HELLO)).json()
        assert await _write(shared, Revision.NOVEMBER_2025, ann, "x") == "ann@diary wrote x"


async def test_a_token_is_renewed_and_its_person_is_not_asked(revision: Revision, tmp_path: Path) -> None:
    async with open_diary(lifetime=5) as diary, gateway_to(diary, tmp_path) as shared:
        ann = shared.people.add("ann")
        async with asyncio.TaskGroup() as both:
            both.create_task(connected(shared, diary, "ann"))
            both.create_task(_write(shared, revision, ann, "x"))
        diary.provider.lifetime = 3600
        await _write(shared, revision, ann, "y")
        renewed = diary.provider.renewed
        assert renewed, "it was about to end"
        await _write(shared, revision, ann, "z")
        assert diary.provider.renewed == renewed
        diary.provider.end_all()
        assert await _write(shared, revision, ann, "more") == "ann@diary wrote more"
        assert diary.provider.renewed == renewed + 1, "the server said that it is over"
        assert not shared.queue.waiting()


async def test_the_vault_keeps_an_account_beyond_the_gateways_end(tmp_path: Path) -> None:
    async with open_diary() as diary:
        async with gateway_to(diary, tmp_path) as shared:
            ann = shared.people.add("ann")
            async with asyncio.TaskGroup() as both:
                both.create_task(connected(shared, diary, "ann"))
                both.create_task(_write(shared, Revision.JULY_2026, ann, "x"))
        async with gateway_to(diary, tmp_path) as again:
            assert await _write(again, Revision.JULY_2026, ann, "y") == "ann@diary wrote y"
    kept = _everything_in(tmp_path)
    for token in (*diary.provider.tokens, *diary.provider.refreshing):
        assert token.encode() not in kept


async def test_a_page_whose_gateway_ended_says_what_to_do_next(tmp_path: Path) -> None:
    port = free_port()
    async with open_diary() as diary:
        async with gateway_to(diary, tmp_path, hold=0.05, port=port) as before:
            ann = before.people.add("ann")
            await before.post(ann, HELLO)
            link = await invited(before, "ann")
        async with gateway_to(diary, tmp_path, port=port) as shared, Browser() as browser:
            for address in (link, f"{link.rpartition('/')[0]}/back/diary?state=S&code=C"):
                assert await browser.open(address) == 404
                assert "do the same again: you get a new link" in browser.page
            async with asyncio.TaskGroup() as both:
                both.create_task(connected(shared, diary, "ann"))
                wrote = both.create_task(_write(shared, Revision.JULY_2026, ann, "x"))
            assert wrote.result() == "ann@diary wrote x"


async def test_an_account_that_is_gone_is_asked_for_during_a_call_which_waits(
    revision: Revision, tmp_path: Path
) -> None:
    async with open_diary() as diary, gateway_to(diary, tmp_path) as shared:
        ann = shared.people.add("ann")
        async with asyncio.TaskGroup() as both:
            both.create_task(connected(shared, diary, "ann"))
            both.create_task(_write(shared, revision, ann, "x"))
        async with shared.client(revision, ann) as client:
            await client.list_tools()
            diary.provider.end_all()
            diary.provider.refreshing.clear()
            async with asyncio.TaskGroup() as both:
                both.create_task(connected(shared, diary, "ann"))
                wrote = both.create_task(client.call_tool("write", {"text": "y"}))
            assert text_of(wrote.result()) == "ann@diary wrote y"
        assert diary.written == [("ann@diary", "x"), ("ann@diary", "y")]


def _everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
