"""Accounts that a tool asks for: by `ask.require` and `ask.connect`, and without the token of the client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2 as httpx
import mcp_types as types
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl
from starlette.requests import Request
from tests.client.hosts import host, over_http
from tests.pages.oauth.authority import Authority, open_authority
from tests.server.filling import ACCEPT, SECRET, AtTheBrowser, fill
from tests.server.peers import CANCEL, DECLINE, Person, connect, free_port, text_of
from tests.server.rounds import by_hand

from handraise import (
    Accepted,
    Expired,
    Fallback,
    Handraise,
    NotSupported,
    SqliteStore,
    UrlQuestion,
    ask,
    complete,
    replayable,
)
from handraise import Person as Somebody
from handraise.desks.scripted import Line
from handraise.pages import OwnSessions, Pages, SecretField, SecretPage
from handraise.pages.entry_pages import ONE
from handraise.pages.oauth import Account, ConnectPage
from handraise.revisions import Revision
from handraise.vault import EphemeralKeys, Secret

MCP_TOKEN = "the-clients-own-mcp-token"
WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


def with_tools(server: MCPServer, authority: Authority) -> MCPServer:
    account = Account("Git Place", "notes-client", authority.issuer, {"repo": "Read your code"}, "secret-77")

    @server.tool()
    async def needy() -> str:
        await ask.require(ConnectPage(account), timeout=20)
        return (await ask.connect(account)).or_stop().reveal()

    @server.tool()
    async def issue() -> str:
        return (await ask.connect(account, timeout=20)).or_stop().reveal()

    return server


async def connect_account(link: str, authority: Authority, cookie: str = "") -> str:
    """Open the page, go on to the service, agree there and come back; the address at which they agreed."""
    parts = urlsplit(link)
    async with httpx.AsyncClient() as browser:
        page = await browser.get(link, headers={"cookie": cookie})
        own = page.headers["set-cookie"].partition(";")[0]
        cookies = {"cookie": "; ".join(filter(None, (own, cookie)))}
        ticket = page.text.partition("ticket=")[2].partition('"')[0]
        out = await browser.get(f"{link}/go?ticket={ticket}", headers=cookies)
        agreed_at = out.headers["location"]
        returned = urlsplit(authority.agree(agreed_at))
        path = urlsplit(parse_qs(urlsplit(agreed_at).query)["redirect_uri"][0]).path
        back = await browser.get(f"{parts.scheme}://{parts.netloc}{path}?{returned.query}", headers=cookies)
        assert back.status_code == 303
    return str(agreed_at)


@pytest.mark.shows("L3")
async def test_a_required_account_is_told_by_32042_and_the_next_call_has_its_token() -> None:
    async with open_authority() as authority:
        server = MCPServer("office")
        Handraise().install(server)
        async with connect(with_tools(server, authority), Revision.NOVEMBER_2025, Person()) as client:
            with pytest.raises(MCPError) as needed:
                await client.call_tool("needy")
            assert needed.value.code == -32042
            (elicitation,) = needed.value.data["elicitations"]
            await connect_account(elicitation["url"], authority)
            assert text_of(await client.call_tool("needy")).startswith("access-")


@pytest.mark.shows("L3", "L4")
async def test_a_required_account_is_a_round_on_the_modern_revision() -> None:
    async with open_authority() as authority:
        server, connecting = MCPServer("office"), list[asyncio.Task[str]]()
        Handraise().install(server)

        async def person(_context: Any, params: Any) -> types.ElicitResult:
            if not connecting:
                connecting.append(asyncio.create_task(connect_account(params.url, authority)))
            return ACCEPT

        async with connect(with_tools(server, authority), Revision.JULY_2026, person) as client:
            assert text_of(await client.call_tool("needy")).startswith("access-")
            await connecting[0]


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.shows("L3", "L4")
async def test_the_client_kit_goes_the_whole_way_to_a_required_account(revision: Revision) -> None:
    script = [Line("accept", message="Git Place"), Line("leave", message="Git Place", repeat=True)]
    async with open_authority() as authority:
        server = Handraise().install(MCPServer("office"))
        async with host(with_tools(server, authority), revision, script) as here:
            calling = asyncio.create_task(here.client.call_tool("needy"))
            async with asyncio.timeout(60):
                while not here.events:  # noqa: ASYNC110 - the person has not agreed to the link yet
                    await asyncio.sleep(0.01)
            question = here.events[0].waiting.question
            assert isinstance(question, UrlQuestion)
            await connect_account(question.url, authority)
            async with asyncio.timeout(60):
                assert text_of(await calling).startswith("access-")
            assert here.queue.waiting() == ()


class Tokens:
    """Who comes with the client's token is Ann."""

    async def verify_token(self, token: str) -> AccessToken | None:
        claims = {"iss": "https://id.example", "sub": "ann"}
        known = AccessToken(token=token, client_id="app", scopes=[], subject="ann", claims=claims)
        return known if token == MCP_TOKEN else None


def who(request: Request) -> Somebody | None:
    user = request.cookies.get("user")
    return Somebody("https://id.example", user, "token") if user else None


@pytest.mark.shows("L8")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_the_clients_own_token_never_reaches_the_service(revision: Revision) -> None:
    async with open_authority(lifetime=1) as authority:
        public = f"http://127.0.0.1:{free_port()}"
        auth = AuthSettings(
            issuer_url=AnyHttpUrl("https://id.example"),
            resource_server_url=AnyHttpUrl(f"{public}/mcp"),
            validate_token_resource=False,
        )
        server = MCPServer("office", auth=auth, token_verifier=Tokens())
        Handraise(public_url=public, pages=Pages(sign_in=OwnSessions(who))).install(server)
        app = with_tools(server, authority).streamable_http_app()
        connecting: list[asyncio.Task[str]] = []

        async def person(_context: Any, params: Any) -> types.ElicitResult:
            if not connecting:
                connecting.append(asyncio.create_task(connect_account(params.url, authority, "user=ann")))
            return ACCEPT

        async with (
            over_http(app, urlsplit(public).port or 0) as url,
            httpx.AsyncClient(headers={"authorization": f"Bearer {MCP_TOKEN}"}, timeout=30) as web,
            connect(streamable_http_client(url, http_client=web), revision, person) as client,
        ):
            given = text_of(await client.call_tool("issue"))
            renewed = text_of(await client.call_tool("issue"))
            agreed_at = await connecting[0]
        assert given.startswith("access-")
        assert renewed not in (given, MCP_TOKEN), "it ended at once, and the service was asked again"
        assert any("grant_type=refresh_token" in request for request in authority.received)
        assert any("authorization" in request for request in authority.received), "headers are searched, too"
        for request in (agreed_at, *authority.received):
            assert MCP_TOKEN not in request


WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


PAGE: SecretPage[Secret] = SecretPage("GitHub token", (SecretField(ONE, "GitHub token"),), service="github")


@dataclass
class Mail:
    host: str


def office(**options: Any) -> MCPServer:
    server = MCPServer("office")
    Handraise(**options).install(server)
    known: list[Any] = []
    server.known = known  # type: ignore[attr-defined]

    @server.tool()
    async def issue(service: str = "github", timeout: float = 20) -> str:
        answer = await ask.secret(
            "GitHub token", service=service or None, because="The issue is yours.", timeout=timeout
        )
        known.append(answer)
        return answer.action

    @server.tool()
    async def mail() -> str:
        answer = await ask.setup("Mail", Mail, secrets=[SecretField("password")], service="mail", timeout=20)
        known.append(answer)
        return answer.action

    @server.tool()
    async def careful() -> str:
        answer = await ask.secret("GitHub token", service="github", fallback="anonymous")
        return "fallback" if isinstance(answer, Fallback) else answer.action

    @server.tool()
    async def hopeful() -> str:
        try:
            await ask.secret("GitHub token", service="github", timeout=0.3)
        except (NotSupported, Expired) as error:
            return error.code
        return "answered"

    @server.tool()
    async def needy() -> str:
        await ask.require(PAGE, timeout=20)
        answer = await ask.secret("GitHub token", service="github")
        known.append(answer)
        return answer.action

    return server


@pytest.mark.shows("L1", "L2", "L4")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_secret_comes_from_the_page_and_then_from_the_vault(revision: Revision) -> None:
    server, person, notices = office(), AtTheBrowser(), []

    async def noticed(message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            notices.append(message.params.elicitation_id)

    async with connect(server, revision, person, message_handler=noticed) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("issue")) == "accept"
        assert await person.done() == [303]
    assert server.known == [Accepted(Secret(SECRET))] * 2  # type: ignore[attr-defined]
    assert len(person.links) == 1
    assert "Why: The issue is yours." in person.messages[0]
    assert len(notices) == (1 if revision.legacy else 0)


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_what_belongs_to_no_service_is_asked_for_every_time(revision: Revision) -> None:
    server, person = office(), AtTheBrowser()
    async with connect(server, revision, person) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("issue", {"service": ""})) == "accept"
        await person.done()
    assert len(set(person.links)) == 2


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_set_up_comes_typed_and_is_remembered(revision: Revision) -> None:
    server, person = office(), AtTheBrowser(do="enter", f0="mail.example", s0="hunter2")
    async with connect(server, revision, person) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("mail")) == "accept"
        await person.done()
    for answer in server.known:  # type: ignore[attr-defined]
        assert answer.data.data == Mail("mail.example")
        assert answer.data.secrets["password"].reveal() == "hunter2"
    assert len(person.links) == 1


@pytest.mark.shows("O1")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.parametrize("button", ["decline", "cancel"])
async def test_a_no_on_the_page_ends_the_wait_at_once(revision: Revision, button: str) -> None:
    person = AtTheBrowser(do=button)
    async with connect(office(), revision, person) as client:
        assert text_of(await client.call_tool("issue")) == button
        assert await person.done() == [303]


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.parametrize(("answer", "told"), [(DECLINE, "decline"), (CANCEL, "cancel")])
async def test_a_no_in_the_client_closes_the_page(
    revision: Revision, answer: types.ElicitResult, told: str
) -> None:
    person = Person(answer)
    async with connect(office(), revision, person) as client:
        assert text_of(await client.call_tool("issue")) == told
        link = person.asked[0].url  # type: ignore[union-attr]
        assert await fill(link, {"do": "enter", "s0": SECRET}) == 200  # a note, and no form on it


@pytest.mark.shows("O2", "C8")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_closed_tab_is_expired_and_never_a_hang(revision: Revision) -> None:
    async with connect(office(hold=0.1), revision, Person(*[ACCEPT] * 9)) as client:
        assert text_of(await client.call_tool("hopeful")) == "expired"


@pytest.mark.shows("N2", "N5", "N6")
@pytest.mark.parametrize("revision", list(Revision), ids=str)
async def test_clients_without_url_mode_are_not_asked(revision: Revision) -> None:
    async with connect(office(), revision, Person(), modes="form") as client:
        assert text_of(await client.call_tool("careful")) == "fallback"
        assert text_of(await client.call_tool("hopeful")) == "not_supported"


@pytest.mark.shows("L3")
async def test_a_required_page_is_told_by_32042_and_the_next_call_goes_through() -> None:
    server = office()
    async with connect(server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("needy")
        assert needed.value.code == -32042
        (elicitation,) = needed.value.data["elicitations"]
        with pytest.raises(MCPError) as again:
            await client.call_tool("needy")
        assert again.value.data == needed.value.data, "the same page, not another one"
        assert await fill(elicitation["url"], {"do": "enter", "s0": SECRET}) == 303
        assert text_of(await client.call_tool("needy")) == "accept"
    assert server.known == [Accepted(Secret(SECRET))]  # type: ignore[attr-defined]


@pytest.mark.shows("L3", "L4")
async def test_a_required_page_is_a_round_on_the_modern_revision() -> None:
    server, person = office(), AtTheBrowser()
    async with connect(server, Revision.JULY_2026, person) as client:
        assert text_of(await client.call_tool("needy")) == "accept"
        await person.done()


async def test_a_required_page_that_was_declined_ends_the_next_call_and_may_be_asked_for_again() -> None:
    async with connect(office(), Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("needy")
        link = needed.value.data["elicitations"][0]["url"]
        assert await fill(link, {"do": "decline"}) == 303
        stopped = await client.call_tool("needy")
        assert (stopped.is_error, text_of(stopped)) == (True, "The person declined.")
        with pytest.raises(MCPError) as anew:
            await client.call_tool("needy")
        assert anew.value.data["elicitations"][0]["url"] != link


@pytest.mark.shows("L4")
async def test_the_retry_is_held_and_then_shows_the_same_link_again() -> None:
    async with by_hand(office(hold=0.05)) as rounds:
        first = await rounds.call("issue", {})
        (key,) = first["inputRequests"]
        link = first["inputRequests"][key]["params"]["url"]
        consent = {key: {"action": "accept", "content": {"secret": "forged"}}}
        second = await rounds.call("issue", {}, state=first["requestState"], responses=consent)
        assert second["inputRequests"][key]["params"]["url"] == link
        assert await fill(link, {"do": "enter", "s0": SECRET}) == 303
        last = await rounds.call("issue", {}, state=second["requestState"], responses=consent)
        assert last["content"][0]["text"] == "accept"


@pytest.mark.shows("C6")
async def test_a_replayed_body_goes_on_with_the_same_page() -> None:
    server, answers = MCPServer("replaying"), []
    Handraise(resume="replay").install(server)

    @server.tool()
    @replayable
    async def issue() -> str:
        answers.append(await ask.secret("GitHub token", service="github", timeout=20))
        sure = await ask.confirm("Sure?")
        return sure.action

    async with by_hand(server) as rounds:
        first = await rounds.call("issue", {})
        (key,) = first["inputRequests"]
        link = first["inputRequests"][key]["params"]["url"]
        assert await fill(link, {"do": "enter", "s0": SECRET}) == 303
        second = await rounds.call(
            "issue", {}, state=first["requestState"], responses={key: {"action": "accept"}}
        )
        (sure,) = second["inputRequests"]
        yes = {sure: {"action": "accept", "content": {"answer": True}}}
        last = await rounds.call("issue", {}, state=second["requestState"], responses=yes)
    assert last["content"][0]["text"] == "accept"
    assert all(answer == Accepted(Secret(SECRET)) for answer in answers)


@pytest.mark.shows("L11", "S5")
async def test_with_a_durable_store_and_no_key_nobody_is_asked(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.delenv("HANDRAISE_VAULT_KEY", raising=False)
    monkeypatch.delenv("HANDRAISE_VAULT_KEY_FILE", raising=False)
    caplog.set_level(logging.ERROR, "handraise")
    store = SqliteStore(tmp_path / "store.db")
    async with connect(office(store=store), Revision.JULY_2026, Person()) as client:
        refused = await client.call_tool("issue")
        assert refused.is_error
        assert text_of(refused) == "This server is not set up to ask."
    assert "handraise vault new-key" in caplog.text
    await store.aclose()


async def test_a_secret_outlives_the_process_that_asked_for_it(tmp_path: Any) -> None:
    keys, person = EphemeralKeys(), AtTheBrowser()
    for _ in range(2):
        store = SqliteStore(tmp_path / "store.db")
        server = office(store=store, pages=Pages(keys=keys))
        async with connect(server, Revision.JULY_2026, person) as client:
            assert text_of(await client.call_tool("issue")) == "accept"
            await person.done()
        await store.aclose()
    assert len(person.links) == 1


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_two_pages_are_asked_for_at_once_and_each_has_its_own_answer(revision: Revision) -> None:
    server, person = MCPServer("both"), AtTheBrowser()
    known: list[Any] = []
    Handraise().install(server)

    @server.tool()
    async def both() -> str:
        answers = await ask.all(
            one=ask.secret("One", service="one", timeout=20), two=ask.secret("Two", timeout=20)
        )
        known.extend(answers.values())
        return " ".join(answer.action for answer in answers.values())

    async with connect(server, revision, person) as client:
        assert text_of(await client.call_tool("both")) == "accept accept"
        await person.done()
    assert len(set(person.links)) == 2
    assert known == [Accepted(Secret(SECRET))] * 2


@pytest.mark.shows("X4")
async def test_the_same_request_dispatched_twice_has_one_page() -> None:
    async with by_hand(office()) as rounds:
        first, again = [await rounds.call("issue", {}, request_id="twice") for _ in range(2)]
        deliberate = await rounds.call("issue", {}, request_id="another")
        (one,), (same,), (other,) = (
            {request["params"]["url"] for request in call["inputRequests"].values()}
            for call in (first, again, deliberate)
        )
        assert one == same
        assert one != other


@dataclass(frozen=True)
class Renewing(SecretPage[Secret]):
    """A page whose secret is another one at every use."""

    async def recall(self, contents: Mapping[str, Any]) -> Secret | None:
        return Secret(contents[ONE] + "+")


async def test_what_a_page_renews_is_kept_anew() -> None:
    server, person, known = MCPServer("renewing"), AtTheBrowser(), []
    Handraise().install(server)
    page = Renewing("Token", (SecretField(ONE),), service="github")

    @server.tool()
    async def use() -> str:
        known.append((await ask.page(page, timeout=20)).or_stop().reveal())
        return "used"

    async with connect(server, Revision.JULY_2026, person) as client:
        for _ in range(3):
            await client.call_tool("use")
        await person.done()
    assert known == [SECRET, SECRET + "+", SECRET + "++"]


LINK = "https://mcp.example.com/connect"


with_links = pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)


class Early:
    """A server whose tools send what they need early, and remember what they were told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.asked_by: Any = None
        self.server = Handraise().install(MCPServer("early", log_level="CRITICAL"))
        for tool in (self.page, self.page_among_others, self.required, self.required_page, self.forgotten):
            self.server.tool()(tool)

    async def page(self) -> str:
        token = ask.secret("Token", service="github", timeout=20).prepare()
        self.told.append(dict(token.request))
        self.told.append(dict(await token.sent()))
        answer = await token
        self.told.append(answer)
        return answer.action

    async def page_among_others(self) -> str:
        both = ask.all(name=ask.text("Name?"), token=ask.secret("Token", timeout=20)).prepare()
        self.told.append(await both.sent())
        answers = await both
        return " ".join(answer.action for answer in answers.values())

    async def required(self) -> str:
        self.asked_by = ask.person()
        needed = ask.require(UrlQuestion("Connect first.", LINK, "chosen"), timeout=20).prepare()
        self.told.append(dict(await needed.sent()))
        await needed
        return "connected"

    async def required_page(self) -> str:
        needed = ask.require(PAGE, timeout=20).prepare()
        self.told.append(dict(await needed.sent()))
        await needed
        return "connected"

    async def forgotten(self) -> str:
        ask.require(UrlQuestion("Connect first.", LINK, "forgotten")).prepare()
        await anyio.lowlevel.checkpoint()
        return "returned"


@with_links
async def test_a_page_that_is_sent_early_tells_its_link_once_it_has_one(revision: Revision) -> None:
    early, person = Early(), AtTheBrowser()
    async with connect(early.server, revision, person) as client:
        assert text_of(await client.call_tool("page")) == "accept"
        assert text_of(await client.call_tool("page")) == "accept"  # from the vault, without a question
        await person.done()
    before, sent, answer, *from_the_vault = early.told
    assert before == {}
    assert [sent["params"]["url"]] == person.links
    assert answer == Accepted(Secret(SECRET))
    assert from_the_vault == [{}, {}, answer]


@with_links
async def test_a_page_among_questions_that_are_sent_early_does_too(revision: Revision) -> None:
    early, browser = Early(), AtTheBrowser()

    async def person(context: Any, params: Any) -> Any:
        return DECLINE if params.mode == "form" else await browser(context, params)

    async with connect(early.server, revision, person) as client:
        assert text_of(await client.call_tool("page_among_others")) == "decline accept"
        await browser.done()
    [sent] = early.told
    assert sent["name"]["params"]["message"] == "Name?"
    assert [sent["token"]["params"]["url"]] == browser.links


@pytest.mark.parametrize("tool", ["page", "page_among_others", "required", "required_page"])
async def test_what_cannot_be_asked_early_is_told_where_it_is_awaited(tool: str, revision: Revision) -> None:
    """Nobody has to wait for a link that never comes."""
    early = Early()
    async with connect(early.server, revision, Person(DECLINE), modes="form") as client:
        with anyio.fail_after(60):
            if revision.modern:
                with pytest.raises(MCPError) as refused:
                    await client.call_tool(tool)
                assert refused.value.code == -32021
            else:
                assert text_of(await client.call_tool(tool)) == NotSupported("url").public


async def test_what_is_required_first_may_be_sent_early_in_a_round() -> None:
    early = Early()

    async def finish(_params: Any) -> Any:
        await complete("chosen", person=early.asked_by)
        return ACCEPT

    async with connect(early.server, Revision.JULY_2026, Person(finish)) as client:
        assert text_of(await client.call_tool("required")) == "connected"
        assert text_of(await client.call_tool("required")) == "connected"  # nothing is missing any more
    first, again = early.told
    [asked] = first.values()
    link = {"mode": "url", "message": "Connect first.", "url": LINK, "elicitationId": "chosen"}
    assert {name: value for name, value in asked["params"].items() if name != "_meta"} == link
    assert again == {}


async def test_what_is_required_first_and_sent_early_ends_the_call_with_32042_where_it_is_awaited() -> None:
    early = Early()
    async with connect(early.server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("required")
        assert needed.value.code == -32042
        assert early.told == [needed.value.data]
        assert early.told[0]["elicitations"][0]["elicitationId"] == "chosen"
        await complete("chosen", person=early.asked_by)
        assert text_of(await client.call_tool("required")) == "connected"


@with_links
async def test_a_page_may_be_required_early(revision: Revision) -> None:
    early, person = Early(), AtTheBrowser()
    async with connect(early.server, revision, person) as client:
        if revision.legacy:
            with pytest.raises(MCPError) as needed:
                await client.call_tool("required_page")
            assert early.told == [needed.value.data]
            [listed] = needed.value.data["elicitations"]
            await person(None, _Params(listed))
            await person.done()
        assert text_of(await client.call_tool("required_page")) == "connected"
        await person.done()
    assert len(person.links) == 1


class _Params:
    def __init__(self, listed: dict[str, str]) -> None:
        self.url, self.message = listed["url"], listed["message"]


async def test_what_is_required_early_and_never_awaited_ends_with_its_call(revision: Revision) -> None:
    early = Early()
    async with connect(early.server, revision, Person()) as client:
        assert text_of(await client.call_tool("forgotten")) == "returned"


async def test_what_is_required_and_never_awaited_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="never asked"):
        ask.require(LINK)
