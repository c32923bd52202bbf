"""Nobody else's browser, site or name gets to a page, and the right person can still finish it."""

from __future__ import annotations

import re

import pytest
from starlette.requests import Request
from tests.pages.house import ANN, BOB, ME, VALUE, Browser, House

from handraise.pages import OwnSessions, ThisComputer
from handraise.pages.identity import is_code, new_code, same_person
from handraise.questions import Accepted, Person
from handraise.vault import Secret

PEOPLE = {"ann": ANN, "bob": BOB}


def who(request: Request) -> Person | None:
    return PEOPLE.get(request.cookies.get("user", ""))


@pytest.fixture
def house() -> House:
    return House(OwnSessions(who, sign_in_url="/login?from=mcp"))


async def finish(house: House, browser: Browser) -> None:
    """The right person is not hindered by what others tried."""
    visit = house.visits._by_id[next(iter(house.visits._by_id))]
    assert (await browser.open(visit)).status_code == 200
    assert (await browser.enter(visit)).status_code == 303
    assert house.answer == Accepted(Secret(VALUE))


@pytest.mark.shows("L7")
async def test_a_forwarded_link_opens_nothing_for_somebody_else_and_uses_nothing_up(house: House) -> None:
    visit, ann, bob = house.ask(), house.browser(user="ann"), house.browser(user="bob")
    response = await bob.open(visit)
    assert response.status_code == 403
    assert bob.heading == "This page is for somebody else"
    assert "GitHub" not in response.text
    assert house.recorded == [("refused", "another person")]
    await ann.open(visit)
    for tried in (ann.csrf, bob.csrf):
        bob.csrf = tried
        assert (await bob.enter(visit, "ghp_bobs")).status_code == 403
        assert (await bob.post(visit, {"do": "decline"})).status_code == 403
    assert house.settled == []
    await finish(house, ann)


@pytest.mark.shows("L7")
async def test_somebody_else_learns_not_even_how_it_ended(house: House) -> None:
    visit, ann, bob = house.ask(), house.browser(user="ann"), house.browser(user="bob")
    await finish(house, ann)
    assert (await bob.open(visit)).status_code == 403
    assert bob.heading == "This page is for somebody else"


async def test_nobody_is_sent_to_sign_in_and_back(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    response = await browser.open(visit)
    assert response.status_code == 303
    assert response.headers["location"] == f"/login?from=mcp&next=%2Fhandraise%2F{visit.id}"
    assert (await browser.enter(visit)).status_code == 403
    assert house.settled == []


async def test_without_a_sign_in_address_nobody_is_told_to_sign_in() -> None:
    async def asked(request: Request) -> Person | None:
        return who(request)

    house = House(OwnSessions(asked))
    visit, browser = house.ask(), house.browser()
    assert (await browser.open(visit)).status_code == 401
    assert browser.heading == "Please sign in"
    browser.cookies["user"] = "ann"
    await finish(house, browser)


@pytest.mark.shows("L7")
async def test_a_site_has_only_the_pages_of_people_whom_its_sign_in_can_tell(house: House) -> None:
    """The user of this computer is nobody in particular among the people who come with tokens."""
    local = House(ThisComputer(1000, lambda *_: 1000), "system", "http://127.0.0.1:7070")
    assert (await local.browser().open(local.ask(person=ANN))).status_code == 404
    assert (await house.browser(user="ann").open(house.ask(person=ME))).status_code == 404


@pytest.mark.shows("L7")
def test_the_same_subject_of_another_issuer_is_another_person_and_nobody_anonymous_is_anyone() -> None:
    assert same_person(ANN, Person(ANN.issuer, "ann", "token"))
    assert not same_person(ANN, Person("https://evil.example", "ann", "token"))
    anonymous = Person("", "", "anonymous")
    assert not same_person(anonymous, anonymous)


@pytest.mark.shows("L9")
async def test_a_rebound_name_gets_nothing(house: House) -> None:
    visit, ann = house.ask(), house.browser(user="ann")
    for host in ("evil.example", "mcp.example:444", "mcp.example.evil.example", ""):
        assert (await ann.open(visit, host=host)).status_code == 421
    await finish(house, ann)


@pytest.mark.shows("L9")
async def test_every_response_forbids_framing_sniffing_storing_and_outside_resources(house: House) -> None:
    visit, ann = house.ask(), house.browser(user="ann")
    for path in (f"/{visit.id}", "/nowhere", "/static/handraise.css", "/static/pages.js", "/back"):
        response = await ann.get(path)
        policy = response.headers["content-security-policy"]
        for part in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
            assert part in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "same-origin"
        assert not re.search(r'(src|href|action)="(https?:)?//', response.text)
        assert "<script>" not in response.text
        assert " style=" not in response.text


@pytest.mark.shows("L9")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"origin": "http://mcp.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_cross_site_post_enters_nothing(house: House, headers: dict[str, str | None]) -> None:
    visit, ann = house.ask(), house.browser(user="ann")
    await ann.open(visit)
    body = f"csrf={ann.csrf}&do=enter&s0=ghp_evil"
    assert (await ann.send("POST", f"/{visit.id}", body, headers)).status_code == 403
    assert house.settled == []
    await finish(house, ann)


@pytest.mark.shows("L9")
async def test_a_token_of_another_browser_or_another_page_is_worth_nothing(house: House) -> None:
    visit, ann, again = house.ask(), house.browser(user="ann"), house.browser(user="ann")
    other = house.visits.open(visit.page, ANN, visit.about, key="other", seconds=60, code=None)
    await again.open(visit)
    await ann.open(other)
    for token in (again.csrf, ann.csrf, "", "é"):
        ann.csrf = token
        assert (await ann.enter(visit)).status_code == 403
    assert house.settled == []
    await finish(house, ann)


@pytest.mark.shows("L7")
async def test_a_browser_that_was_signed_in_as_the_attacker_gets_the_attackers_page_with_a_fresh_token(
    house: House,
) -> None:
    """Login CSRF: a session that changes under an open page takes what was typed for another to nobody."""
    visit, victim = house.ask(person=BOB), house.browser(user="ann")
    assert (await victim.open(visit)).status_code == 403
    own = house.visits.open(visit.page, ANN, visit.about, key="own", seconds=60, code=None)
    await victim.open(own)
    victim.cookies["user"] = "bob"  # the attacker signed this browser in as himself
    assert (await victim.enter(own)).status_code == 403
    assert house.settled == []


@pytest.mark.shows("L9", "L8")
async def test_the_browsers_cookie_cannot_be_set_by_another_host_or_read_by_a_script(house: House) -> None:
    visit, ann = house.ask(), house.browser(user="ann")
    cookie = (await ann.open(visit)).headers["set-cookie"]
    assert cookie.startswith("__Host-handraise-page-")
    for part in ("Secure", "HttpOnly", "Path=/", "SameSite=lax"):
        assert part in cookie
    assert "Domain" not in cookie


async def test_on_this_computer_a_browser_that_takes_secure_cookies_from_https_only_is_served_too() -> None:
    house = House(ThisComputer(1000, lambda *_: 1000), "system", "http://127.0.0.1:7070")
    cookie = (await house.browser().open(house.ask(person=ME))).headers["set-cookie"]
    assert cookie.startswith("handraise-page-7070=")
    assert "Secure" not in cookie
    for part in ("HttpOnly", "Path=/", "SameSite=lax"):
        assert part in cookie


@pytest.mark.shows("L10")
async def test_a_second_user_of_the_computer_gets_nothing_though_they_saw_the_link() -> None:
    user = {"id": 1001}
    house = House(ThisComputer(1000, lambda *_: user["id"]), "system", "http://127.0.0.1:7070")
    visit = house.ask(person=ME)
    other = house.browser()
    assert (await other.open(visit)).status_code == 403
    assert other.heading == "This page is for somebody else"
    assert house.recorded == [("refused", "another person")]
    user["id"] = 1000
    own = house.browser()
    await own.open(visit)
    user["id"] = 1001
    other.cookies, other.csrf = own.cookies, own.csrf  # cookies do not tell ports, or users, apart
    assert (await other.enter(visit)).status_code == 403
    user["id"] = 1000
    await finish(house, own)


@pytest.mark.shows("L10")
async def test_where_the_system_does_not_tell_a_code_is_typed_that_only_the_client_showed() -> None:
    house = House(ThisComputer(1000, lambda *_: None), "system", "http://127.0.0.1:7070")
    visit, browser, other = house.ask(person=ME, code=new_code()), house.browser(), house.browser()
    assert (await browser.open(visit)).status_code == 401
    assert browser.heading == "Is it you?"
    assert visit.code is not None
    assert visit.code not in browser.text
    assert "GitHub" not in browser.text
    assert (await browser.enter(visit)).status_code == 401
    assert (await browser.post(visit, {"do": "code", "code": "AAAAA-AAAAA"})).status_code == 403
    typed = visit.code.lower().replace("-", " ")
    assert (await browser.post(visit, {"do": "code", "code": typed})).status_code == 303
    assert (await other.open(visit)).status_code == 401, "the code lets one browser in"
    await finish(house, browser)


@pytest.mark.shows("L10")
async def test_a_cookie_that_another_user_planted_lets_nobody_in_after_the_code_was_typed() -> None:
    """Session fixation: any port of this computer can set the cookies of all."""
    house = House(ThisComputer(1000, lambda *_: None), "system", "http://127.0.0.1:7070")
    visit, other = house.ask(person=ME, code="ABCDE-23456"), house.browser()
    await other.open(visit)
    victim = house.browser(**other.cookies)
    await victim.open(visit)
    assert (await victim.post(visit, {"do": "code", "code": "ABCDE-23456"})).status_code == 303
    assert (await other.open(visit)).status_code == 401
    await finish(house, victim)


@pytest.mark.shows("L10")
async def test_a_code_that_is_guessed_at_opens_nothing_any_more_and_asking_again_gives_another_link() -> None:
    house = House(ThisComputer(1000, lambda *_: None), "system", "http://127.0.0.1:7070")
    visit, guessing = house.ask(person=ME, code="ABCDE-23456"), house.browser()
    for _ in range(5):
        await guessing.open(visit)
        assert (await guessing.post(visit, {"do": "code", "code": "AAAAA-AAAAA"})).status_code == 403
    assert "ask there again" in guessing.text
    assert (await guessing.post(visit, {"do": "code", "code": "ABCDE-23456"})).status_code == 403
    again, browser = house.ask(person=ME, code="KKKKK-77777"), house.browser()
    assert again.id != visit.id
    await browser.open(again)
    assert (await browser.post(again, {"do": "code", "code": "KKKKK-77777"})).status_code == 303
    assert (await browser.open(again)).status_code == 200
    assert (await browser.enter(again)).status_code == 303
    assert house.answer == Accepted(Secret(VALUE))


@pytest.mark.shows("L10")
async def test_who_typed_the_code_finishes_whatever_others_guess_meanwhile() -> None:
    house = House(ThisComputer(1000, lambda *_: None), "system", "http://127.0.0.1:7070")
    visit, browser, guessing = house.ask(person=ME, code="ABCDE-23456"), house.browser(), house.browser()
    await browser.open(visit)
    assert (await browser.post(visit, {"do": "code", "code": "ABCDE-23456"})).status_code == 303
    await guessing.open(visit)
    for _ in range(6):
        await guessing.post(visit, {"do": "code", "code": "AAAAA-AAAAA"})
    assert house.ask(person=ME, code="KKKKK-77777") is visit, "the page that its person has open"
    await finish(house, browser)


@pytest.mark.shows("L10")
async def test_a_page_without_a_code_opens_for_nobody_where_the_system_does_not_tell() -> None:
    house = House(ThisComputer(1000, lambda *_: None), "system", "http://127.0.0.1:7070")
    visit, browser = house.ask(person=ME), house.browser()
    assert (await browser.open(visit)).status_code == 401
    assert "opens for nobody" in browser.text
    assert (await browser.post(visit, {"do": "code", "code": ""})).status_code == 403


@pytest.mark.shows("L10")
@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded"])
async def test_a_header_that_claims_another_address_proves_nothing(header: str) -> None:
    house = House(ThisComputer(1000, lambda *_: 1000), "system", "http://127.0.0.1:7070")
    visit, browser = house.ask(person=ME), house.browser()
    assert (await browser.open(visit, **{header: "127.0.0.1"})).status_code == 401


def test_a_code_is_easy_to_type_and_hard_to_guess() -> None:
    house = House()
    codes = {new_code() for _ in range(100)}
    assert len(codes) == 100
    assert all(re.fullmatch(r"[A-HJKMNP-TV-Z2-9]{5}-[A-HJKMNP-TV-Z2-9]{5}", code) for code in codes)
    visit = house.ask(code="ABCDE-23456")
    assert is_code(" abcde23456 ", visit)
    for typed in ("", "ABCDE-23457", "ABCDE", "é"):
        assert not is_code(typed, visit)
    assert not is_code("", house.ask(person=BOB))
