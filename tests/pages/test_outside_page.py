"""An errand on another site: there, back with a state of its own, and believed only when it is certain."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2 as httpx
import pytest
from tests.pages.house import BOB, URL, Browser, House

from handraise.errors import UnsafeUrl
from handraise.pages import OutsidePage, OutsideRequest, Visit, sign_webhook
from handraise.questions import Accepted, Answer, Declined

KEY = "a webhook key of the other site's"


def checkout(errand: OutsideRequest) -> str:
    return "https://pay.example/checkout?" + urlencode(
        {"reference": errand.reference, "return": errand.return_url}
    )


async def leave(browser: Browser, visit: Visit) -> str:
    """Open the page and give back the path to which the other site returns the person."""
    assert (await browser.open(visit)).status_code == 200
    found = re.search(r'href="(https://pay\.example/[^"]+)"', browser.text)
    assert found is not None
    (back,) = parse_qs(urlsplit(found[1]).query)["return"]
    assert back.startswith(f"{URL}/back?state=")
    return back.removeprefix(URL)


async def test_the_person_goes_there_and_back_and_that_is_it() -> None:
    house = House()
    visit, browser = house.ask(OutsidePage("Pay 5 €", checkout)), house.browser()
    back = await leave(browser, visit)
    assert "pay.example" in browser.text
    returned = await browser.get(back, sec_fetch_site="cross-site")
    assert returned.status_code == 303
    assert house.answer == Accepted(None)
    again = await browser.get(back)
    assert browser.heading == "Done"
    assert again.status_code == 200
    assert len(house.settled) == 1


@pytest.mark.parametrize("state", ["", "guess", "%C3%A9"])
async def test_nobody_comes_back_with_a_state_that_was_not_given_out(state: str) -> None:
    house = House()
    visit, browser = house.ask(OutsidePage("Pay", checkout)), house.browser()
    await leave(browser, visit)
    assert (await browser.get(f"/back?state={state}")).status_code == 404
    assert house.settled == []


@pytest.mark.shows("L7")
async def test_somebody_else_who_comes_back_with_the_state_finishes_nothing() -> None:
    from handraise.pages import OwnSessions

    house = House(OwnSessions(lambda request: BOB if "bob" in request.cookies else None))
    visit, bob = house.ask(OutsidePage("Pay", checkout)), house.browser(bob="yes")
    visit.expects = "state"
    assert (await bob.get("/back?state=state")).status_code == 403
    assert house.settled == []


async def test_the_author_is_asked_whether_it_is_done_there() -> None:
    paid: set[str] = set()

    async def confirm(reference: str) -> str | None:
        return None if reference in paid else "The payment has not arrived yet."

    house = House()
    visit, browser = house.ask(OutsidePage("Pay", checkout, confirm)), house.browser()
    back = await leave(browser, visit)
    assert (await browser.get(back)).status_code == 200
    assert "has not arrived yet" in browser.text
    assert house.settled == []
    paid.add(visit.elicitation_id)
    assert (await browser.post(visit, {"do": "returned"})).status_code == 303
    assert house.answer == Accepted(None)


async def call_webhook(
    house: House, reference: str, said: object, key: str = KEY, age: float = 0
) -> httpx.Response:
    body = json.dumps(said).encode()
    signature = sign_webhook(key, body, house.clock.now - age)
    transport = httpx.ASGITransport(app=house.site.app, root_path="/handraise")
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        return await client.post(
            f"{URL}/hooks/{reference}", content=body, headers={"handraise-signature": signature}
        )


@pytest.mark.parametrize(("status", "answer"), [("finished", Accepted(None)), ("declined", Declined())])
async def test_a_signed_webhook_says_how_it_ended(status: str, answer: Answer[None]) -> None:
    house = House()
    visit, browser = house.ask(OutsidePage("Sign", checkout, webhook_key=KEY)), house.browser()
    back = await leave(browser, visit)
    await browser.get(back)
    assert "has not reported yet" in browser.text
    for _ in range(2):  # webhooks are repeated
        said = {"reference": visit.elicitation_id, "status": status}
        assert (await call_webhook(house, visit.elicitation_id, said)).status_code == 204
    assert house.answer == answer


async def test_a_webhook_that_is_unsigned_old_or_for_nobody_changes_nothing() -> None:
    house = House()
    visit = house.ask(OutsidePage("Sign", checkout, webhook_key=KEY))
    reference = visit.elicitation_id
    done = {"reference": reference, "status": "finished"}
    for response in (
        await call_webhook(house, reference, done, key="another"),
        await call_webhook(house, reference, done, age=301),
        await call_webhook(house, reference, done, age=-301),
        await call_webhook(house, reference, {**done, "status": "maybe"}),
        await call_webhook(house, reference, ["finished"]),
        await call_webhook(house, "nobody", done),
        await call_webhook(house, visit.id, done),
    ):
        assert response.status_code == 404
    assert (await call_webhook(house, reference, "x" * 70_000)).status_code == 413
    assert house.settled == []


async def test_an_outside_address_that_no_question_may_carry_is_refused() -> None:
    with pytest.raises(UnsafeUrl):
        OutsidePage("Pay", "http://pay.example/")
    house = House()
    visit, browser = house.ask(OutsidePage("Pay", lambda _: "http://pay.example/")), house.browser()
    response = await browser.open(visit)
    assert response.status_code == 503
    assert "pay.example" not in response.text


@pytest.mark.shows("L7")
async def test_a_webhook_about_one_visit_ends_no_other() -> None:
    house = House()
    page = OutsidePage("Pay", checkout, webhook_key=KEY)
    own, others = house.ask(page), house.ask(page, person=BOB)
    for said in ({"reference": own.elicitation_id, "status": "finished"}, {"status": "finished"}):
        assert (await call_webhook(house, others.elicitation_id, said)).status_code == 404
    assert others.answer is None
