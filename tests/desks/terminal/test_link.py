"""Consent to a link at the terminal."""

from __future__ import annotations

import pytest
from tests.desks.questions import link_question
from tests.desks.terminal.sitting import Browser, Sitting, Stopped, sitting

from handraise.desks import ARMED_AFTER
from handraise.questions import Accepted, Cancelled, Declined
from handraise.urls import NotOpened


@pytest.mark.shows("L5")
async def test_a_link_is_shown_in_full_with_its_domain_set_apart_and_opened_only_after_consent() -> None:
    browser, url = Browser(), "https://login.example.co.uk/start?client=7#here"
    async with sitting(link_question(url), browser=browser) as here:
        screen = await here.sees(url, "The link leads to example.co.uk")
        assert "Open this link  F5  Decline  F3  Cancel  Esc  More  F4" in screen
        assert _emphasised(here) == "example.co.uk"
        assert browser.opened == []
        await here.press("enter", "space")
        assert browser.opened == []
        await here.press("f5")
        assert (await here.decision()).answer == Accepted(None)
        assert browser.opened == [url]


def _emphasised(here: Sitting) -> str:
    """What of the link itself is painted in bold and with its colours reversed, which needs no colour to be seen."""
    link = here.app.screen.query_one(".link")
    painted = [segment for row in range(link.size.height) for segment in link.render_line(row)]
    styled = [(segment.text, segment.style) for segment in painted if segment.style is not None]
    return "".join(text for text, style in styled if style.bold and style.reverse)


@pytest.mark.shows("L5")
@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://github.com.evil.example/login", "evil.example"),
        ("https://example.com/?next=https://bank.com/", "example.com"),
        ("https://example.com/" + "a" * 200, "example.com"),
        ("https://127.0.0.1:8765/x", "127.0.0.1"),
    ],
)
async def test_the_domain_is_emphasised_within_the_link_and_nothing_else_is(url: str, domain: str) -> None:
    async with sitting(link_question(url)) as here:
        await here.sees(domain)
        assert _emphasised(here) == domain


@pytest.mark.shows("L5", "D4")
async def test_typing_ahead_opens_nothing() -> None:
    browser, clock = Browser(), Stopped()
    async with sitting(link_question(), browser=browser, clock=clock) as here:
        await here.press("f5", "enter", "f5")
        assert browser.opened == []
        clock.now += ARMED_AFTER
        await here.press("f5")
        assert len(browser.opened) == 1
        assert (await here.decision()).answer == Accepted(None)


@pytest.mark.shows("L5", "L12")
async def test_a_homograph_domain_is_called_what_it_is_and_cannot_be_opened() -> None:
    browser = Browser()
    async with sitting(link_question("https://gіthub.com/login"), browser=browser) as here:  # a Cyrillic і
        screen = await here.sees("xn--gthub-n2e.com", "This link is dangerous.")
        assert "encoded form of “gіthub.com”" in " ".join(screen.split())
        assert "mixes letters of different alphabets" in screen
        assert "Open this link" not in screen
        await here.press("f5")
        assert browser.opened == []
        assert here.undecided()
        await here.press("f3")
        assert (await here.decision()).answer == Declined()


@pytest.mark.shows("L5")
async def test_a_link_that_a_browser_cannot_read_is_quoted_and_cannot_be_opened() -> None:
    async with sitting(link_question("https://\u202egro.elpmaxe")) as here:
        await here.sees("This link is dangerous.")
        await here.press("f5")
        assert here.undecided()
        assert "\u202e" not in here.screen()


@pytest.mark.shows("L5", "O4")
@pytest.mark.parametrize(("key", "answer"), [("f5", Accepted(None)), ("escape", Cancelled())])
async def test_where_no_browser_can_be_opened_the_person_is_told_and_opens_it_or_cancels(
    key: str, answer: Accepted[None] | Cancelled
) -> None:
    url = "https://example.com/start"
    browser = Browser(NotOpened("ssh", url))
    async with sitting(link_question(url), browser=browser) as here:
        await here.press("f5")
        screen = await here.sees("open the link in the browser there", "I opened it  F5")
        assert url in screen
        assert here.undecided()
        await here.press(key)
        assert (await here.decision()).answer == answer
        assert len(browser.opened) == 1
        assert url in "\n".join(here.app.session.take_lines())  # left where it can be copied


@pytest.mark.shows("L5")
async def test_where_no_browser_can_be_opened_one_key_answers_a_link() -> None:
    browser, url = Browser(), "https://example.com/start"
    async with sitting(link_question(url), browser=browser, hindered=lambda: "ssh") as here:
        await here.sees("open the link in the browser there", "I opened it  F5", "F5 says that you opened it")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted(None)
        assert browser.opened == []
        assert url in "\n".join(here.app.session.take_lines())  # left where it can be copied


@pytest.mark.shows("L5")
async def test_consent_waits_until_the_end_of_a_long_link_was_in_sight() -> None:
    browser, url = Browser(), "https://example.com/" + "path/" * 400 + "end"
    async with sitting(link_question(url), browser=browser) as here:
        await here.press("f5")
        await here.sees("there is more to read")
        assert browser.opened == []
        for _ in range(10):
            await here.press("pagedown")
        await here.sees("path/end")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted(None)


@pytest.mark.shows("L4")
async def test_while_the_person_is_in_the_browser_done_and_cancel_are_offered() -> None:
    for key, answer in (("f5", Accepted(None)), ("escape", Cancelled())):
        browser = Browser()
        async with sitting(link_question(browsing=True), browser=browser) as here:
            screen = await here.sees("notes waits for you to finish in your browser")
            assert screen.split("\n")[-1].strip() == "Done  F5  Open the link again  F2  Cancel  Esc"
            await here.press("f3")
            assert here.undecided()
            await here.press(key)
            assert (await here.decision()).answer == answer
            assert browser.opened == []


@pytest.mark.shows("L4")
async def test_a_link_that_is_asked_for_again_is_called_the_same_one_and_can_be_opened_again() -> None:
    browser = Browser()
    async with sitting(link_question(browsing=True, asked_again=True), browser=browser) as here:
        await here.press("f9")
        await here.sees("waits for you to finish", "It is the link that you agreed to before")
        await here.sees("Done  F5  Open the link again  F2  Decline  F3  Cancel  Esc  More  F4")
        await here.press("f2")
        await here.sees("It was opened again.")
        assert here.undecided()
        assert len(browser.opened) == 1
        await here.press("f5")
        assert (await here.decision()).answer == Accepted(None)
        assert len(browser.opened) == 1


@pytest.mark.shows("W9b")
async def test_a_link_that_needs_a_passkey_is_neither_opened_nor_accepted_here() -> None:
    browser = Browser()
    async with sitting(link_question(passkey=True), browser=browser) as here:
        await here.sees("Accepting needs your passkey, at the web desk.")
        await here.press("f5")
        await here.sees("This needs your passkey: answer at the web desk")
        assert browser.opened == []
        await here.press("f3")
        assert (await here.decision()).answer == Declined()
