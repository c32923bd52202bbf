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
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion, QuestionHints
from handraise.secrets import SecretFinding
from handraise.urls import inspect_url


async def send(office: Office, path: str, values: dict[str, str | list[str]], do: str = "send") -> int:
    """Look at the page, wait until its buttons count, fill in and press one."""
    await office.visitor.get(path)
    office.wait()
    return (await office.visitor.post(path, {"fhere": "yes", "do": do, **values})).status_code


def looked(office: Office) -> str:
    """The mark of what the page asks to look at once more."""
    found = re.search(r'name="looked" data-looked value="([0-9a-f]+)"', office.visitor.page)
    assert found
    return found[1]


def order(page: str, *texts: str) -> None:
    """The texts are on the page, in this order."""
    places = [page.index(text) for text in texts]
    assert places == sorted(places)


@pytest.mark.shows("D1", "D2b", "D3")
async def test_the_question_comes_first_then_who_asks_and_the_rest_is_a_detail(office: Office) -> None:
    [path] = await office.put(samples.form())
    await office.visitor.get(path)
    order(
        office.visitor.page,
        "<h1",
        "How shall the note be kept?",
        "notes asks, to run create_note",
        "Details",
        "uvx notes-server --dir ~/Notes",
        "It calls itself",
        "Notes Pro 2.1",
        "Nobody has verified this name.",
        'create_note(title="Monday", tags=["a", "b"])',
        "The AI model may see it.",
        "Decline tells notes that you do not answer.",
        "Title",
        "From 3 to 60 characters.",
        "Labels",
        "Send</button>",
        "Decline</button>",
        "Cancel</button>",
        "More</summary>",
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
        "One of these calls; it is not known which.",
        "delete_note(id=1)",
        "list_notes()",
    )
    await office.visitor.get(second)
    assert "It is not known which call asks." in office.visitor.page


@pytest.mark.shows("D4", "F4")
async def test_nothing_is_answered_beforehand_but_what_the_server_suggests_and_that_is_marked(
    office: Office,
) -> None:
    [path] = await office.put(samples.form())
    response = await office.visitor.get(path)
    checked = re.findall(r'name="(f\d+)" id="f\d+-\d+" value="(\w+)" checked', response.text)
    assert checked == [("f9", "no"), ("f11", "0")]
    assert response.text.count('class="tag suggested"') == 4
    assert "Leave unanswered" in response.text
    assert "selected" not in response.text


@pytest.mark.shows("D2", "O1")
async def test_a_form_is_sent_as_it_stands_on_the_page(office: Office) -> None:
    [path] = await office.put(samples.form())
    values: dict[str, str | list[str]] = {**ANSWERS, "f12": ["1", "2"], "f9": "", "f1": "Other", "f11": "0"}
    assert await send(office, path, values) == 303
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
    assert (decision.desk, decision.by) == ("web", "human")
    assert decision.edited == ("summary", "people", "pin")


@pytest.mark.shows("D2c", "O8")
@pytest.mark.parametrize(("press", "answer"), [("yes", True), ("no", False)])
async def test_a_confirmation_is_answered_with_one_button(office: Office, press: str, answer: bool) -> None:
    [path] = await office.put(samples.confirm())
    await office.visitor.get(path)
    assert "Yes: <q><bdi>Delete 47 files</bdi></q>" in office.visitor.page
    assert "No: <q><bdi>Keep them</bdi></q>" in office.visitor.page
    assert 'type="radio" name="f0"' not in office.visitor.page
    office.wait()
    assert (await office.visitor.post(path, {"do": press})).status_code == 303
    decision = await office.decided()
    assert decision.answer == Accepted({"answer": answer})
    assert decision.said_no is not answer
    await office.visitor.get(path)
    assert f"You said {press}" in office.visitor.page
    assert "Accepted" not in office.visitor.page


@pytest.mark.shows("D1", "D7")
async def test_button_words_of_a_server_are_quoted_and_inert(office: Office) -> None:
    [path] = await office.put(samples.confirm(yes="<b>Cancel</b>", no="No: “Cancel”"))
    response = await office.visitor.get(path)
    assert "Yes: <q><bdi>&lt;b&gt;Cancel&lt;/b&gt;</bdi></q>" in response.text
    assert "No: <q><bdi>No: “Cancel”</bdi></q>" in response.text


@pytest.mark.shows("D2e")
async def test_the_servers_deadline_is_shown_and_an_expired_question_is_gone_and_no_error(
    office: Office,
) -> None:
    [path] = await office.put(samples.confirm(deadline=time.time() + 0.2))
    await office.visitor.get(path)
    assert "0 seconds left" in office.visitor.page
    await office.decided()
    office.wait()
    response = await office.visitor.post(path, {"do": "yes"})
    assert response.status_code == 409
    assert "Expired" in office.visitor.page
    assert "Nobody answered in time. Nothing was sent." in office.visitor.page


@pytest.mark.shows("D2d")
async def test_one_mistake_of_seven_is_marked_by_its_label_and_everything_else_stays(office: Office) -> None:
    [path] = await office.put(samples.seven())
    values: dict[str, str | list[str]] = {f"f{at}": f"answer {at}" for at in range(6)}
    assert await send(office, path, {**values, "f6": "0"}) == 422
    page = office.visitor.page
    assert "Budget" in page
    assert "Enter a number, more than 0 and at most 10,000." in page
    assert 'id="f6-hint"' not in page, "the problem says it already"
    assert "budget_eur" not in page
    for at in range(6):
        assert f'value="answer {at}"' in page
    assert await send(office, path, {**values, "f6": "12.5"}) == 303
    answer = (await office.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert answer.data["budget_eur"] == 12.5


@pytest.mark.shows("D2d")
async def test_what_the_server_could_not_use_is_said_at_the_field_in_its_words(office: Office) -> None:
    [path] = await office.put(samples.asked_again())
    await office.visitor.get(path)
    order(
        office.visitor.page,
        "Team size",
        "Not accepted:",
        "No room has more than 12.",
    )
    assert 'value="Ada"' in office.visitor.page


@pytest.mark.shows("D2", "D4")
@pytest.mark.parametrize(
    ("language", "typed", "sent", "asked"),
    [
        ("de", "12,5", 12.5, False),
        ("de", "1.000", 1000, True),
        ("en", "12,5", 12.5, True),
        ("en", "1,000", 1000, True),
        ("en", "12.5", 12.5, False),
    ],
)
async def test_a_number_is_read_as_the_person_writes_it_and_shown_where_that_is_not_plain(
    office: Office, language: str, typed: str, sent: float, asked: bool
) -> None:
    [path] = await office.put(samples.seven())
    values: dict[str, str | list[str]] = {f"f{at}": "x" for at in range(6)}
    await office.visitor.get(path)
    office.wait()
    posted = {"fhere": "yes", "do": "send", **values, "f6": typed}
    response = await office.visitor.post(path, posted, accept_language=language)
    if asked:
        assert response.status_code == 409
        assert ("1.000" if language == "de" else "12.5" if sent == 12.5 else "1,000") in office.visitor.page
        office.wait()
        response = await office.visitor.post(
            path, {**posted, "looked": looked(office)}, accept_language=language
        )
    assert response.status_code == 303
    answer = (await office.decided()).answer
    assert isinstance(answer, Accepted)
    assert answer.data is not None
    assert answer.data["budget_eur"] == sent


async def test_the_desk_speaks_the_language_of_the_browser(office: Office) -> None:
    [path] = await office.put(samples.confirm())
    response = await office.visitor.get(path, accept_language="fr;q=0.9, de-AT, en;q=0.5")
    assert '<html lang="de">' in response.text
    assert "Ja: <q>" in response.text
    assert "Ablehnen</button>" in response.text


@pytest.mark.shows("D1")
async def test_a_guard_asks_in_the_users_name_and_not_in_the_servers(office: Office) -> None:
    [path] = await office.put(replace(samples.confirm(), guard=True, ours=True))
    await office.visitor.get(path)
    assert "Your own rule asks, before delete_files of notes runs" in office.visitor.page
    assert "The server’s own words" not in office.visitor.page


@pytest.mark.shows("D2f")
async def test_a_message_of_20_kb_is_shown_whole_and_2000_options_can_be_searched(office: Office) -> None:
    [path] = await office.put(samples.long(20_000, 2_000))
    response = await office.visitor.get(path)
    assert response.text.count("read on") >= 2_000
    assert "characters⟩" not in response.text
    assert response.text.count('type="radio" name="f0"') == 2_000
    assert "Search 2,000 options" in response.text
    assert await send(office, path, {"f0": "1999"}) == 303
    assert (await office.decided()).answer == Accepted({"city": "City 1999"})


@pytest.mark.shows("D10", "F6")
async def test_every_error_is_named_linked_and_tied_to_its_field_and_the_first_has_the_focus(
    office: Office,
) -> None:
    [path] = await office.put(samples.form())
    values = {"fhere": "yes", "do": "send", "f0": "Mo", "f4": "16 Nov", "f7": "0"}
    response = await office.visitor.post(path, values)
    assert response.status_code == 422
    page = office.visitor.page
    assert "<title>Error: " in page
    for target, problem in (
        ("f0", "Enter at least 3 characters."),
        ("f4", "Enter a date, like 28 July 2026."),
        ("f7", "Enter a whole number from 1 to 500."),
        ("f8-0", "Please choose."),
        ("f12-0", "Please choose."),
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
        ({"do": "block-session"}, Declined(), "session"),
        ({"do": "block-always"}, Declined(), "always"),
    ],
)
async def test_every_way_out_is_its_own_and_open_from_the_first_moment(
    office: Office, values: dict[str, str], answer: object, block: str | None
) -> None:
    [path] = await office.put(samples.short())
    response = await office.visitor.post(path, values)
    assert response.status_code == 303
    decision = await office.decided()
    assert decision.answer == answer
    assert decision.block == block


@pytest.mark.shows("D5")
@pytest.mark.parametrize("do", ["block", "block-", "block-forever"])
async def test_a_block_says_for_how_long_or_is_none(office: Office, do: str) -> None:
    [path] = await office.put(samples.short())
    assert (await office.visitor.post(path, {"do": do})).status_code in (400, 409)
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("D2")
async def test_a_second_look_is_at_the_odd_answers_only_and_says_each_thing_once(office: Office) -> None:
    form = Form.by_hand(Text("code", title="Code"), Text("place", title="Place"))
    doubt = SecretFinding("code", 2, "otp", "This may be asking for a one-time code.", doubtful=True)
    asked = samples.waiting("q", FormQuestion("Which?", form), secrets=(doubt,))
    [path] = await office.put(asked.warned((doubt.reason,)))
    assert await send(office, path, {"f0": "839 201", "f1": "Vienna"}) == 409
    page = office.visitor.page
    assert page.count("This may be asking for a one-time code.") == 1
    review = page.partition('class="review"')[2].partition("</dl>")[0]
    assert "839 201" in review
    assert "Vienna" not in review


@pytest.mark.shows("D2b")
async def test_lists_show_the_first_words_of_a_question_and_no_arguments(office: Office) -> None:
    message = "The model wants to delete 47 notes.\n\nTool: delete_notes\nArguments:\n- folder: Old"
    asked = samples.waiting("g", FormQuestion(message, Form.by_hand(Flag("answer"))), guard=True)
    [path] = await office.put(asked)
    for page in (office.visitor.place, path, f"{office.visitor.place}history"):
        if page == path:
            await office.visitor.post(path, {"do": "cancel"})
        await office.visitor.get(page)
        assert "The model wants to delete 47 notes." in office.visitor.page
        assert "folder: Old" not in office.visitor.page


@pytest.mark.shows("L5")
async def test_a_link_opens_in_the_tab_that_asked_for_it_once_it_was_agreed_to(office: Office) -> None:
    [path] = await office.put(samples.link())
    await office.visitor.get(path)
    assert "http-equiv" not in office.visitor.page
    early = await office.visitor.post(path, {"do": "open", "tab": "yes"})
    assert early.status_code == 409
    assert "http-equiv" not in office.visitor.page
    office.wait()
    response = await office.visitor.post(path, {"do": "open", "tab": "yes"})
    assert (await office.decided()).answer == Accepted(None)
    leads = '<meta http-equiv="refresh" content="0; url=https://accounts.shop.example/connect?flow=7">'
    assert leads in response.text
    assert response.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.shows("L5", "D2")
async def test_a_dangerous_link_leaves_one_button_and_it_declines(office: Office) -> None:
    [path] = await office.put(samples.homograph())
    await office.visitor.get(path)
    answers = office.visitor.page.partition('<div class="answers">')[2].partition("</div>")[0]
    assert re.findall(r'value="(\w+)"', answers) == ["decline"]
    assert office.visitor.page.count('value="decline"') == 1


@pytest.mark.shows("D4")
async def test_accept_is_disarmed_for_half_a_second_after_each_page_appeared(office: Office) -> None:
    [path] = await office.put(samples.short())
    office.wait(10)
    await office.visitor.get(path)
    values = {"fhere": "yes", "f0": "Monday", "do": "send"}
    response = await office.visitor.post(path, values)
    assert response.status_code == 409
    assert "nothing was sent" in office.visitor.page
    assert 'value="Monday"' in office.visitor.page
    assert len(office.queue.waiting()) == 1
    office.wait(0.6)
    assert (await office.visitor.post(path, values)).status_code == 303
    assert (await office.decided()).answer == Accepted({"name": "Monday"})


@pytest.mark.shows("D4", "F9")
async def test_an_empty_form_is_yes_no_or_neither_and_not_before_it_was_read(office: Office) -> None:
    [path] = await office.put(samples.empty())
    assert (await office.visitor.post(path, {"do": "accept"})).status_code == 409
    order(office.visitor.page, "Yes</button>", "No</button>", "Cancel</button>")
    office.wait()
    assert (await office.visitor.post(path, {"do": "accept"})).status_code == 303
    assert (await office.decided()).answer == Accepted({})


async def test_a_form_that_lacks_something_cannot_be_sent_by_any_button(office: Office) -> None:
    [path] = await office.put(samples.short())
    for do in ("send", "accept"):
        assert await send(office, path, {"f0": "Mo"}, do) == 422
    for do in ("yes", "no", "open", "done"):
        await send(office, path, {"f0": "Monday"}, do)
    assert len(office.queue.waiting()) == 1


async def test_what_changed_in_another_window_does_not_change_what_this_page_sends(office: Office) -> None:
    [path] = await office.put(samples.short())
    await office.visitor.get(path)
    await office.visitor.post(f"{path}/draft", {"fhere": "yes", "f0": "Tuesday"})
    assert await send(office, path, {"f0": "Monday"}) == 303
    assert (await office.decided()).answer == Accepted({"name": "Monday"})


@pytest.mark.shows("D8")
async def test_a_replayed_answer_is_refused_and_says_what_was_decided(office: Office) -> None:
    [path] = await office.put(samples.short())
    assert await send(office, path, {"f0": "Monday"}) == 303
    for values in ({"do": "send", "fhere": "yes", "f0": "Tuesday"}, {"do": "decline"}):
        response = await office.visitor.post(path, values)
        assert response.status_code == 409
        assert "It was answered in the browser just now." in office.visitor.page
    assert (await office.decided()).answer == Accepted({"name": "Monday"})
    assert (await office.visitor.post(f"{path}/draft", {"fhere": "yes", "f0": "x"})).status_code == 410


@pytest.mark.shows("D8")
async def test_a_question_that_was_answered_elsewhere_says_where_and_when(office: Office) -> None:
    [path] = await office.put(samples.short())
    office.queue.decide("short", Decision(Declined(), desk="terminal"))
    await office.visitor.get(path)
    assert "It ended at the terminal just now." in office.visitor.page
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
    assert "The question was withdrawn" in office.visitor.page
    response = await office.visitor.post(expired, {"do": "decline"})
    assert response.status_code == 409
    assert "Nobody answered in time" in office.visitor.page
    assert "declined" not in office.visitor.page


@pytest.mark.shows("O4", "D8")
async def test_leaving_the_page_decides_nothing_and_the_draft_stays(office: Office) -> None:
    [path] = await office.put(samples.form())
    await office.visitor.get(path)
    response = await office.visitor.post(
        f"{path}/draft", {"fhere": "yes", "f0": "Half a ti", "f9": "", "f6": "1,5"}
    )
    assert response.json()["read"]["f6"] == "1.5"
    assert len(office.queue.waiting()) == 1
    await office.visitor.get(path)
    assert 'value="Half a ti"' in office.visitor.page
    assert not re.search(r'name="f9"[^>]* checked', office.visitor.page), "a suggestion that was cleared"


@pytest.mark.shows("S4")
async def test_a_credential_that_was_typed_is_stopped_and_cannot_be_sent_at_all(office: Office) -> None:
    secret = "ghp_" + "x7Kd92LmQp" * 3 + "aB3dE9"
    [path] = await office.put(samples.short())
    assert await send(office, path, {"f0": secret, "looked": "0" * 64}) == 422
    assert "Stopped: this looks like a secret" in office.visitor.page
    assert "Take it out to go on, or decline." in office.visitor.page
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("S4", "D2")
async def test_what_is_odd_wants_a_second_look_and_nothing_else_does(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SecretFinding("name", 2, "national_id", "This looks like a national id number.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda *_: (found,))
    [path] = await office.put(samples.short())
    assert await send(office, path, {"f0": "Monday"}) == 409
    assert "This looks like a national id number." in office.visitor.page
    assert "Please look once more" in office.visitor.page
    mark = looked(office)
    office.wait()
    changed = {"fhere": "yes", "f0": "Tuesday", "do": "send", "looked": mark}
    assert (await office.visitor.post(path, changed)).status_code == 409, "the look was at something else"
    assert len(office.queue.waiting()) == 1
    office.wait()
    values = {"fhere": "yes", "f0": "Monday", "do": "send", "looked": mark}
    assert (await office.visitor.post(path, values)).status_code == 303


@pytest.mark.shows("D4", "F4")
async def test_none_of_these_is_an_answer_and_nothing_ticked_is_not(office: Office) -> None:
    question = FormQuestion("Which?", Form.by_hand(Choices("which", ["a", "b"]), Flag("ok", required=False)))
    [path] = await office.put(samples.waiting("q", question))
    assert await send(office, path, {}) == 422
    assert await send(office, path, {"f0": "none"}) == 303
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
    response = await office.visitor.post(path, {"do": "open"})
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
        response = await office.visitor.post(path, {"do": "open"})
        assert response.status_code == 403
        assert 'href="javascript' not in response.text
    assert len(office.queue.waiting()) == 2
    assert (await office.visitor.post(paths[0], {"do": "decline"})).status_code == 303


async def test_a_link_that_nobody_judged_is_judged_by_the_desk(office: Office) -> None:
    bare = samples.link("bare", "https://user:pw@evil.example\\@bank.example/", link=None)
    [path] = await office.put(bare)
    await office.visitor.get(path)
    office.wait()
    assert (await office.visitor.post(path, {"do": "open"})).status_code == 403


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
    assert await send(office, path, {"f0": "Confidential"}) == 303
    office.queue.decide("b", Decision(Declined(), desk="terminal"))
    await office.visitor.get(f"{office.visitor.place}history")
    order(office.visitor.page, "Declined", "at the terminal just now", "Sent", "in the browser just now")
    assert "Confidential" not in office.visitor.page


@pytest.mark.shows("L4")
@pytest.mark.parametrize("again", [False, True])
async def test_who_is_in_the_browser_says_done_or_opens_the_link_again(office: Office, again: bool) -> None:
    [path] = await office.put(replace(samples.link(), browsing=True, asked_again=again))
    page = (await office.visitor.get(path)).text
    assert "waits for you to finish in your browser" in page
    assert ("the link that you agreed to before" in page) is again
    assert "Open the link again" in page
    assert "Open this link" not in page
    assert ('value="decline"' in page) is again
    office.wait()
    await office.visitor.post(path, {"do": "done"})
    assert (await office.decided()).answer == Accepted(None)


async def test_our_own_words_are_not_framed_as_the_servers(office: Office) -> None:
    [path] = await office.put(replace(samples.form(), ours=True))
    page = (await office.visitor.get(path)).text
    assert "Handraise’s own words" in page
    assert "The server’s own words" not in page


@pytest.mark.shows("D2b", "F6")
async def test_the_question_stays_first_after_a_mistake(office: Office) -> None:
    [path] = await office.put(samples.form())
    await office.visitor.post(path, {"fhere": "yes", "do": "send", "f0": "Mo"})
    order(office.visitor.page, "How shall the note be kept?", "notes asks", "Please correct", 'id="f0"')


@pytest.mark.parametrize(
    ("message", "lead"),
    [
        ("Delete them?\n\n" + "One of many lines.\n" * 40, "Delete them?"),
        ("Delete them? " + "All of these words. " * 40, "Delete them?"),
        ("x" * 400, None),
    ],
)
async def test_the_first_paragraph_of_a_long_question_stays_large(
    office: Office, message: str, lead: str | None
) -> None:
    [path] = await office.put(
        replace(samples.short(), question=FormQuestion(message, Form.by_hand(Text("a"))))
    )
    await office.visitor.get(path)
    found = re.search(r'<div class="headline">(.*?)</div>', office.visitor.page, re.S)
    assert (found and re.sub("<.*?>", "", found[1]).strip()) == lead


@pytest.mark.shows("D10")
async def test_a_date_is_picked_in_the_browsers_own_control(office: Office) -> None:
    form = Form.by_hand(Text("day", format="date"), Text("when", format="date-time"))
    [path] = await office.put(replace(samples.short(), question=FormQuestion("When?", form)))
    response = await office.visitor.get(path)
    assert re.findall(r'<input [^>]*?type="([\w-]+)" id="f\d"', response.text) == ["date", "datetime-local"]
    assert await send(office, path, {"f0": "somewhen", "f1": ""}) == 422
    assert 'type="text" id="f0" name="f0" value="somewhen"' in office.visitor.page, "a browser would drop it"


async def test_a_date_and_time_stays_in_its_control_after_a_reload(office: Office) -> None:
    form = Form.by_hand(Text("when", format="date-time"), Text("name", min_length=3))
    [path] = await office.put(replace(samples.short(), question=FormQuestion("When?", form)))
    values = {"fhere": "yes", "zone": "Europe/Vienna", "f0": "2026-07-28T15:30", "f1": "x", "do": "send"}
    assert (await office.visitor.post(path, values)).status_code == 422
    await office.visitor.get(path)
    assert 'type="datetime-local" id="f0" name="f0" value="2026-07-28T15:30"' in office.visitor.page


async def test_a_suggested_date_and_time_is_sent_as_it_came(office: Office) -> None:
    form = Form.by_hand(
        Text("when", format="date-time", default="2026-07-28T13:30:00Z"), Text("name", min_length=3)
    )
    [path] = await office.put(replace(samples.short(), question=FormQuestion("When?", form)))
    values = {"fhere": "yes", "zone": "Europe/Vienna", "f0": "2026-07-28T13:30:00Z", "f1": "x", "do": "send"}
    await office.visitor.post(path, values)
    await office.visitor.get(path)
    assert 'type="text" id="f0" name="f0" value="2026-07-28T13:30:00' in office.visitor.page


async def test_the_last_answer_is_not_called_a_suggestion_of_the_server(office: Office) -> None:
    hints = QuestionHints(last_answer={"name": "Monday"})
    waiting = samples.short()
    [path] = await office.put(replace(waiting, question=replace(waiting.question, hints=hints)))
    await office.visitor.get(path)
    assert 'value="Monday"' in office.visitor.page
    assert "your last answer, as the server says" in office.visitor.page
    assert ">suggested<" not in office.visitor.page
