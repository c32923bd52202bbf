"""Answering at the web desk, as any browser does it, scripts or not."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from importlib import import_module

import pytest
from tests.desks.web import samples
from tests.desks.web.samples import ANSWERS
from tests.desks.web.visitor import Office

from handraise.desks import Cause, Decision
from handraise.forms import Choices, Flag, Form, Text
from handraise.policy.secrets import SecretFinding
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.urls import inspect_url


def seen(office: Office) -> str:
    """The mark of the review that is on screen."""
    found = re.search(r'name="seen" value="([0-9a-f]+)"', office.visitor.page)
    assert found
    return found[1]


async def to_review(office: Office, path: str, values: dict[str, str | list[str]]) -> None:
    """Fill in and go to the review."""
    await office.visitor.get(path)
    response = await office.visitor.post(path, {"fields": "here", "do": "review", **values})
    assert response.status_code == 303
    assert response.headers["location"] == f"{path}/review"
    await office.visitor.get(f"{path}/review")


def order(page: str, *texts: str) -> None:
    """The texts are on the page, in this order."""
    places = [page.index(text) for text in texts]
    assert places == sorted(places)


@pytest.mark.shows("D1", "D3")
async def test_a_question_shows_who_asks_why_and_what_happens_before_the_servers_words(
    office: Office,
) -> None:
    [path] = await office.put(samples.form())
    await office.visitor.get(path)
    order(
        office.visitor.page,
        "<h1>A question from",
        "Asked by",
        "uvx notes-server --dir ~/Notes",
        "Calls itself",
        "Notes Pro 2.1",
        "unverified",
        "Because of",
        'create_note(title="Monday", tags=["a", "b"])',
        "What happens",
        "The model may see it.",
        "Decline tells the server no.",
        "The server’s own words",
        "How shall the note be kept?",
        "Title",
        "From 3 to 60 characters.",
        "Labels",
        "Review before sending",
        "Decline</button>",
        "Cancel</button>",
        "Block…",
    )


@pytest.mark.shows("D1")
async def test_when_the_host_cannot_tell_the_call_all_calls_are_shown_and_that_it_is_unknown(
    office: Office,
) -> None:
    calls = Cause((("delete_note", {"id": 1}), ("list_notes", {})), certain=False)
    first, second = await office.put(samples.short("a", cause=calls), samples.short("b", cause=None))
    await office.visitor.get(first)
    order(
        office.visitor.page,
        "One of these calls; the host cannot tell which.",
        "delete_note(id=1)",
        "list_notes()",
    )
    await office.visitor.get(second)
    assert "The host did not say which call." in office.visitor.page


@pytest.mark.shows("D4", "F4")
async def test_nothing_is_answered_beforehand_but_what_the_server_suggests_and_that_is_marked(
    office: Office,
) -> None:
    [path] = await office.put(samples.form())
    response = await office.visitor.get(path)
    checked = re.findall(r'name="(f\d+)" id="f\d+-\d+" value="(\w+)" checked', response.text)
    assert checked == [("f9", "no"), ("f11", "0")]
    assert response.text.count("suggested by the server") == 4
    assert "Leave unanswered" in response.text
    assert "selected" not in response.text


@pytest.mark.shows("D2", "O1")
async def test_what_is_sent_is_what_the_review_showed(office: Office) -> None:
    [path] = await office.put(samples.form())
    await to_review(office, path, {**ANSWERS, "f12": ["1", "2"], "f9": "", "f1": "Other", "f11": "0"})
    page = office.visitor.page
    order(page, '"Monday"', '"Other"', "changed from the suggestion", "not sent", '"2026-11-16"')
    assert "suggestion cleared" in page
    assert "as suggested" in page
    office.wait()
    response = await office.visitor.post(path, {"do": "send", "seen": seen(office)})
    assert response.status_code == 303
    decision = await office.decided()
    assert decision.answer == Accepted(
        {
            "title": "Monday",
            "summary": "Other",
            "day": "2026-11-16",
            "people": 5,
            "share": True,
            "folder": "work",
            "colour": "green",
            "labels": ["decision", "open"],
        }
    )
    assert decision.desk == "web"
    assert decision.by == "human"
    assert decision.edited == ("summary", "people", "pin")


@pytest.mark.shows("D10", "F6")
async def test_every_error_is_named_linked_and_tied_to_its_field_and_the_first_has_the_focus(
    office: Office,
) -> None:
    [path] = await office.put(samples.form())
    values = {"fields": "here", "do": "review", "f0": "Mo", "f4": "16 Nov", "f7": "0"}
    response = await office.visitor.post(path, values)
    assert response.status_code == 422
    page = office.visitor.page
    assert "<title>Error: " in page
    for target, problem in (
        ("f0", "Enter at least 3 characters."),
        ("f4", "Enter a date, like 2026-07-28."),
        ("f7", "Enter 1 or more."),
        ("f8-0", "This field is required."),
        ("f12-0", "This field is required."),
    ):
        assert re.search(f'href="#{target}">.*?{re.escape(problem)}', page)
        assert f'id="{target}"' in page
    assert page.count("autofocus") == 1
    assert re.search(r'id="f0" name="f0" value="Mo"[^>]*aria-describedby="f0-problem[^>]* autofocus', page)
    assert 'aria-invalid="true"' in page
    assert office.queue.draft("form")["title"] == "Mo"


@pytest.mark.shows("O1", "D2")
@pytest.mark.parametrize(
    ("values", "answer", "block"),
    [
        ({"do": "decline"}, Declined(), None),
        ({"do": "cancel"}, Cancelled(), None),
        ({"do": "block", "block": "session"}, Declined(), "session"),
        ({"do": "block", "block": "always"}, Declined(), "always"),
    ],
)
@pytest.mark.parametrize("from_review", [False, True])
async def test_every_way_out_is_its_own_and_open_from_the_first_moment(
    office: Office, values: dict[str, str], answer: object, block: str | None, from_review: bool
) -> None:
    [path] = await office.put(samples.short())
    if from_review:
        await to_review(office, path, {"f0": "Monday"})
    response = await office.visitor.post(path, values)
    assert response.status_code == 303
    decision = await office.decided()
    assert decision.answer == answer
    assert decision.block == block


@pytest.mark.shows("D5")
async def test_block_asks_for_how_long_and_has_no_answer_of_its_own(office: Office) -> None:
    [path] = await office.put(samples.short())
    response = await office.visitor.post(path, {"do": "block"})
    assert response.status_code == 422
    assert "Choose for how long" in office.visitor.page
    assert not re.search(r'name="block"[^>]* checked', response.text)
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("D4")
async def test_accept_is_disarmed_for_half_a_second_after_each_page_appeared(office: Office) -> None:
    [path] = await office.put(samples.short())
    office.wait(10)
    await to_review(office, path, {"f0": "Monday"})
    response = await office.visitor.post(path, {"do": "send", "seen": seen(office)})
    assert response.status_code == 409
    assert "nothing was sent" in office.visitor.page
    assert len(office.queue.waiting()) == 1
    office.wait(0.6)
    assert (await office.visitor.post(path, {"do": "send", "seen": seen(office)})).status_code == 303
    assert (await office.decided()).answer == Accepted({"name": "Monday"})


@pytest.mark.shows("D4", "F9")
async def test_an_empty_form_is_yes_no_or_neither_and_not_before_it_was_read(office: Office) -> None:
    [path] = await office.put(samples.empty())
    assert (await office.visitor.post(path, {"do": "accept"})).status_code == 409
    assert "nothing to fill in" in office.visitor.page
    office.wait()
    assert (await office.visitor.post(path, {"do": "accept"})).status_code == 303
    assert (await office.decided()).answer == Accepted({})


async def test_a_form_with_fields_cannot_be_accepted_past_the_review(office: Office) -> None:
    [path] = await office.put(samples.short())
    await office.visitor.get(path)
    office.wait()
    values = {"fields": "here", "f0": "Monday"}
    assert (await office.visitor.post(path, {**values, "do": "accept"})).status_code == 303
    assert (await office.visitor.post(path, {**values, "do": "send"})).status_code == 409
    assert (await office.visitor.post(path, {**values, "do": "send", "seen": "0" * 64})).status_code == 409
    assert len(office.queue.waiting()) == 1


async def test_what_changed_in_another_window_after_the_review_is_reviewed_again(office: Office) -> None:
    [path] = await office.put(samples.short())
    await to_review(office, path, {"f0": "Monday"})
    mark = seen(office)
    await office.visitor.post(f"{path}/draft", {"fields": "here", "f0": "Tuesday"})
    office.wait()
    response = await office.visitor.post(path, {"do": "send", "seen": mark})
    assert response.status_code == 409
    assert '"Tuesday"' in office.visitor.page
    assert "changed in another window" in office.visitor.page
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("D8")
async def test_a_replayed_answer_is_refused_and_says_what_was_decided(office: Office) -> None:
    [path] = await office.put(samples.short())
    await to_review(office, path, {"f0": "Monday"})
    mark = seen(office)
    office.wait()
    assert (await office.visitor.post(path, {"do": "send", "seen": mark})).status_code == 303
    for values in ({"do": "send", "seen": mark}, {"do": "decline"}):
        response = await office.visitor.post(path, values)
        assert response.status_code == 409
        assert "It was answered in the browser just now: accepted." in office.visitor.page
    assert (await office.decided()).answer == Accepted({"name": "Monday"})
    assert (await office.visitor.post(f"{path}/draft", {"fields": "here", "f0": "x"})).status_code == 410


@pytest.mark.shows("D8")
async def test_a_question_that_was_answered_elsewhere_says_where_and_when(office: Office) -> None:
    [path] = await office.put(samples.short())
    office.queue.decide("short", Decision(Declined(), desk="terminal"))
    await office.visitor.get(path)
    assert "It was answered at the terminal just now: declined." in office.visitor.page
    assert "Decline</button>" not in office.visitor.page


@pytest.mark.shows("O2", "O7")
async def test_expired_and_withdrawn_questions_say_so_and_are_no_declines(office: Office) -> None:
    gone, _ = await office.put(samples.short("a"), samples.short("b", deadline=time.time() + 0.05))
    expired = (await office.visitor.paths())[1]
    await office.decided(1)
    office.asked[0].cancel()
    await asyncio.gather(office.asked[0], return_exceptions=True)
    await office.visitor.get(gone)
    assert "Withdrawn" in office.visitor.page
    assert "The asker went away" in office.visitor.page
    response = await office.visitor.post(expired, {"do": "decline"})
    assert response.status_code == 409
    assert "Nobody answered in time" in office.visitor.page
    assert "declined" not in office.visitor.page


@pytest.mark.shows("O4", "D8")
async def test_leaving_the_page_decides_nothing_and_the_draft_stays(office: Office) -> None:
    [path] = await office.put(samples.form())
    await office.visitor.get(path)
    response = await office.visitor.post(f"{path}/draft", {"fields": "here", "f0": "Half a ti", "f9": ""})
    assert response.status_code == 204
    assert len(office.queue.waiting()) == 1
    await office.visitor.get(path)
    assert 'value="Half a ti"' in office.visitor.page
    assert not re.search(r'name="f9"[^>]* checked', office.visitor.page), "a suggestion that was cleared"


@pytest.mark.shows("S4")
@pytest.mark.parametrize("way", ["review", "send"])
async def test_a_credential_that_was_typed_is_stopped_and_cannot_be_sent_at_all(
    office: Office, way: str
) -> None:
    secret = "ghp_" + "x7Kd92LmQp" * 3 + "aB3dE9"
    [path] = await office.put(samples.short())
    await office.visitor.get(path)
    office.wait()
    values = {"fields": "here", "f0": secret, "do": way, "anyway": "yes"}
    response = await office.visitor.post(path, values)
    assert response.status_code == 422
    assert "Stopped: this looks like a secret" in office.visitor.page
    assert "Take it out to go on, or decline." in office.visitor.page
    assert (await office.visitor.get(f"{path}/review")).status_code == 303
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("S4")
async def test_personal_data_that_was_typed_leaves_only_when_the_person_says_that_it_is_meant_to(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SecretFinding("name", 2, "national_id", "This looks like a national id number.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda content: (found,))
    [path] = await office.put(samples.short())
    await to_review(office, path, {"f0": "Monday"})
    assert "This looks like a national id number." in office.visitor.page
    assert not re.search(r'name="anyway"[^>]* checked', office.visitor.page)
    office.wait()
    assert (await office.visitor.post(path, {"do": "send", "seen": seen(office)})).status_code == 422
    assert len(office.queue.waiting()) == 1
    office.wait()
    values = {"do": "send", "seen": seen(office), "anyway": "yes"}
    assert (await office.visitor.post(path, values)).status_code == 303


@pytest.mark.shows("D4", "F4")
async def test_none_of_these_is_an_answer_and_nothing_ticked_is_not(office: Office) -> None:
    question = FormQuestion("Which?", Form.by_hand(Choices("which", ["a", "b"]), Flag("ok", required=False)))
    [path] = await office.put(samples.waiting("q", question))
    response = await office.visitor.post(path, {"fields": "here", "do": "review"})
    assert response.status_code == 422
    await to_review(office, path, {"f0": "none"})
    office.wait()
    await office.visitor.post(path, {"do": "send", "seen": seen(office)})
    assert (await office.decided()).answer == Accepted({"which": []})


@pytest.mark.shows("D7")
async def test_hostile_text_is_inert_wherever_it_stands(office: Office) -> None:
    [path] = await office.put(samples.hostile())
    for where in (office.visitor.place, path):
        response = await office.visitor.get(where)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", response.text)
        assert "<script>document" not in response.text
        assert "<img src=x" not in response.text
        assert "<b>No" not in response.text
    title = re.search("<title>(.*?)</title>", response.text)
    assert title
    assert title[1] == "Question from notes · Handraise"
    assert all("expired" not in button for button in re.findall("<button.*?</button>", response.text))
    assert "9<mark>⟨U+001B⟩</mark>[31m" in response.text
    assert "&lt;mark&gt;" not in response.text
    assert "characters⟩" in response.text


async def test_a_suggestion_with_something_unseen_in_it_is_written_out(office: Office) -> None:
    question = FormQuestion("To?", Form.by_hand(Text("to", default="a\u200bb\u202ec")))
    [path] = await office.put(samples.waiting("q", question))
    await office.visitor.get(path)
    assert "cannot be seen" in office.visitor.page
    assert "⟨U+200B⟩" in office.visitor.page


@pytest.mark.shows("L5")
async def test_a_link_is_shown_whole_with_its_domain_apart_and_nothing_to_click(office: Office) -> None:
    [path] = await office.put(samples.link())
    response = await office.visitor.get(path)
    assert 'class="domain"><bdi>shop.example</bdi>' in response.text
    shown = re.search(r'class="url"[^>]*>(.*?)</p>', response.text, re.DOTALL)
    assert shown
    assert re.sub("<.*?>", "", shown[1]) == "https://accounts.shop.example/connect?flow=7"
    assert 'href="https' not in response.text
    office.wait()
    response = await office.visitor.post(path, {"do": "accept"})
    assert response.headers["location"] == path
    response = await office.visitor.get(path)
    link = re.findall(r'<a [^>]*href="https[^>]*>', response.text)
    assert link == [
        '<a class="button main" href="https://accounts.shop.example/connect?flow=7" '
        'target="_blank" rel="noopener noreferrer">'
    ]
    decision = await office.decided()
    assert decision.answer == Accepted(None)


@pytest.mark.shows("L5")
async def test_a_dangerous_link_cannot_be_accepted_here_at_all(office: Office) -> None:
    paths = await office.put(samples.homograph(), samples.link("script", "javascript:alert(1)"))
    for path in paths:
        await office.visitor.get(path)
        assert "Danger" in office.visitor.page
        assert "I agree" not in office.visitor.page
        office.wait()
        response = await office.visitor.post(path, {"do": "accept"})
        assert response.status_code == 403
        assert 'href="javascript' not in response.text
    assert len(office.queue.waiting()) == 2
    assert (await office.visitor.post(paths[0], {"do": "decline"})).status_code == 303


async def test_a_link_that_nobody_judged_is_judged_by_the_desk(office: Office) -> None:
    bare = samples.link("bare", "https://user:pw@evil.example\\@bank.example/", link=None)
    [path] = await office.put(bare)
    await office.visitor.get(path)
    office.wait()
    assert (await office.visitor.post(path, {"do": "accept"})).status_code == 403


@pytest.mark.shows("L5")
async def test_a_link_that_was_declined_or_agreed_to_elsewhere_is_no_link_here(office: Office) -> None:
    first, second = await office.put(samples.link("a"), samples.link("b"))
    await office.visitor.post(first, {"do": "decline"})
    office.queue.show("b")
    office.wait()
    office.queue.decide("b", Decision(Accepted(None), desk="terminal"))
    for path in (first, second):
        response = await office.visitor.get(path)
        assert 'href="https' not in response.text


async def test_history_tells_what_was_decided_and_not_what_was_sent(office: Office) -> None:
    path, _ = await office.put(
        samples.short("a"), samples.link("b", link=inspect_url("https://shop.example/"))
    )
    await to_review(office, path, {"f0": "Confidential"})
    office.wait()
    await office.visitor.post(path, {"do": "send", "seen": seen(office)})
    office.queue.decide("b", Decision(Declined(), desk="terminal"))
    await office.visitor.get(f"{office.visitor.place}history")
    order(office.visitor.page, "at the terminal just now: declined", "in the browser just now: accepted")
    assert "Confidential" not in office.visitor.page


@pytest.mark.shows("L4")
@pytest.mark.parametrize("again", [False, True])
async def test_who_is_in_the_browser_says_done_or_opens_the_link_again(office: Office, again: bool) -> None:
    [path] = await office.put(replace(samples.link(), browsing=True, asked_again=again))
    page = (await office.visitor.get(path)).text
    assert f"{'still ' if again else ''}waits for you to finish in your browser" in page
    assert "Open the link again" in page
    assert "I agree to open this link" not in page
    assert ('value="decline"' in page) is again
    office.wait()
    await office.visitor.post(path, {"do": "accept"})
    assert (await office.decided()).answer == Accepted(None)


async def test_our_own_words_are_not_framed_as_the_servers(office: Office) -> None:
    [path] = await office.put(replace(samples.form(), ours=True))
    page = (await office.visitor.get(path)).text
    assert "In Handraise’s own words" in page
    assert "The server’s own words" not in page
