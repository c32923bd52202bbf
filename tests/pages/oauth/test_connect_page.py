"""Connecting an account: the way to the service and back, and every way to be led astray on it."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.requests import Request
from tests.pages.house import ABOUT, ANN, BOB, Browser, House
from tests.pages.oauth.authority import Authority, forget, open_authority

from handraise.errors import AccountError
from handraise.pages import OwnSessions, Visit
from handraise.pages.oauth import Account, ConnectPage, Token
from handraise.pages.oauth.discovery import parse_metadata
from handraise.questions import Accepted, Declined, Person

PEOPLE = {"ann": ANN, "bob": BOB}


def who(request: Request) -> Person | None:
    return PEOPLE.get(request.cookies.get("user", ""))


@pytest.fixture
def house() -> House:
    return House(OwnSessions(who))


def at(authority: Authority) -> Account:
    return Account(
        "Git Place", "notes-client", authority.issuer, {"repo": "Read your code"}, "client-secret-77"
    )


def ask(house: House, authority: Authority, person: Person = ANN, key: str = "question") -> Visit:
    return house.visits.open(ConnectPage(at(authority)), person, ABOUT, key=key, seconds=600, code=None)


async def leave(browser: Browser, visit: Visit) -> str:
    """Open the page, go on, and the address to which the browser is sent."""
    assert (await browser.open(visit)).status_code == 200
    return await go(browser, visit)


async def go(browser: Browser, visit: Visit) -> str:
    ticket = browser.text.partition("ticket=")[2].partition('"')[0]
    response = await browser.get(f"/{visit.id}/go?ticket={ticket}")
    assert response.status_code == 303
    return response.headers["location"]


async def finish(house: House, authority: Authority, browser: Browser, visit: Visit) -> Token:
    """The right person is not hindered by what others tried."""
    back = await browser.get(authority.agree(await leave(browser, visit)))
    assert back.status_code == 303
    assert back.headers["location"] == f"/handraise/{visit.id}"
    assert isinstance(house.answer, Accepted)
    token = house.answer.data
    assert isinstance(token, Token)
    return token


@pytest.mark.shows("L8")
async def test_the_page_names_client_tool_service_and_scopes_before_any_state_is_set(
    house: House, authority: Authority
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    await ann.open(visit)
    for named in ("Inspector 2.12", "tool create_issue", "Git Place", "Read your code", "repo", "127.0.0.1"):
        assert named in ann.text
    assert visit.expects is None


async def test_the_page_shows_the_logo_of_the_service(house: House, authority: Authority) -> None:
    logo = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    page = ConnectPage(replace(at(authority), logo=logo))
    visit, ann = (
        house.visits.open(page, ANN, ABOUT, key="question", seconds=600, code=None),
        house.browser(user="ann"),
    )
    await ann.open(visit)
    assert f"/handraise/{visit.id}/logo" in ann.text
    shown = await ann.get(f"/{visit.id}/logo")
    assert (shown.content, shown.headers["content-type"]) == (logo, "image/svg+xml")


@pytest.mark.shows("L8")
async def test_nobody_is_sent_on_who_was_not_shown_the_page_in_this_browser(
    house: House, authority: Authority
) -> None:
    visit, ann, again = ask(house, authority), house.browser(user="ann"), house.browser(user="ann")
    assert (await ann.get(f"/{visit.id}/go?ticket=guessed")).headers["location"] == f"/handraise/{visit.id}"
    await again.open(visit)
    ticket = again.text.partition("ticket=")[2].partition('"')[0]
    assert (await ann.get(f"/{visit.id}/go?ticket={ticket}")).headers["location"].startswith("/handraise/")
    assert visit.expects is None


@pytest.mark.shows("L8")
async def test_the_way_out_has_pkce_an_exact_redirect_address_and_the_scopes_that_were_shown(
    house: House, authority: Authority
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    parts = urlsplit(await leave(ann, visit))
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert f"{parts.scheme}://{parts.netloc}" == authority.issuer
    assert asked["redirect_uri"] == "https://mcp.example/handraise/back/git-place"
    assert (asked["scope"], asked["response_type"], asked["code_challenge_method"]) == (
        "repo",
        "code",
        "S256",
    )
    assert len(asked["state"]) >= 32
    assert len(asked["code_challenge"]) == 43


@pytest.mark.shows("L8", "S5")
async def test_a_token_comes_back_that_no_text_shows(house: House, authority: Authority) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    token = await finish(house, authority, ann, visit)
    assert token.reveal().startswith("access-")
    for text in (
        repr(token),
        f"{token}",
        repr(token.grant),
        repr(visit),
        repr(house.answer),
        repr(visit.page),
    ):
        assert "access-" not in text
        assert "refresh-" not in text
        assert "client-secret" not in text
    assert house.recorded == [("opened", ""), ("completed", "accept")]


@pytest.mark.shows("L8", "L7")
async def test_a_forwarded_authorize_url_connects_the_victims_account_to_nobody(
    house: House, authority: Authority
) -> None:
    """Bob has Ann agree at the service for his own question: her account would be his."""
    visit, bob, ann = ask(house, authority, BOB), house.browser(user="bob"), house.browser(user="ann")
    way_back = authority.agree(await leave(bob, visit), "ann")
    assert (await ann.get(way_back)).status_code == 403
    assert ann.heading == "This page is for somebody else"
    assert house.settled == []
    assert visit.expects is not None, "nothing was used up"
    assert ("refused", "another person") in house.recorded
    assert authority.requests == [], "the code went nowhere"


@pytest.mark.shows("L8")
async def test_a_state_counts_only_in_the_browser_that_left(house: House, authority: Authority) -> None:
    visit, ann, other = ask(house, authority), house.browser(user="ann"), house.browser(user="ann")
    way_back = authority.agree(await leave(ann, visit))
    await other.open(visit)
    assert (await other.get(way_back)).status_code == 403
    assert authority.requests == []
    assert (await ann.get(way_back)).status_code == 303, "nothing was used up"


@pytest.mark.shows("L8")
async def test_a_callback_works_once(house: House, authority: Authority) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    way_back = authority.agree(await leave(ann, visit))
    assert (await ann.get(way_back)).status_code == 303
    assert (await ann.get(way_back)).status_code == 404
    assert len(authority.requests) == 1


@pytest.mark.shows("L8")
async def test_two_flows_at_once_do_not_meet_and_their_states_cannot_be_swapped(
    house: House, authority: Authority
) -> None:
    ann = house.browser(user="ann")
    one, two = ask(house, authority, key="one"), ask(house, authority, key="two")
    first, second = await leave(ann, one), await leave(ann, two)
    swapped = authority.agree(first, state=parse_qs(urlsplit(second).query)["state"][0])
    assert (await ann.get(swapped)).status_code == 502, "PKCE: the code belongs to the other flow"
    assert house.settled == []
    assert (await ann.get(authority.agree(first))).status_code == 303
    assert (await ann.get(authority.agree(await leave(ann, two)))).status_code == 303
    assert [visit for visit, _ in house.settled] == [one, two]


@pytest.mark.shows("L8")
async def test_an_injected_code_of_somebody_elses_flow_is_worth_nothing(
    house: House, authority: Authority
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    stolen = authority.agree(
        f"{authority.issuer}/authorize?redirect_uri=https://mcp.example/handraise/back/x", "bob"
    )
    code = parse_qs(urlsplit(stolen).query)["code"][0]
    injected = authority.agree(await leave(ann, visit), code=code)
    assert (await ann.get(injected)).status_code == 502
    assert house.settled == []
    await finish(house, authority, ann, visit)


@pytest.mark.shows("L8")
@pytest.mark.parametrize("iss", ["https://evil.example", None, ""])
async def test_an_answer_of_another_issuer_or_of_none_is_refused(
    house: House, authority: Authority, iss: str | None
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    assert (await ann.get(authority.agree(await leave(ann, visit), iss=iss))).status_code == 502
    assert authority.requests == [], "the code was not handed to anybody"
    assert visit.expects is None
    await finish(house, authority, ann, visit)


@pytest.mark.shows("L8")
async def test_servers_that_do_not_name_themselves_are_told_apart_by_their_redirect_address(
    house: House,
) -> None:
    """Mix-up: what one server sends back must not be taken for another's."""
    quiet = {"authorization_response_iss_parameter_supported": False}
    async with open_authority(says=quiet) as authority:
        visit, ann = ask(house, authority), house.browser(user="ann")
        way_back = authority.agree(await leave(ann, visit), iss=None)
        mixed = way_back.replace("/back/git-place", "/back/evil-place")
        assert (await ann.get(mixed)).status_code == 502
        assert authority.requests == []
        assert (await ann.get(authority.agree(await go(ann, visit), iss=None))).status_code == 303


@pytest.mark.shows("L8")
@pytest.mark.parametrize(
    "says",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"code_challenge_methods_supported": ["plain"]},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "https:// /authorize"},
        {"authorization_endpoint": "https://login.exam\nple/authorize"},
        {"authorization_endpoint": "https://login.example/auth orize"},
        {"authorization_endpoint": " https://login.example/authorize"},
        {"authorization_endpoint": "https://git.example@evil.example/authorize"},
        {"authorization_endpoint": "https://login.example/authorize#part"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": ["https://login.example/authorize"]},
    ],
    ids=str,
)
async def test_a_server_whose_document_cannot_be_right_is_not_gone_to(
    house: House, says: dict[str, str]
) -> None:
    async with open_authority(says=says) as authority:
        visit, ann = ask(house, authority), house.browser(user="ann")
        await ann.open(visit)
        ticket = ann.text.partition("ticket=")[2].partition('"')[0]
        assert (await ann.get(f"/{visit.id}/go?ticket={ticket}")).status_code == 502
        assert "did not work, and nothing was changed" in ann.text
        assert visit.expects is None


@pytest.mark.shows("L8")
async def test_a_person_who_is_sent_to_another_host_than_the_issuers_is_told_which(house: House) -> None:
    """RFC 8414 allows it, and the person types their password there."""
    async with open_authority(
        says={"authorization_endpoint": "https://login.example/authorize"}
    ) as authority:
        visit, ann = ask(house, authority), house.browser(user="ann")
        await ann.open(visit)
        text = " ".join(re.sub(r"<[^>]+>", "", ann.text).split())
        assert "then come back here: login.example" in text
        assert f"{authority.issuer.removeprefix('http://')} sends you to that site." in text
        assert "Go on to login.example" in text
        assert (await go(ann, visit)).startswith("https://login.example/authorize?")


@pytest.mark.shows("L8")
async def test_nobody_is_sent_to_a_host_that_the_page_did_not_name(house: House) -> None:
    async with open_authority() as authority:
        visit, ann = ask(house, authority), house.browser(user="ann")
        await ann.open(visit)
        assert "sends you to that site" not in ann.text
        authority.says = {"authorization_endpoint": "https://login.example/authorize"}
        forget(authority.issuer)
        assert await go(ann, visit) == f"/handraise/{visit.id}"
        assert visit.expects is None
        assert (await leave(ann, visit)).startswith("https://login.example/authorize?")


@pytest.mark.shows("L8")
def test_a_server_elsewhere_has_no_endpoint_on_this_computer() -> None:
    """Its document would otherwise have us post tokens to whatever listens here."""
    published = {
        "issuer": "https://id.example",
        "authorization_endpoint": "https://id.example/authorize",
        "token_endpoint": "https://id.example/token",
        "code_challenge_methods_supported": ["S256"],
    }
    assert parse_metadata("https://id.example", published).token_endpoint == "https://id.example/token"
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint", "jwks_uri"):
        for url in ("http://127.0.0.1:8000/x", "https://localhost/x", "http://[::1]/x"):
            with pytest.raises(AccountError, match="on this computer"):
                parse_metadata("https://id.example", {**published, name: url})


@pytest.mark.shows("L8")
async def test_no_parameter_leads_to_another_site(house: House, authority: Authority) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    way_back = authority.agree(await leave(ann, visit))
    for name in ("next", "redirect_uri", "return_to", "url"):
        way_back += f"&{name}=https%3A%2F%2Fevil.example%2F"
    assert (await ann.get(way_back)).headers["location"] == f"/handraise/{visit.id}"


async def test_saying_no_at_the_service_is_a_decline(house: House, authority: Authority) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    denied = authority.agree(await leave(ann, visit), code=None, error="access_denied")
    assert (await ann.get(denied)).status_code == 303
    assert house.answer == Declined()
    await ann.open(visit)
    assert ann.heading == "Declined"


@pytest.mark.parametrize("error", ["server_error", "temporarily_unavailable"])
async def test_what_goes_wrong_at_the_service_decides_nothing(
    house: House, authority: Authority, error: str
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    wrong = authority.agree(await leave(ann, visit), code=None, error=error)
    assert (await ann.get(wrong)).status_code == 502
    assert house.settled == []
    authority.is_down = True
    assert (await ann.get(authority.agree(await go(ann, visit)))).status_code == 502
    authority.is_down = False
    assert (await ann.get(authority.agree(await go(ann, visit)))).status_code == 303


async def test_an_expired_link_takes_nothing(house: House, authority: Authority) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    way_back = authority.agree(await leave(ann, visit))
    house.clock.now += 601
    assert (await ann.get(way_back)).status_code == 200
    assert ann.heading == "Expired"
    assert authority.requests == []


@pytest.mark.shows("L8")
async def test_a_kept_token_is_renewed_before_it_ends_and_asked_for_again_when_that_is_refused(
    house: House, authority: Authority
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    token = await finish(house, authority, ann, visit)
    page = ConnectPage(at(authority))
    kept = page.dump(token)
    assert await page.recall(kept) == token
    kept = {**kept, "expires_at": 0}
    renewed = await page.recall(kept)
    assert renewed is not None
    assert renewed != token
    assert renewed.scopes == token.scopes
    assert await page.recall(kept) is None, "the service rotated the refresh token"
    authority.is_down = True
    with pytest.raises(AccountError):
        await page.recall({**page.dump(renewed), "expires_at": 0})
    assert await page.recall({**kept, "refresh_token": None}) is None


@pytest.mark.shows("L8")
async def test_a_kept_token_serves_no_other_registration_and_not_more_than_it_was_asked_for(
    house: House, authority: Authority
) -> None:
    visit, ann = ask(house, authority), house.browser(user="ann")
    kept = ConnectPage(at(authority)).dump(await finish(house, authority, ann, visit))
    other = at(authority)
    for account in (
        replace(other, client_id="another"),
        replace(other, issuer="https://evil.example"),
        replace(other, scopes=("repo", "admin")),
    ):
        assert await ConnectPage(account).recall(kept) is None
    assert await ConnectPage(at(authority)).recall({"secret": "typed"}) is None


@pytest.mark.shows("L8")
@pytest.mark.parametrize("says_who_it_is", [False, True])
@pytest.mark.parametrize(
    ("issuer", "authorization", "token", "is_usual"),
    [
        ("https://evil.example", "https://honest.test/authorize", "https://evil.example/token", False),
        ("https://evil.example", "https://honest.test/authorize", "https://evil.net/token", False),
        (
            "https://accounts.a.example",
            "https://www.a.example/authorize",
            "https://oauth.b.example/token",
            True,
        ),
        ("https://cognito.a.example", "https://login.b.example/authorize", "https://b.example/token", True),
        ("https://a.example", "https://a.example/authorize", "https://a.example/token", True),
    ],
)
def test_no_server_gets_a_code_that_another_one_issued(
    issuer: str, authorization: str, token: str, is_usual: bool, says_who_it_is: bool
) -> None:
    """Mix-up: the person signs in at the honest server, which does not say in its answer who it is."""
    says = {"authorization_response_iss_parameter_supported": True} if says_who_it_is else {}
    published = {"issuer": issuer, "authorization_endpoint": authorization, "token_endpoint": token, **says}
    if is_usual or says_who_it_is:
        assert parse_metadata(issuer, published).names_itself is says_who_it_is
    else:
        with pytest.raises(AccountError, match="who it is"):
            parse_metadata(issuer, published)


@pytest.mark.parametrize("query", ["redirect_uri=https://evil.example", "scope=admin", "a=b&client_id="])
def test_an_endpoint_sets_nothing_that_the_request_says(query: str) -> None:
    at = "https://a.example"
    published = {"issuer": at, "authorization_endpoint": f"{at}/go?{query}", "token_endpoint": f"{at}/token"}
    with pytest.raises(AccountError, match="itself"):
        parse_metadata(at, published)
    own = f"{at}/go?tenant=7"
    assert parse_metadata(at, {**published, "authorization_endpoint": own}).authorization_endpoint == own
