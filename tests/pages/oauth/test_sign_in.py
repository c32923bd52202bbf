"""Signing in to pages at the authorization server whose tokens the MCP server takes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from joserfc.jwk import ECKey
from tests.pages.house import VALUE, Browser, House
from tests.pages.oauth.authority import Authority

from handraise.pages import Visit
from handraise.pages.oauth import SignInAt
from handraise.questions import Accepted, Person
from handraise.vault import Secret


@pytest.fixture
def house(authority: Authority) -> House:
    return House(SignInAt(authority.issuer, client_id="pages"))


def ask(house: House, authority: Authority, user: str = "ann") -> Visit:
    return house.ask(person=Person(authority.issuer, user, "token"))


async def sign_in(authority: Authority, browser: Browser, visit: Visit, user: str) -> None:
    """Be sent to the authority, sign in there, and come back to the page."""
    sent = await browser.open(visit)
    assert sent.status_code == 303
    back = await browser.get(authority.agree(sent.headers["location"], user))
    assert back.headers["location"] == f"/handraise/{visit.id}"


@pytest.mark.shows("L7", "L8")
async def test_the_person_who_signed_in_is_the_one_who_was_asked(house: House, authority: Authority) -> None:
    visit, browser = ask(house, authority), house.browser()
    await sign_in(authority, browser, visit, "ann")
    assert (await browser.open(visit)).status_code == 200
    await browser.enter(visit)
    assert house.answer == Accepted(Secret(VALUE))


@pytest.mark.shows("L7")
async def test_another_person_is_told_kindly_and_can_sign_in_as_the_right_one(
    house: House, authority: Authority
) -> None:
    visit, browser = ask(house, authority), house.browser()
    await sign_in(authority, browser, visit, "bob")
    assert (await browser.open(visit)).status_code == 403
    assert browser.heading == "This page is for somebody else"
    assert house.recorded == [("refused", "another person")]
    assert "Sign in with another account" in browser.text
    sent = await browser.get("/another-account")
    assert "prompt=select_account" in sent.headers["location"]
    await browser.get(authority.agree(sent.headers["location"], "ann"))
    assert (await browser.open(visit)).status_code == 200


@pytest.mark.shows("L7", "L8")
async def test_nobody_can_be_signed_in_as_the_attacker_without_noticing(
    house: House, authority: Authority
) -> None:
    """Login CSRF: the attacker's own way back, opened in the victim's browser."""
    visit, attacker, victim = ask(house, authority, "bob"), house.browser(), house.browser()
    way_back = authority.agree((await attacker.open(visit)).headers["location"], "bob")
    assert (await victim.get(way_back)).status_code == 403
    await victim.open(visit)
    assert (await victim.get(way_back)).status_code == 403
    assert (await attacker.get(way_back)).status_code == 303, "nothing was used up"
    assert (await attacker.get(way_back)).status_code == 404, "and it works once"


@pytest.mark.shows("L8")
async def test_a_cookie_that_was_known_before_the_sign_in_is_worth_nothing_after_it(
    house: House, authority: Authority
) -> None:
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    planted = house.browser(**browser.cookies)
    await browser.get(authority.agree(sent.headers["location"], "ann"))
    assert (await browser.open(visit)).status_code == 200
    assert (await planted.open(visit)).status_code == 303


@pytest.mark.shows("L8")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"aud": ["pages", "another-client"]},
        {"nonce": "replayed"},
        {"exp": 1},
        {"sub": ""},
        {"azp": "another-client"},
    ],
    ids=str,
)
async def test_an_id_token_with_a_wrong_claim_signs_nobody_in(
    house: House, authority: Authority, claims: dict[str, Any]
) -> None:
    authority.claims = claims
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    assert (await browser.get(authority.agree(sent.headers["location"], "ann"))).status_code == 403
    assert (await browser.open(visit)).status_code == 303, "still nobody"


@pytest.mark.shows("L8")
async def test_an_id_token_that_another_key_signed_signs_nobody_in(
    house: House, authority: Authority
) -> None:
    authority.signs_with = ECKey.generate_key("P-256")
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    assert (await browser.get(authority.agree(sent.headers["location"], "ann"))).status_code == 403


@pytest.mark.shows("L8")
@pytest.mark.parametrize(
    "marks",
    [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": []}, {"alg": "ES384"}, {"alg": "ECDH-ES"}],
    ids=str,
)
async def test_an_id_token_under_a_key_that_is_for_something_else_signs_nobody_in(
    house: House, authority: Authority, marks: dict[str, Any]
) -> None:
    authority.marks = marks
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    assert (await browser.get(authority.agree(sent.headers["location"], "ann"))).status_code == 403


@pytest.mark.shows("L8")
@pytest.mark.parametrize(
    "otherwise", [{"iss": "https://evil.example"}, {"iss": None}, {"state": "guessed"}], ids=str
)
async def test_a_way_back_from_somebody_else_signs_nobody_in(
    house: House, authority: Authority, otherwise: dict[str, str | None]
) -> None:
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    way_back = authority.agree(sent.headers["location"], "ann", **otherwise)
    assert (await browser.get(way_back)).status_code in (403, 404)
    assert (await browser.open(visit)).status_code == 303


async def test_somebody_who_does_not_sign_in_changes_nothing(house: House, authority: Authority) -> None:
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    denied = authority.agree(sent.headers["location"], "ann", code=None, error="access_denied")
    assert (await browser.get(denied)).status_code == 403
    assert "You did not sign in" in browser.text
    assert house.recorded == []


@pytest.mark.shows("L8")
async def test_only_the_subject_is_asked_for_with_pkce_and_a_nonce(
    house: House, authority: Authority
) -> None:
    visit, browser = ask(house, authority), house.browser()
    query = urlsplit((await browser.open(visit)).headers["location"]).query
    for part in ("scope=openid&", "code_challenge_method=S256", "nonce=", "state=", "signed-in"):
        assert part in query


async def test_tokens_of_another_issuer_than_the_one_people_sign_in_at_are_a_mistake_that_is_told(
    house: House, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    visit = house.ask(person=Person("https://other.example", "ann", "token"))
    assert (await house.browser().open(visit)).status_code == 503
    assert "https://other.example" in caplog.text


@pytest.mark.shows("L8")
async def test_a_state_that_was_used_is_used_in_any_spelling(house: House, authority: Authority) -> None:
    visit, browser = ask(house, authority), house.browser()
    sent = await browser.open(visit)
    way_back = authority.agree(sent.headers["location"], "ann")
    planted = house.browser(**browser.cookies)
    assert (await browser.get(way_back)).status_code == 303
    for other in (way_back, way_back.replace("state=", "state=%0A"), way_back.replace("state=", "state=%21")):
        assert (await planted.get(other)).status_code == 404
