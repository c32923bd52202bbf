"""Questions that came together: one page and one button; each with its own answer and decision."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.desks.web import samples
from tests.desks.web.visitor import Office

from handraise.desks import Cause, Decision, Waiting
from handraise.questions import Accepted, Cancelled, Declined

NAMES = ("Monday", "seven", "a lot")


async def opened(office: Office, *questions: Waiting) -> str:
    """Ask, and go to the page of the batch."""
    await office.put(*questions)
    path = re.findall(r'href="([^"]+/q/[0-9a-f]+)"', office.visitor.page)[0]
    assert (await office.visitor.get(path)).status_code == 200
    return str(path)


def answered(office: Office, **more: str) -> dict[str, str]:
    """The fields of the page that is open, filled in one after the other."""
    fields = re.findall(r'<input type="text" id="(q[^"]+)"', office.visitor.page)
    here = re.findall(r'name="(q[^"]+here)"', office.visitor.page)
    return {**dict.fromkeys(here, "yes"), **dict(zip(fields, NAMES, strict=False)), **more}


def button(office: Office, way: str, at: int = 0) -> str:
    return str(re.findall(rf'value="({way}-[0-9a-f]+)"', office.visitor.page)[at])


@pytest.mark.shows("D8")
async def test_a_batch_is_one_card_one_page_and_one_sending(office: Office) -> None:
    path = await opened(office, *samples.batch(), samples.short("other"))
    assert "3 questions from notes" in office.visitor.page
    assert "Send all 3</button>" in office.visitor.page
    office.wait()
    response = await office.visitor.post(path, answered(office, do="send"))
    assert response.headers["location"] == path
    for at, name in enumerate(NAMES):
        decision = await office.decided(at)
        assert (decision.answer, decision.by, decision.desk) == (Accepted({"name": name}), "human", "web")
    await office.visitor.get(path)
    assert "2 decided already" in office.visitor.page
    assert [waiting.id for waiting in office.queue.waiting()] == ["other"]


@pytest.mark.shows("D8")
async def test_questions_of_one_call_are_a_batch_and_those_of_another_are_not(office: Office) -> None:
    one = Cause(samples.CREATE_NOTE.calls, call_id="one")
    unsure = replace(one, certain=False)
    await office.put(
        samples.short("a", cause=one),
        samples.short("b", cause=one),
        samples.short("c", cause=replace(one, call_id="two")),
        samples.short("d", cause=unsure),
        samples.short("e", cause=unsure),
        samples.short("f", cause=one, origin=samples.SHOP),
    )
    assert office.visitor.page.count('class="card waits"') == 5
    assert office.visitor.page.count("2 together") == 1


@pytest.mark.shows("D2", "D8")
async def test_one_is_declined_by_itself_and_the_others_keep_what_was_typed(office: Office) -> None:
    path = await opened(office, *samples.batch())
    await office.visitor.post(path, answered(office, do=button(office, "decline", 1)))
    assert (await office.decided(1)).answer == Declined()
    await office.visitor.get(path)
    assert "2 questions from notes" in office.visitor.page
    assert "1 decided already" in office.visitor.page
    assert 'value="Monday"' in office.visitor.page
    await office.visitor.post(path, {"do": button(office, "cancel", 1)})
    assert (await office.decided(2)).answer == Cancelled()
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("D2", "D5")
@pytest.mark.parametrize(("way", "answer"), [("decline", Declined()), ("cancel", Cancelled())])
async def test_all_are_declined_or_cancelled_at_once(office: Office, way: str, answer: object) -> None:
    path = await opened(office, *samples.batch())
    await office.visitor.post(path, {"do": way})
    assert [(await office.decided(at)).answer for at in range(3)] == [answer] * 3


@pytest.mark.shows("D8")
async def test_who_asks_is_said_once_for_all_of_a_call(office: Office) -> None:
    await opened(office, *samples.batch())
    assert office.visitor.page.count("notes asks, to run plan_project") == 1


@pytest.mark.shows("D5")
async def test_blocking_declines_all_and_makes_one_rule(office: Office) -> None:
    path = await opened(office, *samples.batch())
    await office.visitor.post(path, {"do": "block-always"})
    decisions = [await office.decided(at) for at in range(3)]
    assert [decision.answer for decision in decisions] == [Declined()] * 3
    assert [decision.block for decision in decisions] == ["always", None, None]


@pytest.mark.shows("D10")
async def test_what_does_not_fit_is_told_for_every_part_and_nothing_is_sent(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    values = answered(office, do="send")
    values |= {name: "x" for name in values if name.startswith("q") and not name.endswith("here")}
    assert (await office.visitor.post(path, values)).status_code == 422
    assert office.visitor.page.count('aria-invalid="true"') == 3
    assert (await office.visitor.post(path, {"do": "send"})).status_code == 422
    assert len(office.queue.waiting()) == 3


@pytest.mark.shows("D4")
async def test_nothing_is_sent_for_a_question_that_was_not_on_the_page(office: Office) -> None:
    path = await opened(office, *samples.batch())
    values = answered(office, do="send")
    assert (await office.visitor.post(path, values)).status_code == 409, "too soon"
    await office.put(samples.empty("late", group="together"))
    office.wait()
    assert (await office.visitor.post(path, values)).status_code == 409, "one more came"
    assert "nothing was sent" in office.visitor.page
    assert len(office.queue.waiting()) == 4


@pytest.mark.shows("D8")
async def test_a_part_that_was_answered_elsewhere_is_told_and_the_rest_can_be_sent(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.queue.decide("together-1", Decision(Declined(), desk="terminal"))
    await office.visitor.get(path)
    assert "It ended at the terminal just now." in office.visitor.page
    gone = await office.visitor.post(path, {"do": f"decline-{'0' * 32}"})
    assert gone.status_code == 409
    assert "That question is over." in office.visitor.page
    office.wait()
    assert (await office.visitor.post(path, answered(office, do="send"))).status_code == 303
    assert (await office.decided(0)).answer == Accepted({"name": "Monday"})


@pytest.mark.shows("D2", "L5")
async def test_a_link_in_a_batch_is_agreed_to_by_itself_and_never_sent_along(office: Office) -> None:
    link = samples.link(group="g", cause=samples.CREATE_NOTE)
    form = samples.short("form", group="g", origin=samples.SHOP)
    path = await opened(office, form, link)
    office.wait()
    await office.visitor.post(path, answered(office, do="send"))
    assert (await office.decided(0)).answer == Accepted({"name": "Monday"})
    assert len(office.queue.waiting()) == 1
    await office.visitor.get(path)
    office.wait()
    await office.visitor.post(path, {"do": "open"})
    assert (await office.decided(1)).answer == Accepted(None)
    await office.visitor.get(path)
    assert 'href="https://accounts.shop.example/connect?flow=7"' in office.visitor.page


@pytest.mark.shows("L5")
async def test_a_dangerous_link_in_a_batch_cannot_be_agreed_to(office: Office) -> None:
    bad = replace(samples.link("bad", "https://user:pw@evil.example/"), group="g")
    path = await opened(office, samples.short("form", group="g", origin=samples.SHOP), bad)
    office.wait()
    assert 'value="open-' not in office.visitor.page
    handle = button(office, "decline", 1).removeprefix("decline-")
    assert (await office.visitor.post(path, {"do": f"open-{handle}"})).status_code == 403
    assert len(office.queue.waiting()) == 2


async def test_a_batch_is_nobody_elses(office: Office) -> None:
    path = await opened(office, *samples.batch())
    handle = path.rpartition("/")[2]
    assert (await office.visitor.get(f"{office.visitor.place}q/{handle[::-1]}")).status_code == 404
    assert (await office.visitor.post(path, {"do": "decline", "csrf": "wrong"})).status_code == 403
    office.visitor.cookie = None
    assert (await office.visitor.get(path)).status_code == 403
    assert len(office.queue.waiting()) == 3


async def test_a_credential_that_was_typed_in_a_batch_is_stopped(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    values = answered(office, do="send")
    name = next(name for name in values if name.startswith("q") and not name.endswith("here"))
    values[name] = "ghp_" + "x7Kd92LmQp" * 3 + "aB3dE9"
    assert (await office.visitor.post(path, values)).status_code == 422
    assert "Stopped: this looks like a secret" in office.visitor.page


@pytest.mark.shows("D8")
async def test_a_confirmation_in_a_batch_shows_what_its_answers_do(office: Office) -> None:
    cause = Cause(samples.CREATE_NOTE.calls, call_id="one")
    await opened(office, samples.confirm(cause=cause), samples.short(cause=cause))
    shown = re.sub("</?bdi>", "", office.visitor.page)
    assert "<span>Yes: “Delete 47 files”</span>" in shown
    assert "<span>No: “Keep them”</span>" in shown
