"""Answering with a passkey in a real Chromium, with its virtual authenticator, at http://localhost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.desks.web import samples
from tests.desks.web.browsing import Person, Room, has_passkeys, open_room
from tests.desks.web.samples import guard
from tests.strangers.axe import require_accessible, require_accessible_everywhere
from tests.waiting import until

from handraise.access import Access, AccessCheck
from handraise.desks.codes import DeskCodeCheck
from handraise.desks.passkeys import PasskeyFile
from handraise.desks.remote import RemoteQueue, reply_to
from handraise.desks.web import WebDesk
from handraise.desks.web.sessions import PasskeyTask
from handraise.forms import Form, Text
from handraise.policy import Settings
from handraise.policy.settings import DeskSettings
from handraise.processes import SocketAddress
from handraise.questions import TYPED, Accepted
from handraise.this_user import local_person

pytestmark = pytest.mark.stranger

YES = "button.passkey"
SETTINGS = Settings(desk=DeskSettings(passkey=("guards", "typed")))
TYPE_IT = Form.by_hand(Text(TYPED, title="Type the number 47 to go ahead", min_length=1))


class Heard(list[tuple[str, str]]):
    def __call__(self, what: str, name: str) -> None:
        self.append((what, name))


@pytest.fixture
def kept(tmp_path: Path) -> PasskeyFile:
    return PasskeyFile(tmp_path / "passkeys.json")


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def room(browser: Browser, kept: PasskeyFile, heard: Heard) -> AsyncIterator[Room]:
    async with open_room(browser, SETTINGS, passkeys=kept, on_passkey=heard) as opened:
        yield opened


async def enrol(room: Room, name: str = "laptop", **how: Any) -> Person:
    """Come with a link that adds a passkey, and add it."""
    person = await come_for(room, PasskeyTask("add", name), **how)
    await person.armed()
    await person.press(YES)
    await person.heading("Your passkey works")
    return person


async def come_for(room: Room, passkey_task: PasskeyTask, context: Any = None, **how: Any) -> Person:
    """Come with a link of its own; in a browser that has passkeys already, or in a new one."""
    fresh = context is None
    if fresh:
        context = await room.browser.new_context(**how)
        context.set_default_timeout(30_000)
        room.contexts.append(context)
    person = Person(await context.new_page() if fresh else context.pages[0])
    if fresh:
        await has_passkeys(person.page)
    await person.page.goto(room.desk.sign_in_url(samples.PERSON, passkey_task))
    await person.press("main button")
    await person.page.locator("form[data-trouble]").wait_for()
    return person


async def to_desk(room: Room, person: Person) -> None:
    """The same tab, and so the same passkeys, at the desk."""
    await person.page.goto(room.desk.sign_in_url())
    await person.press("main button")
    await person.page.locator("#inbox").wait_for()


@pytest.mark.shows("W9b")
async def test_a_person_adds_a_passkey_and_says_yes_with_it_by_one_button(
    room: Room, kept: PasskeyFile, heard: Heard
) -> None:
    assert room.desk.sign_in_url().startswith(f"http://localhost:{room.desk.port}/")
    person = await enrol(room)
    assert [what for what, _ in heard if what != "seen"] == ["added"]
    (passkey,) = kept.all()
    assert (passkey.name, passkey.rp_id, passkey.owner) == ("laptop", "localhost", "system:ada")
    await to_desk(room, person)
    await room.put(guard())
    await person.open()
    await expect(person.page.locator(YES)).to_have_text("Yes, with your passkey")
    await expect(person.page.locator("input[type=radio][name=f0]")).to_have_count(0)
    await person.armed()
    await person.press(YES)
    await person.heading("You said yes")
    await expect(person.page.locator("main")).to_contain_text("in the browser with a passkey")
    decision = await room.decided()
    assert decision.answer == Accepted({"answer": True})
    assert decision.passkey is not None
    assert decision.passkey.name == "laptop"
    assert kept.all()[0].sign_count > passkey.sign_count


@pytest.mark.shows("W9b")
async def test_a_typed_text_a_batch_and_a_link_need_one_touch_each(room: Room) -> None:
    person = await enrol(room)
    await to_desk(room, person)
    desk = person.page.url
    await room.put(guard(form=TYPE_IT))
    await person.open()
    await person.type("#f0", "47")
    await person.armed()
    await person.press(YES)
    await person.heading("Sent")
    assert (await room.decided()).answer == Accepted({TYPED: "47"})

    await room.put(*(guard(f"g{n}", TYPE_IT, group="one") for n in range(3)))
    await person.page.goto(desk)
    await person.open()
    for field in range(3):
        await person.page.locator("input[type=text]").nth(field).fill("47")
    await expect(person.page.locator(YES)).to_have_text("Send all 3, with your passkey")
    await person.armed()
    await person.press(YES)
    await person.heading("Sent")
    assert all([(await room.decided(at)).passkey is not None for at in (1, 2, 3)])

    await room.put(samples.link(passkey=True))
    await person.page.goto(desk)
    await person.open()
    await person.armed()
    await person.press(YES)
    await person.heading("You agreed")
    assert (await room.decided(4)).passkey is not None


@pytest.mark.shows("W9b")
async def test_without_a_passkey_the_question_waits_and_the_desk_says_how_to_add_one(room: Room) -> None:
    await room.put(guard())
    person = await room.come_in()
    await person.open()
    await expect(person.page.locator(".needs-passkey")).to_contain_text("handraise desk passkey add")
    await expect(person.page.locator(YES)).to_have_count(0)
    assert len(room.queue.waiting()) == 1
    await person.armed()
    await person.press("button[value=no]")
    await person.heading("You said no")
    assert (await room.decided()).said_no


@pytest.mark.shows("W9b")
async def test_a_passkey_that_is_cancelled_or_verifies_nobody_answers_nothing_and_can_be_used_again(
    room: Room,
) -> None:
    person = await enrol(room)
    await to_desk(room, person)
    await room.put(guard())
    await person.open()
    refuse = "navigator.credentials.get = () => Promise.reject(new DOMException('no', 'NotAllowedError'))"
    await person.page.evaluate(f"() => {{ window.real = navigator.credentials.get; {refuse} }}")
    await person.armed()
    await person.press(YES)
    await expect(person.page.locator("[data-says]")).to_contain_text("Nothing was sent")
    assert len(room.queue.waiting()) == 1
    await person.page.evaluate("() => { delete navigator.credentials.get }")
    await person.page.evaluate(
        """() => { const real = PublicKeyCredential.parseRequestOptionsFromJSON;
        PublicKeyCredential.parseRequestOptionsFromJSON = (o) => real({ ...o, userVerification: "discouraged" }); }"""
    )
    await person.press(YES)
    await expect(person.page.locator(".notice.warn")).to_contain_text("could not be checked")
    assert len(room.queue.waiting()) == 1
    await person.armed()
    await person.press(YES)
    await person.heading("You said yes")


@pytest.mark.shows("W9b")
async def test_a_passkey_is_added_or_removed_only_with_one_that_is_there(
    room: Room, kept: PasskeyFile, heard: Heard
) -> None:
    person = await enrol(room)
    stranger = await come_for(room, PasskeyTask("add", "its-own"))
    await stranger.heading("First, the passkey that you have")
    await stranger.armed()
    await stranger.press(YES)
    await expect(stranger.page.locator("[data-says]")).to_contain_text("cancelled, or took too long")
    await until(lambda: ("trouble", "NotAllowedError") in heard)
    assert [each.name for each in kept.all()] == ["laptop"]

    await person.page.goto(room.desk.sign_in_url(samples.PERSON, PasskeyTask("add", "phone")))
    await person.press("main button")
    await person.armed()
    await person.press(YES)
    await person.heading("Add your passkey")
    await has_passkeys(person.page, "usb")  # another one: the first has a passkey already
    await person.armed()
    await person.press(YES)
    await person.heading("Your passkey works")
    assert [each.name for each in kept.all()] == ["laptop", "phone"]

    await person.page.goto(room.desk.sign_in_url(samples.PERSON, PasskeyTask("remove", "laptop")))
    await person.press("main button")
    await person.heading("Remove “laptop”?")
    await person.armed()
    await person.press(YES)
    await person.heading("The passkey is removed")
    assert [each.name for each in kept.all()] == ["phone"]
    assert ("removed", "laptop") in heard


@pytest.mark.shows("D10")
async def test_every_page_about_passkeys_is_accessible(room: Room) -> None:
    how = {"viewport": {"width": 1280, "height": 800}, "bypass_csp": True}
    await room.put(guard(), guard("typed", TYPE_IT, origin=samples.SHOP))
    without = await room.come_in(**how)
    await without.open()
    await require_accessible_everywhere(without.page)
    person = await come_for(room, PasskeyTask("add", "laptop"), **how)
    await person.armed()
    await require_accessible_everywhere(person.page)
    await person.press(YES)
    await person.heading("Your passkey works")
    await require_accessible_everywhere(person.page)
    await to_desk(room, person)
    await person.open()
    await person.armed()
    await require_accessible_everywhere(person.page)
    await person.page.goto(room.desk.sign_in_url(samples.PERSON, PasskeyTask("remove", "laptop")))
    await person.press("main button")
    await person.heading("Remove")
    await person.armed()
    await require_accessible_everywhere(person.page)


class Changing(AccessCheck):
    """A system that tells whose a browser is, until it does not."""

    known: Access = "own"

    def of_connection(self, client: SocketAddress, server: SocketAddress) -> Access:
        return self.known


@pytest.mark.shows("W9")
async def test_where_the_system_does_not_tell_the_desk_opens_with_a_passkey(
    browser: Browser, kept: PasskeyFile, tmp_path: Path
) -> None:
    access, no_code = Changing(), DeskCodeCheck(tmp_path / "desk-code.json")
    async with open_room(browser, SETTINGS, passkeys=kept, access=access, desk_code=no_code) as room:
        context = await browser.new_context(bypass_csp=True)  # axe is a script of its own
        room.contexts.append(context)
        person = Person(await context.new_page())
        await has_passkeys(person.page)
        await person.page.goto(room.desk.sign_in_url(local_person(), PasskeyTask("add", "laptop")))
        await person.press("main button")
        await person.armed()
        await person.press(YES)
        await person.heading("Your passkey works")

        access.known = "unknown"
        link = room.desk.sign_in_url()
        await person.page.goto(link)
        await expect(person.page.locator(YES)).to_have_text("Open the desk with your passkey")
        await require_accessible(person.page)
        await person.press(YES)
        await person.page.locator("#inbox").wait_for()

        again, base = room.desk.sign_in_url(), f"http://localhost:{room.desk.port}"
        for forged in ("", "{}", '{"id": "x", "response": {}}'):
            refused = await context.request.post(again, form={"passkey": forged}, headers={"origin": base})
            assert "Open the desk with your passkey" in await refused.text()
            assert "/sign-in/" in refused.url


@pytest.mark.shows("W9b", "D8")
async def test_the_tray_leads_to_the_desk_that_takes_the_passkey(
    browser: Browser, kept: PasskeyFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    async with open_room(browser, SETTINGS, passkeys=kept) as gateway:

        def knock(door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
            if request["do"] == "sign in":
                return {"file": str(gateway.desk.sign_in_file(question=request["id"]))}
            return reply_to(gateway.queue, request)

        tray = RemoteQueue(lambda: [Path("gateway")], knock)
        async with WebDesk(tray, passkeys=kept) as desk:
            following = asyncio.create_task(tray.follow())
            room = Room(tray, desk, browser, gateway.gate)
            person = await enrol(gateway)
            await gateway.put(samples.confirm("other"), guard())
            await to_desk(room, person)
            await person.heading("2 questions are waiting")
            await person.click_question(1)
            await expect(person.page.locator("button[value=yes]")).to_have_count(0)
            await expect(person.page.locator("button[value=no]")).to_be_visible()
            await person.press("a:text('Go to its desk')")
            await person.heading("Your desk is ready")
            await person.press("main button")
            await expect(person.page.locator("blockquote")).to_contain_text("delete 47 notes")
            await person.armed()
            await person.press(YES)
            await person.heading("You said yes")
            assert (await gateway.decided(1)).passkey is not None
            following.cancel()
