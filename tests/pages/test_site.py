"""A page is shown to its person, taken once, and then says how it ended."""

from __future__ import annotations

import asyncio

import pytest
from tests.pages.house import ABOUT, ANN, ME, TOKEN, VALUE, House

from handraise.desks.language import ENGLISH, GERMAN
from handraise.errors import NoRoom, StoreError
from handraise.pages import SecretField, SecretPage, page
from handraise.pages.entry_pages import ONE
from handraise.questions import Accepted, Answer, Cancelled, Declined
from handraise.vault import Secret


@pytest.fixture
def house() -> House:
    return House()


async def test_the_page_says_who_asks_for_what_and_why_before_anything_is_typed(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    assert (await browser.open(visit)).status_code == 200
    assert browser.heading == "GitHub token"
    before = browser.text.partition('type="password"')[0]
    for words in (
        ABOUT.server,
        ABOUT.client or "",
        ABOUT.request,
        ABOUT.why,
        ANN.subject,
        "Starts with ghp_",
    ):
        assert words in before
    assert house.recorded == [("opened", "")]


@pytest.mark.shows("L9")
async def test_what_is_entered_is_taken_once_and_the_link_is_used_up(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    assert (await browser.enter(visit)).status_code == 303
    assert house.answer == Accepted(Secret(VALUE))
    await browser.open(visit)
    assert browser.heading == "Done"
    assert VALUE not in browser.text
    replayed = await browser.enter(visit, "ghp_another")
    assert replayed.status_code == 409
    assert browser.heading == "Already done"
    assert house.answer == Accepted(Secret(VALUE))


@pytest.mark.shows("L9")
async def test_two_posts_at_once_are_one_answer(house: House) -> None:
    both_in = asyncio.Barrier(2)

    async def slow(_: Secret) -> None:
        await both_in.wait()

    page: SecretPage[Secret] = SecretPage("Key", (SecretField(ONE),), check=slow)
    visit, browser = house.ask(page), house.browser()
    await browser.open(visit)
    async with asyncio.timeout(60):
        first, second = await asyncio.gather(browser.enter(visit, "one"), browser.enter(visit, "two"))
    assert sorted([first.status_code, second.status_code]) == [303, 409]
    assert len(house.settled) == 1


@pytest.mark.parametrize(
    ("button", "answer", "heading"),
    [("decline", Declined(), "Declined"), ("cancel", Cancelled(), "Cancelled")],
)
async def test_a_page_can_be_declined_and_cancelled(
    house: House, button: str, answer: Answer[None], heading: str
) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    assert (await browser.post(visit, {"do": button})).status_code == 303
    assert house.answer == answer
    await browser.open(visit)
    assert browser.heading == heading


@pytest.mark.shows("L9")
async def test_a_page_that_nobody_finished_in_time_says_so_and_takes_nothing(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    house.clock.now += 600
    assert (await browser.enter(visit)).status_code == 409
    await browser.open(visit)
    assert browser.heading == "Expired"
    assert house.settled == []
    house.clock.now += 600
    assert (await browser.open(visit)).status_code == 404


@pytest.mark.shows("L9")
@pytest.mark.parametrize("guess", ["", "x", "a" * 32, "..%2Fstatic", "%00", "back", "static/x"])
async def test_a_guessed_address_opens_nothing(house: House, guess: str) -> None:
    house.ask()
    response = await house.browser().get(f"/{guess}")
    assert response.status_code == 404
    assert "notes" not in response.text


@pytest.mark.shows("L10")
def test_a_link_is_random_and_says_nothing_about_anyone(house: House) -> None:
    visit = house.ask()
    assert len(visit.id) == 32  # 192 bits
    link = house.site.link(visit)
    assert link == f"{house.url}/{visit.id}"
    for part in ("ann", "issuer", "github", visit.elicitation_id):
        assert part not in link


def test_the_same_question_asked_again_has_the_same_page_and_another_persons_has_not(house: House) -> None:
    visit = house.ask()
    assert house.ask() is visit
    assert house.ask(person=ME) is not visit
    house.clock.now += 601
    assert house.ask() is not visit


@pytest.mark.shows("S5")
async def test_what_cannot_be_kept_has_not_ended_and_is_told_without_what_was_typed(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)

    async def broken(*_: object) -> None:
        raise StoreError("the store is away")

    with monkeypatch.context() as away:
        away.setattr(house.visits, "_settle", broken)
        assert (await browser.enter(visit)).status_code == 503
    assert "could not be saved" in browser.text
    assert "the store is away" in caplog.text
    assert VALUE not in browser.text + caplog.text
    assert house.visits.state(visit) == "waiting"
    assert (await browser.enter(visit)).status_code == 303


async def test_what_was_entered_is_forgotten_soon_after_it_was_fetched(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    await browser.enter(visit)
    house.clock.now += 599
    assert house.visits.find(visit.id) is visit
    house.clock.now += 1
    assert house.visits.find(visit.id) is None


def test_there_is_a_limit_to_pages_that_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_MOST", 1)
    house.ask()
    with pytest.raises(NoRoom):
        house.ask(person=ME)


@pytest.mark.shows("S5")
async def test_what_was_entered_is_never_shown_again(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    await browser.open(visit)
    wrong = await browser.enter(visit, "sk-oops-wrong")
    assert wrong.status_code == 422
    assert "sk-oops-wrong" not in wrong.text
    assert "It does not look right" in browser.text
    assert visit.answer is None
    assert VALUE not in repr(visit) + repr(TOKEN)


@pytest.mark.parametrize("note", ["finished", "declined", "cancelled", "expired", "already", "not_you"])
def test_every_note_says_what_happened_and_promises_nothing_that_the_client_does(note: str) -> None:
    for language in (ENGLISH, GERMAN):
        said = language(f"page_{note}_lead")
        assert len(said.split()) > 8
        assert "by itself" not in said  # a desk may wait until the person says that they are done
        assert "von selbst" not in said
    if note == "finished":
        assert "Go back to the program that sent you here" in ENGLISH("page_finished_lead")
        assert "say that you are done" in ENGLISH("page_finished_lead")


async def test_a_german_browser_gets_pages_mistakes_endings_and_errors_in_german(house: House) -> None:
    visit, browser = house.ask(), house.browser()
    german = {"accept_language": "de-DE,de;q=0.9,en;q=0.5"}
    await browser.open(visit, **german)
    assert '<html lang="de">' in browser.text
    for words in (
        "notes fragt. Anlass: Werkzeug create_issue",
        "noch 10 Minuten",
        "Ihre Eingabe geht nur an notes.",
        "Speichern",
        "Ablehnen",
    ):
        assert words in browser.text
    await browser.post(visit, {"do": "enter", "s0": "wrong"}, **german)
    assert "Das sieht nicht richtig aus. Starts with ghp_" in browser.text
    assert 'class="hint"' not in browser.text, "the problem says it already"
    await browser.post(visit, {"do": "enter", "s0": VALUE}, **german)
    await browser.open(visit, **german)
    assert browser.heading == "Fertig"
    await browser.get("/nowhere", **german)
    assert browser.heading == "Hier ist nichts"
    assert "Unter dieser Adresse ist nichts" in browser.text
    assert "There is nothing" not in browser.text


def test_one_person_does_not_take_all_pages(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.pages.page._MOST_OF_ONE", 1)
    house.ask()
    with pytest.raises(NoRoom):
        house.ask(key="another")
    house.ask(person=ME)
