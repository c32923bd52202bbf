"""The web desk in a real Chromium, by keyboard only."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Request, expect
from tests.desks.web import samples
from tests.desks.web.browsing import Person, Room
from tests.strangers.axe import require_accessible_everywhere

from handraise.desks import Decision, Queue
from handraise.desks.gate import PolicyGate
from handraise.desks.remote import RemoteQueue, reply_to
from handraise.desks.web import WebDesk
from handraise.policy import Policy
from handraise.questions import Accepted, Cancelled, Declined
from handraise.secrets import SecretFinding

pytestmark = pytest.mark.stranger


async def fill_in(person: Person) -> None:
    """Good answers to the form with every field."""
    await person.type("#f0", "Monday")
    await person.page.locator("#f4").fill("2026-11-16")
    await person.type("#f7", "5")
    await person.press("#f8-0", "Space")
    await person.press("#f10-0", "Space")
    await person.page.keyboard.press("ArrowDown")
    await person.press("#f12-1", "Space")


SIZES = {"desk": (1280, 800), "phone": (390, 844)}
LOOKS: list[dict[str, Any]] = [
    {"size": "desk"},
    {"size": "phone"},
    {"size": "desk", "keyboard": True},
    {"size": "desk", "java_script_enabled": False},
]
NAMES = [
    "1280x800",
    "390x844",
    "keyboard only",
    "no script",
]
EVERY_LOOK = pytest.mark.parametrize("look", LOOKS, ids=NAMES)
SOME_LOOKS = pytest.mark.parametrize("look", LOOKS[1:4], ids=NAMES[1:4])
"""A narrow screen, the keyboard alone, and no script."""
WITH_AND_WITHOUT_SCRIPT = pytest.mark.parametrize("look", LOOKS[2:4], ids=NAMES[2:4])
PICTURES = os.environ.get("HANDRAISE_PICTURES")


async def sit_down(room: Room, look: dict[str, Any]) -> Person:
    width, height = SIZES[look["size"]]
    how = {name: value for name, value in look.items() if name not in ("size", "keyboard")}
    return await room.come_in(viewport={"width": width, "height": height}, **how)


async def open_question(person: Person, look: dict[str, Any]) -> None:
    """Open the first question, by mouse or by keyboard."""
    await (person.open() if look.get("keyboard") else person.click_question())


async def push(person: Person, look: dict[str, Any], selector: str) -> None:
    """Press a button, by mouse or by keyboard."""
    await (person.press(selector) if look.get("keyboard") else person.page.locator(selector).click())


async def write(person: Person, look: dict[str, Any], selector: str, text: str) -> None:
    """Fill in a field, by keyboard key by key."""
    await (person.type(selector, text) if look.get("keyboard") else person.page.locator(selector).fill(text))


async def ready(person: Person, look: dict[str, Any]) -> None:
    """Wait until the buttons count."""
    if look.get("java_script_enabled", True):
        await person.armed()
    else:
        await person.page.wait_for_timeout(600)  # a page without script cannot tell when its buttons count


async def in_sight(control: Locator) -> None:
    """All of it is on the screen, and nothing lies over it."""
    await expect(control).to_be_in_viewport(ratio=1)
    on_top = (
        "e => { const b = e.getBoundingClientRect(); const at = document.elementFromPoint(b.x + b.width / 2, "
    )
    on_top += "b.y + b.height / 2); return e === at || e.contains(at); }"
    assert await control.evaluate(on_top)


async def size_of(page: Page, selector: str) -> float:
    return float(await page.locator(selector).first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)"))


@pytest.mark.shows("D2b", "D2c", "D10", "O8")
@EVERY_LOOK
async def test_from_the_notice_to_an_answered_confirmation_are_two_clicks(
    room: Room, look: dict[str, Any]
) -> None:
    press = ("yes", "no")[LOOKS.index(look) % 2]
    await room.put(samples.confirm())
    person = await sit_down(room, look)
    if not look.get("java_script_enabled", True):
        await person.page.reload()
    await open_question(person, look)
    assert await person.page.evaluate("window.scrollY") == 0
    box = await person.page.locator("blockquote").bounding_box()
    who = await person.page.locator(".who").bounding_box()
    assert box is not None
    assert who is not None
    assert box["y"] < who["y"], "the question comes first"
    assert box["y"] < SIZES[look["size"]][1] * 0.2
    assert await size_of(person.page, "blockquote") > 1.2 * await size_of(person.page, "body")
    for control in ("button[value=yes]", "button[value=no]", "button[value=decline]", "button[value=cancel]"):
        await in_sight(person.page.locator(control))
    await expect(person.page.locator("button:focus")).to_have_count(0)
    await ready(person, look)
    await push(person, look, f"button[value={press}]")
    await person.heading(f"You said {press}")
    decision = await room.decided()
    assert (decision.answer, decision.said_no) == (Accepted({"answer": press == "yes"}), press == "no")


@pytest.mark.shows("D2d", "D2b")
@SOME_LOOKS
async def test_seven_fields_with_one_mistake_are_sent_again_without_retyping(
    room: Room, look: dict[str, Any]
) -> None:
    await room.put(samples.seven())
    person = await sit_down(room, look)
    await open_question(person, look)
    await in_sight(person.page.locator("button[value=send]"))
    for at in range(6):
        await write(person, look, f"#f{at}", f"answer {at}")
    await write(person, look, "#f6", "0")
    await ready(person, look)
    await push(person, look, "button[value=send]")
    await expect(person.page.locator("#f6-problem")).to_contain_text("more than 0 and at most 10,000")
    await expect(person.page.locator("#summary + ul")).to_contain_text("Budget")
    await in_sight(person.page.locator("button[value=send]"))
    for at in range(6):
        await expect(person.page.locator(f"#f{at}")).to_have_value(f"answer {at}")
    await write(person, look, "#f6", "12.5")
    await ready(person, look)
    await push(person, look, "button[value=send]")
    await person.heading("Sent")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert (answer.data["project"], answer.data["budget_eur"]) == ("answer 0", 12.5)


async def test_a_field_that_is_being_corrected_is_not_called_wrong_any_more(room: Room) -> None:
    await room.put(samples.asked_again())
    person = await room.come_in()
    await person.click_question()
    problem, field = person.page.locator("#f1-problem"), person.page.locator("#f1")
    red = await problem.evaluate("e => getComputedStyle(e).color")
    await field.fill("12")
    await expect(problem).to_contain_text("No room has more than 12.")
    assert await problem.evaluate("e => getComputedStyle(e).color") != red
    await person.armed()
    await person.page.locator("#f0").fill("")
    await person.page.locator("button[value=send]").click()
    await expect(person.page.locator("#f0")).to_have_attribute("aria-invalid", "true")
    await person.armed()
    await person.page.locator("#f0").fill("A")
    await expect(person.page.locator("#f0")).not_to_have_attribute("aria-invalid", "true")


@pytest.mark.shows("D10", "D1")
async def test_the_keyboard_begins_at_the_question_and_a_guard_is_named_above_its_words(room: Room) -> None:
    await room.put(samples.confirm("a", guard=True), samples.form())
    person = await room.come_in()
    await person.click_question()
    caption = person.page.locator("figcaption")
    box = await caption.bounding_box()
    assert box is not None
    assert box["width"] > 50
    await expect(caption).to_have_text("Your own rule")
    for control in (".who > summary", "button[value=yes]"):
        await person.page.keyboard.press("Tab")
        await expect(person.page.locator(control)).to_be_focused()
    await person.page.go_back()
    await person.click_question(1)
    await expect(person.page.locator("h1")).to_be_focused()
    assert await person.page.evaluate("window.scrollY") == 0
    box = await caption.bounding_box()
    assert box is not None
    assert box["width"] <= 1, "the server's words need no caption"


@pytest.mark.shows("D2", "D2b")
@pytest.mark.parametrize("look", [LOOKS[1], LOOKS[3]], ids=[NAMES[1], NAMES[3]])
async def test_a_second_look_has_its_send_button_in_sight(room: Room, look: dict[str, Any]) -> None:
    doubt = SecretFinding("project", 2, "otp", "This may be asking for a one-time code.", doubtful=True)
    await room.put(samples.seven(secrets=(doubt,)).warned((doubt.reason,)))
    person = await sit_down(room, look)
    await open_question(person, look)
    for at, text in enumerate(("839 201", "Ada", "Bob", "Graz", "12", "Work", "12.5")):
        await write(person, look, f"#f{at}", text)
    await ready(person, look)
    await push(person, look, "button[value=send]")
    await expect(person.page.locator(".review")).to_contain_text("839 201")
    for control in ("button[value=send]", "button[value=decline]", "button[value=cancel]"):
        await in_sight(person.page.locator(control))
    await ready(person, look)
    await push(person, look, "button[value=send]")
    await person.heading("Sent")


@pytest.mark.shows("D2f", "D2b")
@SOME_LOOKS
async def test_a_message_of_20_kb_scrolls_and_one_of_2000_options_is_found(
    room: Room, look: dict[str, Any]
) -> None:
    await room.put(samples.long(20_000, 2_000))
    person = await sit_down(room, look)
    await open_question(person, look)
    for control in ("button[value=send]", "button[value=decline]", "button[value=cancel]"):
        await in_sight(person.page.locator(control))
    message = person.page.locator("blockquote")
    assert len((await message.inner_text()).strip()) >= 19_990
    assert await message.evaluate("e => e.scrollHeight > e.clientHeight")
    await message.focus()
    await person.page.keyboard.press("End")
    await expect(message).to_be_focused()
    if look.get("java_script_enabled", True):
        await write(person, look, "input[type=search]", "ty 1999")
        await expect(person.page.locator("[data-found]")).to_have_text("1 found")
        await person.page.keyboard.press("Enter")
        await person.page.keyboard.press("Space")
    else:
        await expect(person.page.locator("input[type=search]")).not_to_be_visible()
        await person.page.locator("label", has_text="City 1999").click()
    await ready(person, look)
    await push(person, look, "button[value=send]")
    await person.heading("Sent")
    assert (await room.decided()).answer == Accepted({"city": "City 1999"})


@pytest.mark.shows("D2e", "D8")
@WITH_AND_WITHOUT_SCRIPT
async def test_a_question_that_expires_while_it_is_open_is_gone_and_no_error(
    room: Room, look: dict[str, Any]
) -> None:
    person = await sit_down(room, look)
    await room.put(samples.confirm(deadline=time.time() + 4))
    if not look.get("java_script_enabled", True):
        await person.page.reload()
    await open_question(person, look)
    await expect(person.page.locator(".left")).to_contain_text("left")
    assert (await room.decided()).by == "timeout"
    if not look.get("java_script_enabled", True):
        await push(person, look, "button[value=yes]")
    await person.heading("Expired")
    await expect(person.page.locator(".lead")).to_contain_text("Nobody answered in time")


async def test_a_number_typed_in_german_is_read_in_german_and_shown(room: Room) -> None:
    await room.put(samples.seven())
    person = await room.come_in(locale="de-DE")
    await person.click_question()
    await person.page.locator("#f6").press_sequentially("1.000")
    await expect(person.page.locator("#f6-read")).to_have_text("Gelesen als 1.000")
    await expect(person.page.locator("button[value=send]")).to_have_text("Senden")
    for at in range(6):
        await person.page.locator(f"#f{at}").fill("x")
    async with person.page.expect_response(lambda response: response.url.endswith("/draft")):
        await person.page.locator("#f5").fill("y")
    await person.armed()
    await person.page.locator("button[value=send]").click()
    await person.heading("Gesendet")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert answer.data["budget_eur"] == 1000


async def test_a_sound_is_played_for_a_new_question_only_if_wanted(room: Room) -> None:
    person = await room.come_in()
    await room.put(samples.short("a"))
    await person.heading("1 question is waiting")
    assert await person.page.locator("body").get_attribute("data-rang") is None
    await person.page.locator("[data-sound]").check()
    await room.put(samples.short("b"))
    await person.heading("2 questions are waiting")
    assert int(await person.page.locator("body").get_attribute("data-rang") or 0) >= 1


@pytest.mark.shows("D8")
async def test_a_tray_shows_what_waits_at_all_gateways_at_one_address_live(browser: Browser) -> None:
    gateways = {Path("one"): Queue(), Path("two"): Queue()}
    tray = RemoteQueue(lambda: list(gateways), lambda door, request: reply_to(gateways[door], request))
    async with WebDesk(tray) as desk:
        following = asyncio.create_task(tray.follow())
        room = Room(tray, desk, browser, PolicyGate(Policy()))
        person = await room.come_in()
        await person.heading("No questions are waiting")
        asked = [
            asyncio.create_task(gateways[Path("one")].put(samples.confirm("a"))),
            asyncio.create_task(gateways[Path("two")].put(samples.confirm("b", origin=samples.SHOP))),
        ]
        await person.heading("2 questions are waiting")
        await expect(person.page).to_have_title(re.compile(r"^\(2\) "))
        await expect(person.page.locator("#inbox")).to_contain_text("shop asks")
        await person.click_question()
        await person.armed()
        await person.page.locator("button[value=no]").click()
        await person.heading("You said no")
        assert (await asked[0]).said_no
        asked[1].cancel()
        await expect(person.page).to_have_title(re.compile(r"^You said no"))
        following.cancel()
        await room.leave()


async def test_the_head_of_a_page_is_one_line_on_a_phone(room: Room) -> None:
    person = await sit_down(room, {"size": "phone"})
    heights = "items => items.map(item => item.getBoundingClientRect().height)"
    assert max(await person.page.locator(".top nav > *").evaluate_all(heights)) < 40, "one line each"
    tops = "items => new Set(items.map(item => Math.round(item.getBoundingClientRect().top / 20))).size"
    assert await person.page.locator(".top nav > *").evaluate_all(tops) == 1, "one line for all"
    header = await person.page.locator(".top").bounding_box()
    assert header is not None
    assert header["height"] < 60


@pytest.mark.skipif(not PICTURES, reason="only `make pictures` takes pictures")
async def test_the_pictures_of_the_documentation(room: Room) -> None:
    folder = Path(PICTURES or "")
    minutes = time.time() + 250
    await room.put(
        samples.confirm(deadline=minutes),
        samples.seven(),
        samples.homograph(),
        *samples.batch(),
        samples.hostile(),
    )
    shots = {"phone": ("web-phone", "web-phone-confirm"), "desk": ("web-waiting", "web-confirm")}
    for size, names in shots.items():
        person = await sit_down(room, {"size": size})
        await keep_picture(person.page, folder / f"{names[0]}.png")
        links = await person.page.locator("#inbox a").evaluate_all("links => links.map(link => link.href)")
        await person.page.goto(links[0])
        await person.armed()
        await keep_picture(person.page, folder / f"{names[1]}.png")
    for link, name in zip(links[1:], ("web-form", "web-link", "web-batch", "web-hostile"), strict=True):
        await person.page.goto(link)
        if name == "web-form":
            for at, text in enumerate(("Lovelace Ltd", "Ada", "Vienna", "4711", "A fair", "500"), 1):
                await person.page.locator(f"#f{at}").fill(text)
            await person.armed()
            await person.page.locator("button[value=send]").click()
            await expect(person.page.locator("#summary")).to_be_visible()
            await expect(person.page.locator("blockquote")).to_be_in_viewport(ratio=1)
        await person.armed()
        await keep_picture(person.page, folder / f"{name}.png")
    await person.page.goto(f"{person.page.url.split('/q/')[0]}/servers")
    await keep_picture(person.page, folder / "web-servers.png")


async def keep_picture(page: Page, file: Path) -> None:
    """Take a picture when all pictures of the page are there."""
    await page.wait_for_function("() => [...document.images].every(image => image.complete)")
    await page.screenshot(path=file)


@pytest.mark.shows("D2", "D10")
async def test_a_form_is_answered_corrected_and_sent_by_keyboard(room: Room) -> None:
    await room.put(samples.form())
    person = await room.come_in()
    await person.open()
    await person.armed()
    await person.type("#f0", "Mo")
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator("#f0")).to_be_focused()
    await expect(person.page).to_have_title(re.compile("Error: "))
    await fill_in(person)
    await person.armed()
    await person.press("button[value=send]")
    await person.heading("Sent")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data == {
        "title": "Monday",
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
async def test_a_question_is_declined_or_cancelled(room: Room) -> None:
    await room.put(samples.short("a"), samples.short("b"))
    person = await room.come_in()
    await person.open()
    await person.armed()
    await person.press("button[value=decline]")
    await person.heading("Declined")
    await person.press("a.button:text('Next question')")
    await person.armed()
    await person.press("button[value=cancel]")
    await person.heading("Cancelled")
    assert [(await room.decided(at)).answer for at in (0, 1)] == [Declined(), Cancelled()]


@pytest.mark.shows("D2", "D2b")
async def test_every_way_to_decide_is_in_sight_from_the_first_line_of_the_longest_question(
    room: Room,
) -> None:
    await room.put(samples.form(message=samples.HOSTILE))
    person = await room.come_in()
    await person.open()
    for width, height in ((1280, 800), (1000, 700), (390, 844), (390, 700)):
        await person.page.set_viewport_size({"width": width, "height": height})
        await person.page.reload()
        assert await person.page.evaluate("window.scrollY") == 0
        for control in ("send", "decline", "cancel"):
            await in_sight(person.page.locator(f"button[value={control}]"))
        await in_sight(person.page.locator(".block summary"))


@pytest.mark.shows("D5")
async def test_a_server_is_blocked_for_this_session_or_for_good(room: Room) -> None:
    await room.put(samples.short())
    person = await room.come_in()
    await person.open()
    await person.press("details.block summary")
    await person.armed()
    await person.press("button[value=block-always]")
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
async def test_a_question_that_ends_in_a_second_tab_at_the_terminal_or_runs_out_says_so_by_itself(
    room: Room,
) -> None:
    await room.put(samples.short("first"), samples.short("a"), samples.short("b"))
    person = await room.come_in()
    await person.open()
    second = Person(await person.page.context.new_page())
    await second.page.goto(person.page.url)
    await second.armed()
    await second.press("button[value=decline]")
    await second.heading("Declined")
    await person.heading("Declined")
    await expect(person.page.locator(".lead")).to_contain_text("It ended in the browser")
    assert (await room.decided()).answer == Declined()
    await person.press("a.button:text('Next question')")
    await person.heading("Question from")
    room.queue.decide("a", Decision(Declined(), desk="terminal"))
    await expect(person.page.locator(".lead")).to_contain_text("It ended at the terminal")
    await person.press("a.button:text('Next question')")
    await person.heading("Question from")
    room.queue.decide("b", Decision(Cancelled(), by="timeout"))
    await person.heading("Expired")
    await expect(person.page.locator(".lead")).to_contain_text("Nobody answered in time")


@pytest.mark.shows("D8")
async def test_new_questions_appear_and_are_counted_without_a_reload(room: Room) -> None:
    person = await room.come_in()
    await person.heading("No questions are waiting")
    await expect(person.page.locator("[data-count]")).to_be_hidden()
    await room.put(samples.short("a"))
    await person.heading("1 question is waiting")
    await expect(person.page.locator("[data-count]")).to_have_text("1")
    await expect(person.page.locator("[data-count]")).to_be_visible()
    await room.put(*samples.batch())
    await person.heading("4 questions are waiting")
    await expect(person.page.locator("[data-count]")).to_have_text("4")
    await expect(person.page).to_have_title(re.compile(r"^\(4\) "))
    await expect(person.page.locator("[data-news]")).to_have_text("4 questions are waiting")
    room.queue.decide("a", Decision(Cancelled(), desk="terminal"))
    await person.heading("3 questions are waiting")


async def test_after_an_answer_the_next_question_is_offered_as_it_comes(room: Room) -> None:
    await room.put(samples.confirm("a"))
    person = await room.come_in()
    await person.click_question()
    await person.armed()
    await person.page.locator("button[value=no]").click()
    await person.heading("You said no")
    await expect(person.page.get_by_text("Next question")).to_have_count(0)
    await room.put(samples.confirm("b"))
    await person.page.get_by_text("Next question").click()
    await expect(person.page.locator("button[value=yes]")).to_be_visible()
    assert (await room.decided()).said_no


@pytest.mark.shows("D2", "D8", "L5")
async def test_everything_is_answered_without_javascript(room: Room) -> None:
    await room.put(samples.form(), samples.link("agreed"), samples.link())
    person = await room.come_in(java_script_enabled=False)
    await person.open()
    await person.type("#f0", "Mo")
    await person.press("button[value=send]")
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator("#f0")).to_be_focused()
    await fill_in(person)
    await person.press("#f9-1", "Space")
    await person.page.keyboard.press("ArrowDown")  # from "no" to "leave unanswered"
    await person.page.wait_for_timeout(600)  # nothing on the page tells when it is armed
    await person.press("button[value=send]")
    await person.heading("Sent")
    answer = (await room.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert "pin" not in answer.data
    await person.press("a.button:text('Next question')")
    await expect(person.page.locator(".link")).to_be_visible()
    await person.page.wait_for_timeout(600)
    await person.press("button[value=open]")
    await person.heading("You agreed to open the link")
    assert (await room.decided(1)).answer == Accepted(None)
    await expect(person.page.locator("a.button.main")).to_have_attribute(
        "href", "https://accounts.shop.example/connect?flow=7"
    )
    await person.press("a.button:text('Next question')")
    await expect(person.page.locator(".link")).to_be_visible()
    await person.press("details.block summary")
    await person.press("button[value=block-session]")
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
    await person.heading("You said yes")


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
    assert set(requested) == {"127.0.0.1"}
    await person.page.context.route(
        "https://accounts.shop.example/**", lambda route: route.fulfill(body="there")
    )
    for press in ("button[value=open]", "a.button.main"):  # the second one is for a person who lost the tab
        async with person.page.context.expect_page() as opening:
            await person.press(press)
        opened = await opening.value
        await opened.wait_for_url("https://accounts.shop.example/connect?flow=7")
        assert await opened.evaluate("[window.opener, document.referrer]") == [None, ""]
        await person.heading("You agreed to open the link")
    assert (await room.decided()).answer == Accepted(None)


@pytest.mark.shows("D7")
async def test_hostile_text_runs_nothing_and_loads_nothing(room: Room) -> None:
    await room.put(samples.hostile())
    person = await room.come_in()
    said: list[str] = []
    person.page.on("console", lambda message: said.append(message.text))
    person.page.on("dialog", lambda dialog: said.append(dialog.message))
    await person.open()
    await expect(person.page).to_have_title("(1) Question from notes · Handraise")
    await expect(person.page.locator("blockquote img, blockquote a, blockquote script")).to_have_count(0)
    assert said == []


@pytest.mark.shows("D8", "D10")
@pytest.mark.parametrize("javascript", [True, False])
async def test_a_batch_is_answered_on_one_page(room: Room, javascript: bool) -> None:
    await room.put(*samples.batch())
    look = {"size": "desk", "java_script_enabled": javascript}
    person = await sit_down(room, look)
    await person.open()
    await person.heading("3 questions from notes")
    fields = person.page.locator("input[type=text]")
    ids = [await fields.nth(at).get_attribute("id") for at in range(3)]
    await ready(person, look)
    await person.type(f"#{ids[0]}", "Monday")
    await person.page.keyboard.press("Enter")  # in a field it sends, and declines nothing
    await expect(person.page.locator("#summary")).to_be_visible()
    await expect(person.page.locator(f"#{ids[1]}")).to_be_focused()
    await person.type(f"#{ids[1]}", "seven")
    await ready(person, look)
    await person.press("button[value^=decline-] >> nth=2")
    await person.heading("2 questions from notes")
    assert (await room.decided(2)).answer == Declined()
    await ready(person, look)
    await person.press("button.main[value=send]")
    await person.heading("Sent")
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
    await person.heading("2 questions from notes")
    await expect(person.page.locator("input[type=text]").first).to_have_value("Mon")


@pytest.mark.shows("D5", "D10")
@pytest.mark.parametrize("javascript", [True, False])
async def test_a_server_is_blocked_and_allowed_again_by_keyboard(room: Room, javascript: bool) -> None:
    await room.put(samples.short())
    person = await room.come_in(java_script_enabled=javascript)
    await person.press("nav a:text('Who may ask')")
    await person.heading("Who may ask")
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
async def test_an_accessibility_checker_finds_nothing(room: Room) -> None:
    await room.put(samples.form(), samples.homograph(), samples.hostile(), *samples.batch(), samples.empty())
    person = await room.come_in(viewport={"width": 1280, "height": 800}, bypass_csp=True)
    home = person.page.url
    await require_accessible_everywhere(person.page)
    links = await person.page.locator("#inbox a").evaluate_all("links => links.map(link => link.href)")
    for link in links[:4]:
        await person.page.goto(link)
        await person.armed()
        await require_accessible_everywhere(person.page)
    await person.press("button.main[value=send]")  # of the batch, with nothing filled in
    await expect(person.page.locator("#summary")).to_be_visible()
    await person.armed()
    await require_accessible_everywhere(person.page)
    await person.page.goto(f"{home}servers")
    await person.press(".make summary >> nth=0")
    await person.press("button[value=make] >> nth=0")
    await expect(person.page.locator(".problem")).to_be_visible()
    await require_accessible_everywhere(person.page)
    await person.page.goto(links[0])
    await person.armed()
    await person.press("details.who summary")
    await person.press("details.block summary")
    await require_accessible_everywhere(person.page)
    await fill_in(person)
    await person.press("button[value=send]")
    await person.heading("Sent")
    await require_accessible_everywhere(person.page)
    await person.page.goto(f"{home}history")
    await require_accessible_everywhere(person.page)
    for one in (
        samples.confirm(),
        samples.long(20_000, 40),
    ):  # of more options, each takes the checker its time
        await room.put(one)
        await person.page.goto(home)
        await person.click_question(-1)
        await person.armed()
        await require_accessible_everywhere(person.page)


def _host(request: Request) -> str:
    return request.url.split("/")[2].partition(":")[0]
