"""The web desk in a real Chromium, by keyboard only."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Request, expect
from tests.desks.web import samples
from tests.desks.web.browsing import Person, Room
from tests.strangers.axe import require_accessible

from handraise.desks import Decision
from handraise.questions import Accepted, Cancelled, Declined

pytestmark = pytest.mark.stranger


async def fill_in(person: Person) -> None:
    """Good answers to the form with every field."""
    await person.type("#f0", "Monday")
    await person.type("#f4", "2026-11-16")
    await person.type("#f7", "5")
    await person.press("#f8-0", "Space")
    await person.press("#f10-0", "Space")
    await person.page.keyboard.press("ArrowDown")
    await person.press("#f12-1", "Space")


@pytest.mark.shows("D2", "D10")
async def test_a_form_is_answered_corrected_reviewed_and_sent(room: Room) -> None:
    await room.put(samples.form())
    person = await room.come_in()
    await person.open()
    await person.type("#f0", "Mo")
    await person.page.keyboard.press("Enter")  # in a field it goes to the review, never further
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator("#f0")).to_be_focused()
    await expect(person.page).to_have_title(re.compile("^Error: "))
    await fill_in(person)
    await person.press("button[value=review]")
    await person.heading("will get")
    await expect(person.page.locator("dl.review")).to_contain_text('"2026-11-16"')
    await person.press("a.button:text('Edit')")
    await person.type("#f0", "Tuesday")
    await person.press("button[value=review]")
    await person.heading("will get")
    await expect(person.page.locator("dl.review")).to_contain_text('"Tuesday"')
    await person.armed()
    await person.press("button[value=send]")
    await person.heading("Accepted")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data == {
        "title": "Tuesday",
        "summary": "Minutes of the weekly meeting",
        "day": "2026-11-16",
        "people": 5,
        "share": True,
        "pin": False,
        "folder": "work",
        "colour": "green",
        "labels": ["decision"],
    }


@pytest.mark.shows("D2", "O1")
@pytest.mark.parametrize(("way", "answer"), [("decline", Declined()), ("cancel", Cancelled())])
async def test_a_question_is_declined_or_cancelled(room: Room, way: str, answer: object) -> None:
    await room.put(samples.short())
    person = await room.come_in()
    await person.open()
    await person.press(f"button[value={way}]")
    await person.heading("Declined" if way == "decline" else "Cancelled")
    assert (await room.decided()).answer == answer


@pytest.mark.shows("D2")
@pytest.mark.parametrize("size", [(1000, 700), (390, 700)])
async def test_the_ways_out_are_on_screen_from_the_first_line_of_the_longest_question(
    room: Room, size: tuple[int, int]
) -> None:
    await room.put(samples.hostile())
    person = await room.come_in(viewport={"width": size[0], "height": size[1]})
    await person.open()
    assert await person.page.evaluate("window.scrollY") == 0
    for control in ("button[value=decline]", "button[value=cancel]", "details.block summary"):
        await expect(person.page.locator(control)).to_be_in_viewport(ratio=1)
    await expect(person.page.locator("button[value=review]")).not_to_be_in_viewport()


@pytest.mark.shows("D5")
async def test_a_server_is_blocked_for_this_session_or_for_good(room: Room) -> None:
    await room.put(samples.short())
    person = await room.come_in()
    await person.open()
    await person.press("details.block summary")
    await expect(person.page.locator("input[name=block]:checked")).to_have_count(0)
    await person.press("input[value=session]", "Space")
    await person.page.keyboard.press("ArrowDown")
    await person.press("button[value=block]")
    await person.heading("Declined")
    decision = await room.decided()
    assert (decision.answer, decision.block) == (Declined(), "always")


@pytest.mark.shows("D8", "O4")
async def test_a_draft_survives_a_reload_and_a_closed_tab_leaves_the_question_waiting(room: Room) -> None:
    await room.put(samples.form())
    person = await room.come_in()
    await person.open()
    async with person.page.expect_response(lambda response: response.url.endswith("/draft")):
        await person.type("#f0", "Half a ti")
    await person.page.reload()
    await expect(person.page.locator("#f0")).to_have_value("Half a ti")
    other = await person.page.context.new_page()
    address = person.page.url
    await person.page.close()
    assert len(room.queue.waiting()) == 1
    await other.goto(address)
    await expect(other.locator("#f0")).to_have_value("Half a ti")


@pytest.mark.shows("D8")
async def test_when_a_second_tab_answers_first_the_other_one_says_so_by_itself(room: Room) -> None:
    await room.put(samples.short())
    person = await room.come_in()
    await person.open()
    second = Person(await person.page.context.new_page())
    await second.page.goto(person.page.url)
    await second.press("button[value=decline]")
    await second.heading("Declined")
    await person.heading("Declined")
    await expect(person.page.locator(".lead")).to_contain_text("It was answered in the browser")
    assert (await room.decided()).answer == Declined()


@pytest.mark.shows("D8")
async def test_a_question_that_ends_at_the_terminal_or_runs_out_says_so_by_itself(room: Room) -> None:
    await room.put(samples.short("a"), samples.short("b"))
    person = await room.come_in()
    await person.open()
    room.queue.decide("a", Decision(Declined(), desk="terminal"))
    await expect(person.page.locator(".lead")).to_contain_text("It was answered at the terminal")
    await person.press("a.button:text('Next question')")
    await person.heading("A question from")
    room.queue.decide("b", Decision(Cancelled(), by="timeout"))
    await person.heading("Expired")
    await expect(person.page.locator(".lead")).to_contain_text("Nobody answered in time")


@pytest.mark.shows("D8")
async def test_new_questions_appear_and_are_counted_without_a_reload(room: Room) -> None:
    person = await room.come_in()
    await person.heading("Nothing waits")
    await room.put(samples.short("a"))
    await person.heading("One question waits")
    await room.put(*samples.batch())
    await person.heading("4 questions wait")
    await expect(person.page.locator("[data-count]")).to_have_text("4")
    await expect(person.page).to_have_title(re.compile(r"^\(4\) "))
    await expect(person.page.locator("[data-news]")).to_have_text("4 questions wait.")
    room.queue.decide("a", Decision(Cancelled(), desk="terminal"))
    await person.heading("3 questions wait")


@pytest.mark.shows("D2", "D8")
async def test_everything_is_answered_without_javascript(room: Room) -> None:
    await room.put(samples.form(), samples.link())
    person = await room.come_in(java_script_enabled=False)
    await person.open()
    await person.type("#f0", "Mo")
    await person.press("button[value=review]")
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator("#f0")).to_be_focused()
    await fill_in(person)
    await person.press("#f9-1", "Space")
    await person.page.keyboard.press("ArrowDown")  # from "no" to "leave unanswered"
    await person.press("button[value=review]")
    await person.heading("will get")
    await person.page.wait_for_timeout(600)  # nothing on the page tells when it is armed
    await person.press("button[value=send]")
    await person.heading("Accepted")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert "pin" not in answer.data
    await person.press("a.button:text('Next question')")
    await person.heading("A link from")
    await person.press("details.block summary")
    await person.press("input[value=session]", "Space")
    await person.press("button[value=block]")
    await person.heading("Declined")


@pytest.mark.shows("D4")
async def test_typing_ahead_and_double_presses_consent_to_nothing(room: Room) -> None:
    await room.put(samples.empty())
    person = await room.come_in()
    await person.open()
    await person.page.reload(wait_until="commit")
    for _ in range(5):
        await person.page.keyboard.press("Enter")
        await person.page.keyboard.press("Space")
    await expect(person.page.locator("button[value=accept]")).not_to_be_focused()
    await person.page.reload(wait_until="domcontentloaded")
    await person.page.evaluate("document.querySelector('button[value=accept]').click()")
    assert len(room.queue.waiting()) == 1
    await person.armed()
    await person.press("button[value=accept]")
    await person.heading("Accepted")


@pytest.mark.shows("L5")
async def test_a_link_is_opened_by_the_person_after_consent_and_never_before(room: Room) -> None:
    await room.put(samples.link())
    person = await room.come_in()
    requested: list[str] = []
    person.page.context.on("request", lambda request: requested.append(_host(request)))
    await person.open()
    await expect(person.page.locator(".url .domain")).to_have_text("shop.example")
    await expect(person.page.locator("main a:not([href$=servers])")).to_have_count(0)
    await person.armed()
    await person.press("button[value=accept]")
    await person.heading("Accepted")
    assert (await room.decided()).answer == Accepted(None)
    assert set(requested) == {"127.0.0.1"}
    await person.page.context.route(
        "https://accounts.shop.example/**", lambda route: route.fulfill(body="there")
    )
    async with person.page.context.expect_page() as opening:
        await person.press("a.button.main")
    opened = await opening.value
    await opened.wait_for_load_state()
    assert opened.url == "https://accounts.shop.example/connect?flow=7"
    assert await opened.evaluate("[window.opener, document.referrer]") == [None, ""]


@pytest.mark.shows("D7")
async def test_hostile_text_runs_nothing_and_loads_nothing(room: Room) -> None:
    await room.put(samples.hostile())
    person = await room.come_in()
    said: list[str] = []
    person.page.on("console", lambda message: said.append(message.text))
    person.page.on("dialog", lambda dialog: said.append(dialog.message))
    await person.open()
    await expect(person.page).to_have_title("Question from notes · Handraise")
    await expect(person.page.locator("blockquote img, blockquote a, blockquote script")).to_have_count(0)
    assert said == []


@pytest.mark.shows("D8", "D10")
@pytest.mark.parametrize("javascript", [True, False])
async def test_a_batch_is_answered_on_one_page(room: Room, javascript: bool) -> None:
    await room.put(*samples.batch())
    person = await room.come_in(java_script_enabled=javascript)
    await person.open()
    await person.heading("3 questions from notes")
    fields = person.page.locator("input[type=text]")
    ids = [await fields.nth(at).get_attribute("id") for at in range(3)]
    await person.type(f"#{ids[0]}", "Monday")
    await person.page.keyboard.press("Enter")  # in a field it goes to the review, and declines nothing
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator(f"#{ids[1]}")).to_be_focused()
    await person.type(f"#{ids[1]}", "seven")
    await person.press("button[value^=decline-] >> nth=2")
    await person.heading("2 questions left")
    assert (await room.decided(2)).answer == Declined()
    await person.press("button.main[value=review]")
    await person.heading("will get")
    await expect(person.page.locator("dl.review").nth(1)).to_contain_text('"seven"')
    if javascript:
        await person.armed()
    else:
        await person.page.wait_for_timeout(600)  # a page without script cannot tell when its buttons count
    await person.press("button[value=send]")
    await person.heading("All 3 are decided")
    assert [(await room.decided(at)).answer for at in (0, 1)] == [
        Accepted({"name": "Monday"}),
        Accepted({"name": "seven"}),
    ]


@pytest.mark.shows("D8")
async def test_a_part_answered_elsewhere_leaves_the_page_and_what_was_typed_stays(room: Room) -> None:
    await room.put(*samples.batch())
    person = await room.come_in()
    await person.open()
    await person.type("input[type=text] >> nth=0", "Mon")
    room.queue.decide("together-1", Decision(Declined(), desk="terminal"))
    await person.heading("2 questions left")
    await expect(person.page.locator("input[type=text]").first).to_have_value("Mon")


@pytest.mark.shows("D5", "D10")
@pytest.mark.parametrize("javascript", [True, False])
async def test_a_server_is_blocked_and_allowed_again_by_keyboard(room: Room, javascript: bool) -> None:
    await room.put(samples.short())
    person = await room.come_in(java_script_enabled=javascript)
    await person.press("nav a:text('Servers')")
    await person.heading("Servers and your rules")
    await person.press(".make summary >> nth=0")
    await person.press("input[value=allow]", "ArrowUp")  # the last of its group
    await person.press("input[value=session]", "ArrowDown")
    await person.press("button[value=make] >> nth=0")
    await expect(person.page.locator("[role=status]").first).to_contain_text("notes is blocked")
    [rule] = room.gate.policy.own.book().entries
    assert (rule.server, rule.asking) == ("notes", "block")
    await person.press("button[value=undo]")
    await expect(person.page.locator("[role=status]").first).to_contain_text("notes may ask")
    assert room.gate.policy.own.book().entries == ()


@pytest.mark.shows("D10")
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
async def test_an_accessibility_checker_finds_nothing(room: Room, look: str) -> None:
    await room.put(samples.form(), samples.homograph(), samples.hostile(), *samples.batch(), samples.empty())
    width = 390 if look == "phone" else 1000
    scheme: Any = "dark" if look == "dark" else "light"
    person = await room.come_in(
        color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    )
    home = person.page.url
    await require_accessible(person.page)
    links = await person.page.locator("#inbox a").evaluate_all("links => links.map(link => link.href)")
    for link in links[:4]:
        await person.page.goto(link)
        await require_accessible(person.page)
    await person.press("button.main[value=review]")  # of the batch, with nothing filled in
    await expect(person.page.locator("#summary")).to_be_visible()
    await require_accessible(person.page)
    await person.page.goto(f"{home}servers")
    await person.press(".make summary >> nth=0")
    await person.press("button[value=make] >> nth=0")
    await expect(person.page.locator(".problem")).to_be_visible()
    await require_accessible(person.page)
    await person.page.goto(links[0])
    await person.press("details.block summary")
    await person.press("button[value=block]")
    await expect(person.page.locator("#block-problem")).to_be_visible()
    await require_accessible(person.page)
    await person.press("button[value=review]")
    await expect(person.page.locator("#summary")).to_be_visible()
    await require_accessible(person.page)
    await fill_in(person)
    await person.press("button[value=review]")
    await person.heading("will get")
    await person.armed()
    await require_accessible(person.page)
    await person.press("button[value=send]")
    await person.heading("Accepted")
    await require_accessible(person.page)
    await person.page.goto(f"{home}history")
    await require_accessible(person.page)


def _host(request: Request) -> str:
    return request.url.split("/")[2].partition(":")[0]
