"""An account for one person alone: `handraise gateway --url` in front of a server that wants to know who they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, ErrorData
from tests.client.hosts import OpenGate
from tests.gateway.accounts.browsing import Browser
from tests.gateway.accounts.diary import Diary, open_diary
from tests.gateway.peers import connect, opening
from tests.gateway.teams import questions
from tests.gateway.test_http import served
from tests.gateway.test_shared import HELLO
from tests.pages.oauth.authority import open_authority
from tests.server.peers import REVISIONS, free_port, text_of

from handraise.desks import Decision, Queue
from handraise.desks.gate import PolicyGate
from handraise.errors import AccountError, SetupError
from handraise.gateway.accounts.accounts import NAME, Accounts
from handraise.gateway.accounts.own_account import Challenge, Invitation, OwnAccount
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.messages import request
from handraise.gateway.options import Options
from handraise.gateway.peers import CAPABILITIES_KEY, MODERN, VERSION_KEY
from handraise.gateway.servers import ServerSet
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import OwnClient, Upstream
from handraise.policy import Policy, Settings
from handraise.policy.settings import LimitSettings
from handraise.questions import Accepted, UrlQuestion
from handraise.revisions import Revision
from handraise.this_user import local_person
from handraise.vault.keys import new_key

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.shows("W8")]

WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


@dataclass
class Alone:
    """A gateway for the user of this computer."""

    url: str
    queue: Queue
    state: GatewayState
    diary: Diary
    seen: list[Any] = field(default_factory=list)
    links: list[Any] = field(default_factory=list)

    async def nobody_waits_outside(self) -> None:
        """Wait until no request waits for an account."""
        async with asyncio.timeout(60):
            while any(link._link._outside for link in self.links):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def connect(self, user: str | None = "me@diary") -> None:
        """Agree at the desk, and do it in the browser."""
        async with asyncio.timeout(60), Browser() as browser:
            async for waiting in self.queue.changes():
                for each in waiting:
                    if isinstance(each.question, UrlQuestion) and not each.browsing:
                        self.seen.append(each)
                        self.queue.decide(each.id, Decision(Accepted(None), by="agent", desk="test"))
                        await browser.connect(each.question.url, self.diary, user)
                        return


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", new_key().hex())


@asynccontextmanager
async def alone(diary: Diary, client: OwnClient | None = None, **options: Any) -> AsyncIterator[Alone]:
    queue = Queue()
    state = GatewayState(
        Options(**{"hold": 20, "too_fast": 0, **options}),
        opening(QuestionHandler(queue, OpenGate(), timeout=300)),
    )
    accounts, upstream = Accounts(state), Upstream("diary", url=diary.mcp, oauth=client)
    links: list[Any] = []

    async def opened(person: Any) -> Any:
        links.append(await ServerSet(upstream).connect(accounts, person))
        return links[-1]

    gateway = HttpGateway(state, opened)
    async with served(gateway, "off") as url:
        yield Alone(url, queue, state, diary, links=links)
        await gateway.aclose()
        await accounts.aclose()


async def write(here: Alone, revision: Revision, text: str, person: Any = None) -> str:
    async with connect(here.url, revision, person) as client:
        return text_of(await client.call_tool("write", {"text": text}))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_the_user_of_this_computer_connects_once(revision: Revision) -> None:
    async with open_diary() as diary, alone(diary) as here:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            wrote = both.create_task(write(here, revision, "x"))
        assert wrote.result() == "me@diary wrote x"
        assert await write(here, revision, "y") == "me@diary wrote y"
    (asked,) = here.seen
    assert asked.origin.name == f"{NAME} for diary", "it is the gateway that asks"
    assert asked.ours, "in words of its own"
    assert "diary" in asked.question.message
    assert "If your browser does not find it" in asked.question.message, "this process may be gone by then"
    assert asked.link.verdict == "ok", "a page on this computer, of a program on this computer"


async def test_without_a_key_for_the_vault_an_account_is_kept_in_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.delenv("HANDRAISE_VAULT_KEY")
    monkeypatch.setenv("HANDRAISE_VAULT_KEY_FILE", str(tmp_path / "none"))
    async with open_diary() as diary, alone(diary) as here:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, Revision.JULY_2026, "x"))
        assert await write(here, Revision.NOVEMBER_2025, "y") == "me@diary wrote y"
    assert "forgotten when the gateway ends" in caplog.text


async def test_a_registration_that_was_given_is_used(tmp_path: Path) -> None:
    from mcp.shared.auth import OAuthClientInformationFull
    from pydantic import AnyUrl

    port = free_port()
    async with (
        open_diary() as diary,
        alone(diary, OwnClient("by-hand", "hush", ("diary", "more"), port)) as here,
    ):
        own = OwnAccount(Accounts(here.state), Upstream("diary", url=diary.mcp), local_person())
        diary.provider.clients["by-hand"] = OAuthClientInformationFull(
            client_id="by-hand",
            client_secret="hush",
            redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/back/{own.service}")],
            scope="diary more",
            token_endpoint_auth_method="client_secret_basic",
        )
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            wrote = both.create_task(write(here, Revision.JULY_2026, "x"))
        assert wrote.result() == "me@diary wrote x"
        (token,) = diary.provider.tokens.values()
        assert (token.client_id, token.scopes) == ("by-hand", ["diary", "more"])


class AtClient:
    """A person in front of a client that opens links."""

    def __init__(self, answer: ElicitResult | ErrorData | None = None) -> None:
        self.links: asyncio.Queue[str] = asyncio.Queue()
        self._answer = answer or ElicitResult(action="accept")

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        self.links.put_nowait(params.url)
        return self._answer


async def list_without_account(here: Alone, person: Any, at_desk: int = 1) -> None:
    """Connect at the desk, as every handshake does; then the account is gone when the client lists tools."""

    async def keep_desk() -> None:
        for _ in range(at_desk):
            await here.connect()

    async with asyncio.TaskGroup() as both, AsyncExitStack() as stack:
        both.create_task(keep_desk())
        client = await stack.enter_async_context(connect(here.url, Revision.NOVEMBER_2025, person))
        here.diary.provider.end_all()
        here.diary.provider.refreshing.clear()
        await client.list_tools()


async def test_a_client_that_opens_links_has_its_person_asked_there_for_what_is_no_call() -> None:
    person = AtClient()
    async with open_diary() as diary, alone(diary) as here:
        async with asyncio.timeout(60), asyncio.TaskGroup() as both:
            both.create_task(list_without_account(here, person))
            async with Browser() as browser:
                await browser.connect(await person.links.get(), diary, "me@diary")
        assert not here.queue.waiting()
    assert len(here.seen) == 1, "a client takes no requests before its handshake is over"


async def test_a_rule_for_the_desk_holds_for_what_is_no_call_too() -> None:
    person = AtClient()
    async with open_diary() as diary, alone(diary, desk="always") as here:
        await list_without_account(here, person, at_desk=2)
    assert person.links.empty()
    assert len(here.seen) == 2


async def test_a_client_that_fails_to_ask_leaves_it_to_the_desk() -> None:
    person = AtClient(ErrorData(code=-32603, message="no window"))
    async with open_diary() as diary, alone(diary) as here:
        await list_without_account(here, person, at_desk=2)
    assert person.links.qsize() == 1
    assert len(here.seen) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [("decline", "does not want to connect an account"), ("cancel", "have not connected one yet")],
)
async def test_a_no_is_told_as_the_error_of_what_is_no_call(answer: Any, told: str) -> None:
    person = AtClient(ElicitResult(action=answer))
    async with open_diary() as diary, alone(diary) as here:
        with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match=told), flatten_subgroups=True):
            await list_without_account(here, person)
        assert not here.queue.waiting()


async def test_a_client_is_not_kept_waiting_without_end_for_what_is_no_call() -> None:
    asked = asyncio.Event()

    async def nobody(context: Any, params: Any) -> ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with open_diary() as diary, alone(diary, hold=2) as here:
        told = pytest.RaisesExc(MCPError, match="trying again asks them again")
        with pytest.RaisesGroup(told, flatten_subgroups=True):
            await list_without_account(here, nobody)
    assert asked.is_set()


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_client_that_opens_links_has_its_person_asked_there_during_a_call(revision: Revision) -> None:
    opened: list[str] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        opened.append(params.url)
        browsing.set()
        return ElicitResult(action="accept")

    browsing = asyncio.Event()
    async with open_diary() as diary, alone(diary) as here, Browser() as browser:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, revision, "x"))
        async with connect(here.url, revision, person) as client:
            await client.list_tools()
            diary.provider.end_all()
            diary.provider.refreshing.clear()
            writing = asyncio.create_task(client.call_tool("write", {"text": "y"}))
            await asyncio.wait_for(browsing.wait(), 20)
            await browser.connect(opened[0], diary, "me@diary")
            assert text_of(await writing) == "me@diary wrote y"
        assert not here.queue.waiting()


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_during_a_call_is_a_sentence_for_the_model(revision: Revision, action: Any) -> None:
    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action=action)

    async with open_diary() as diary, alone(diary) as here:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, revision, "x"))
        async with connect(here.url, revision, person) as client:
            await client.list_tools()
            diary.provider.end_all()
            diary.provider.refreshing.clear()
            told = await client.call_tool("write", {"text": "y"})
    assert told.is_error
    expected = {"decline": "does not want to connect an account", "cancel": "have not connected one yet"}
    assert expected[action] in text_of(told)
    assert diary.written == [("me@diary", "x")]


@pytest.mark.parametrize("agreed", [False, True], ids=["asked", "in the browser"])
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_call_that_was_cancelled_meanwhile_never_reaches_the_server(
    revision: Revision, agreed: bool
) -> None:
    async with open_diary() as diary, alone(diary, grace=0) as here, Browser() as browser:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, revision, "x"))
        async with connect(here.url, revision) as client:
            await client.list_tools()
            diary.provider.end_all()
            diary.provider.refreshing.clear()
            calling = asyncio.create_task(client.call_tool("write", {"text": "y"}))
            (waiting,) = await questions(here.queue, 1)
            if agreed:
                here.queue.decide(waiting.id, Decision(Accepted(None), by="agent", desk="test"))
                for _ in range(50):  # some turns later
                    await asyncio.sleep(0)
            calling.cancel()
            await questions(here.queue, 0)
            await here.nobody_waits_outside()
            await browser.connect(waiting.question.url, diary, "me@diary")
            assert text_of(await client.call_tool("write", {"text": "z"})) == "me@diary wrote z"
    assert [text for _, text in diary.written] == ["x", "z"]


async def test_rounds_that_a_client_never_answers_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.accounts.connecting._MOST_ROUNDS", 2)
    async with open_diary() as diary, alone(diary) as here, httpx2.AsyncClient() as http:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, Revision.JULY_2026, "x"))
        diary.provider.end_all()
        diary.provider.refreshing.clear()
        able = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {"elicitation": {"form": {}, "url": {}}}}
        for id in range(3):
            call = request(id, "tools/call", {"name": "write", "arguments": {"text": "y"}, "_meta": able})
            headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "write"}
            told = (await http.post(here.url, content=call.raw, headers=headers)).json()
            assert told["result"]["resultType"] == "input_required"
        assert len(here.links[-1]._link._entry._rounds) == 2


async def test_where_nobody_is_asked_at_a_desk_the_model_is_told() -> None:
    async with open_diary() as diary, alone(diary, desk="none") as here, httpx2.AsyncClient() as http:
        told = (await http.post(here.url, json=HELLO)).json()["error"]["message"]
        assert "none can be connected now" in told
        assert not here.queue.waiting()


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_server_that_wants_more_gets_it_beside_what_was_agreed_to_before(revision: Revision) -> None:
    async with open_diary() as diary, alone(diary) as here:
        async with asyncio.TaskGroup() as both:
            both.create_task(here.connect())
            both.create_task(write(here, revision, "x"))
        async with connect(here.url, revision) as client:
            await client.list_tools()
            diary.wants = "more"
            async with asyncio.TaskGroup() as both:
                both.create_task(here.connect())
                wrote = both.create_task(client.call_tool("write", {"text": "y"}))
            assert text_of(wrote.result()) == "me@diary wrote y"
        *_, newest = diary.provider.tokens.values()
        assert newest.scopes == ["diary", "more"]


async def test_nothing_is_posted_to_the_authorization_server_before_the_person_goes_there() -> None:
    """A server names its authorization server, so it could have us post to whatever it likes."""
    async with open_diary() as diary, alone(diary) as here:
        writing = asyncio.create_task(write(here, Revision.JULY_2026, "x"))
        (asked,) = await questions(here.queue, 1)
        assert diary.provider.clients == {}
        async with Browser() as browser:
            assert await browser.open(asked.question.url) == 200
            assert diary.provider.clients == {}, "the page is only shown"
        await here.connect()
        assert await writing == "me@diary wrote x"
        assert len(diary.provider.clients) == 1


def own_account(url: str, **options: Any) -> OwnAccount:
    state = GatewayState(
        Options(**{"too_fast": 0, **options}), opening(QuestionHandler(Queue(), OpenGate(), timeout=300))
    )
    return OwnAccount(Accounts(state), Upstream("notes", url=url), local_person())


@pytest.mark.parametrize("url", ["https://1.1.1.1/mcp", "http://1.1.1.1/mcp", "https://10.0.0.1/mcp"])
async def test_a_remote_server_has_nothing_fetched_from_this_computer(url: str) -> None:
    async with open_authority() as local:
        named = Challenge(f"{local.issuer}/.well-known/oauth-authorization-server")
        with pytest.raises(AccountError, match="--unsafe-network"):
            await own_account(url).invite(named, "tool write of notes")
        assert local.received == []


async def test_a_server_on_this_computer_may_name_this_computer_and_no_other_private_address() -> None:
    local, remote = (
        own_account("http://localhost:9/mcp").reach,
        own_account("https://notes.example/mcp").reach,
    )
    assert await local.addresses("http://127.0.0.1:8000/keys") == ("127.0.0.1",)
    for reach, url in (
        (local, "https://10.0.0.1/keys"),
        (local, "http://10.0.0.1/keys"),
        (remote, "https://127.0.0.1/keys"),
        (remote, "http://127.0.0.1/keys"),
    ):
        with pytest.raises(SetupError):
            await reach.addresses(url)


async def test_a_server_that_demands_accounts_uses_up_no_questions_of_another_one() -> None:
    limited = PolicyGate(Policy(Settings(limits=LimitSettings(per_minute=1))))
    queue = Queue()
    state = GatewayState(Options(too_fast=0), opening(QuestionHandler(queue, limited, timeout=300)))
    accounts = Accounts(state)
    for name in ("greedy", "greedy", "notes"):
        own = OwnAccount(accounts, Upstream(name, url=f"https://{name}.example/mcp"), local_person())
        question = UrlQuestion("Connect", f"https://{name}.example/page", "e")
        own.ask_at_desk(Invitation(question, asyncio.get_running_loop().create_future()))
    waiting = await questions(queue, 2)
    assert [each.origin.name for each in waiting] == [f"{NAME} for greedy", f"{NAME} for notes"]


async def test_a_network_that_the_user_names_may_have_authorization_servers() -> None:
    reach = own_account("https://notes.example/mcp", unsafe_networks=(ip_network("10.1.0.0/16"),)).reach
    assert await reach.addresses("https://10.1.2.3/keys") == ("10.1.2.3",)


async def test_a_server_in_a_private_network_that_the_user_configured_may_name_itself() -> None:
    reach = own_account("https://10.0.0.1:8443/mcp").reach
    assert await reach.addresses("https://10.0.0.1:8443/.well-known/oauth-protected-resource") is None
    for url in ("https://10.0.0.1/x", "https://10.0.0.1:9443/x", "https://10.0.0.2:8443/x"):
        with pytest.raises(SetupError):
            await reach.addresses(url)
