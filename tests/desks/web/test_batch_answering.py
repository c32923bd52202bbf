"""Questions that came together: one page, one review, one button; each with its own answer and decision."""

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
    [path] = re.findall(r'href="([^"]+/b/[0-9a-f]+)"', office.visitor.page)
    assert (await office.visitor.get(path)).status_code == 200
    return str(path)


def answered(office: Office, **more: str) -> dict[str, str]:
    """The fields of the page that is open, filled in one after the other."""
    fields = re.findall(r'<input type="text" id="(q[^"]+)"', office.visitor.page)
    return {"fields": "here", **dict(zip(fields, NAMES, strict=False)), **more}


async def reviewed(office: Office, path: str, **more: str) -> str:
    """Fill all in and go on to the review; the mark that sending refers to."""
    response = await office.visitor.post(path, answered(office, do="review", **more))
    assert response.headers["location"] == f"{path}/review"
    await office.visitor.get(f"{path}/review")
    found = re.search(r'name="seen" value="([0-9a-f]+)"', office.visitor.page)
    assert found
    return found[1]


def button(office: Office, way: str, at: int = 0) -> str:
    return str(re.findall(rf'value="({way}-[0-9a-f]+)"', office.visitor.page)[at])


@pytest.mark.shows("D8")
async def test_a_batch_is_one_card_one_page_one_review_and_one_sending(office: Office) -> None:
    path = await opened(office, *samples.batch(), samples.short("other"))
    assert office.visitor.page.count("Question ") >= 3
    assert "3 questions from" in office.visitor.page
    office.wait()
    mark = await reviewed(office, path)
    assert "These 3 answers go to" in office.visitor.page
    assert all(f'"{name}"' in office.visitor.page for name in NAMES)
    office.wait()
    response = await office.visitor.post(path, {"do": "send", "seen": mark})
    assert response.headers["location"] == path
    for at, name in enumerate(NAMES):
        decision = await office.decided(at)
        assert (decision.answer, decision.by, decision.desk) == (Accepted({"name": name}), "human", "web")
    await office.visitor.get(path)
    assert "All 3 are decided" in office.visitor.page
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
    assert office.visitor.page.count('class="card"') == 5
    assert office.visitor.page.count("2 together") == 1


@pytest.mark.shows("D2", "D8")
async def test_one_is_declined_by_itself_and_the_others_keep_what_was_typed(office: Office) -> None:
    path = await opened(office, *samples.batch())
    await office.visitor.post(path, answered(office, do=button(office, "decline", 1)))
    assert (await office.decided(1)).answer == Declined()
    await office.visitor.get(path)
    assert "2 questions left from" in office.visitor.page
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


@pytest.mark.shows("D5")
async def test_blocking_declines_all_and_makes_one_rule(office: Office) -> None:
    path = await opened(office, *samples.batch())
    assert (await office.visitor.post(path, {"do": "block"})).status_code == 422
    assert "Choose for how long" in office.visitor.page
    await office.visitor.post(path, {"do": "block", "block": "always"})
    decisions = [await office.decided(at) for at in range(3)]
    assert [decision.answer for decision in decisions] == [Declined()] * 3
    assert [decision.block for decision in decisions] == ["always", None, None]


@pytest.mark.shows("D10")
async def test_what_does_not_fit_is_told_for_every_part_and_nothing_is_sent(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    values = answered(office, do="review")
    values |= {name: "x" for name in values if name.startswith("q")}
    assert (await office.visitor.post(path, values)).status_code == 422
    assert office.visitor.page.count('aria-invalid="true"') == 3
    assert (await office.visitor.post(path, {"do": "send", "seen": "0" * 64})).status_code == 422
    assert len(office.queue.waiting()) == 3


@pytest.mark.shows("D4")
async def test_nothing_is_sent_but_what_the_review_showed(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    mark = await reviewed(office, path)
    assert (await office.visitor.post(path, {"do": "send", "seen": mark})).status_code == 409, "too soon"
    office.wait()
    office.queue.keep_draft("together-0", {"name": "something else"})
    assert (await office.visitor.post(path, {"do": "send", "seen": mark})).status_code == 409
    assert "changed in another window" in office.visitor.page
    await office.put(samples.short("late", group="together"))
    office.wait()
    assert (await office.visitor.post(path, {"do": "send", "seen": mark})).status_code == 422, "one more came"
    assert len(office.queue.waiting()) == 4


@pytest.mark.shows("D8")
async def test_a_part_that_was_answered_elsewhere_is_told_and_the_rest_can_be_sent(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    mark = await reviewed(office, path)
    office.queue.decide("together-1", Decision(Declined(), desk="terminal"))
    office.wait()
    assert (await office.visitor.post(path, {"do": "send", "seen": mark})).status_code == 409
    await office.visitor.get(path)
    assert "It was answered at the terminal just now: declined." in office.visitor.page
    gone = await office.visitor.post(path, {"do": f"decline-{'0' * 32}"})
    assert gone.status_code == 409
    assert len(office.queue.waiting()) == 2


@pytest.mark.shows("D2", "L5")
async def test_a_link_in_a_batch_is_agreed_to_by_itself_and_never_sent_along(office: Office) -> None:
    link = samples.link(group="g", cause=samples.CREATE_NOTE)
    form = samples.short("form", group="g", origin=samples.SHOP)
    path = await opened(office, form, link)
    office.wait()
    mark = await reviewed(office, path)
    assert "The link is not part of this." in office.visitor.page
    office.wait()
    await office.visitor.post(path, {"do": "send", "seen": mark})
    assert (await office.decided(0)).answer == Accepted({"name": "Monday"})
    assert len(office.queue.waiting()) == 1
    await office.visitor.get(path)
    office.wait()
    await office.visitor.post(path, {"do": button(office, "accept")})
    assert (await office.decided(1)).answer == Accepted(None)
    await office.visitor.get(path)
    assert 'href="https://accounts.shop.example/connect?flow=7"' in office.visitor.page


@pytest.mark.shows("L5")
async def test_a_dangerous_link_in_a_batch_cannot_be_agreed_to(office: Office) -> None:
    bad = replace(samples.link("bad", "https://user:pw@evil.example/"), group="g")
    path = await opened(office, samples.short("form", group="g", origin=samples.SHOP), bad)
    office.wait()
    assert "This link cannot be opened from here." in office.visitor.page
    handle = button(office, "decline", 1).removeprefix("decline-")
    assert (await office.visitor.post(path, {"do": f"accept-{handle}"})).status_code == 403
    assert len(office.queue.waiting()) == 2


async def test_a_batch_is_nobody_elses(office: Office) -> None:
    path = await opened(office, *samples.batch())
    handle = path.rpartition("/")[2]
    assert (await office.visitor.get(f"{office.visitor.place}b/{handle[::-1]}")).status_code == 404
    assert (await office.visitor.post(path, {"do": "decline", "csrf": "wrong"})).status_code == 403
    office.visitor.cookie = None
    assert (await office.visitor.get(path)).status_code == 403
    assert len(office.queue.waiting()) == 3


async def test_a_credential_that_was_typed_in_a_batch_is_stopped(office: Office) -> None:
    path = await opened(office, *samples.batch())
    office.wait()
    values = answered(office, do="review")
    name = next(name for name in values if name.startswith("q"))
    values[name] = "ghp_" + "x7Kd92LmQp" * 3 + "aB3dE9"
    assert (await office.visitor.post(path, values)).status_code == 422
    assert "Stopped: this looks like a secret" in office.visitor.page
