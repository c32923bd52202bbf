"""What a proposal says, and how it is printed."""

from __future__ import annotations

import json

import pytest
from tests.design.subjects import (
    CHOOSE,
    CONFIRM,
    DEPLOY,
    MANY,
    PAGE,
    REPOSITORY,
    SEND,
    TEXT,
    TIMEZONE,
    WORTH_ASKING,
    tool,
)

from handraise.design import Proposal, ToolDescription, propose
from handraise.design.proposal import as_text, dump_json
from handraise.forms import Choice, Flag, Text
from handraise.secrets import judge_form


def proposed(subject: ToolDescription) -> Proposal:
    proposal = propose(subject)
    assert isinstance(proposal, Proposal)
    return proposal


MESSAGES = {
    CONFIRM: "Pay the invoice: amount {amount!r}, account {account!r}, memo {memo!r}?",
    MANY: "Purge {count} notes, among them {shown}?",
    tool("server_restart", {"destructiveHint": True}, zone=TEXT): "Restart the server: zone {zone!r}?",
    tool("send_newsletter", subject=TEXT): "Send the newsletter to {count}, among them {shown}?",
    tool("delete_all_notes"): "Delete {count} notes, among them {shown}?",
    tool("deploy", version=TEXT): "Deploy: version {version!r}?",
    SEND: "Send the mail to {count}, among them {shown}?",
    CHOOSE: "Delete which note? {len(found)} found for {title!r}.",
    TIMEZONE: "In which time zone are you?",
    REPOSITORY: "Which repository? There are {len(found)}.",
    DEPLOY: "Deploy: version {version!r}?",
    PAGE: "API key: entered on this server's own page.",
}


@pytest.mark.shows("U6")
@pytest.mark.parametrize(("subject", "message"), MESSAGES.items(), ids=lambda each: getattr(each, "name", ""))
def test_the_message_has_the_live_data_in_it(subject: ToolDescription, message: str) -> None:
    assert proposed(subject).message == message


@pytest.mark.shows("U6")
@pytest.mark.parametrize("subject", WORTH_ASKING, ids=lambda subject: subject.name)
def test_it_is_complete(subject: ToolDescription) -> None:
    proposal = proposed(subject)
    assert [branch.outcome for branch in proposal.branches] == ["accept", "decline", "cancel", "no answer"]
    assert len({branch.does for branch in proposal.branches}) == 4
    assert proposal.trigger
    assert "in a loop" in proposal.rate


def test_a_form_asks_for_nothing_that_a_page_has_to() -> None:
    for subject in WORTH_ASKING:
        proposal = proposed(subject)
        assert (proposal.form is None) == (proposal.mode == "url")
        assert proposal.form is None or judge_form(proposal.message, proposal.form) == ()
    assert proposed(PAGE).mode == "url"


def test_the_form_fits_the_question() -> None:
    kinds = {subject: type(form.fields[0]) for subject in WORTH_ASKING if (form := proposed(subject).form)}
    assert kinds[CONFIRM] is kinds[MANY] is Flag
    assert kinds[CHOOSE] is kinds[REPOSITORY] is Choice
    assert kinds[TIMEZONE] is Text
    form = proposed(DEPLOY).form
    assert form is not None
    assert [(field.name, type(field)) for field in form.fields] == [("answer", Choice), ("confirm", Flag)]


@pytest.mark.parametrize("subject", WORTH_ASKING, ids=lambda subject: subject.name)
def test_it_fits_on_a_terminal(subject: ToolDescription) -> None:
    text = as_text(subject.name, proposed(subject))
    prose, _, code = text.partition("Code to paste")
    assert all(len(line) <= 80 for line in prose.splitlines())
    assert code.strip().startswith("from ")


def test_it_begins_with_the_verdict() -> None:
    assert as_text("delete_note", propose(CHOOSE)).startswith("delete_note: ask, with a form\n")
    assert as_text("x", propose(PAGE)).startswith("x: ask, with a page (URL mode)\n")
    assert as_text("list_notes", propose(tool("list_notes"))).startswith("list_notes: do not ask\n")


def test_json_has_the_wire_schema_and_the_code() -> None:
    said = json.loads(dump_json("delete_note", propose(CHOOSE)))
    assert (said["ask"], said["kind"], said["mode"]) == (True, "choose_one", "form")
    assert said["requested_schema"]["properties"]["answer"]["type"] == "string"
    assert set(said["branches"]) == {"accept", "decline", "cancel", "no answer"}
    assert "async def delete_note(" in said["code"]


def test_json_of_a_refusal_says_what_to_do_instead() -> None:
    said = json.loads(dump_json("list_notes", propose(tool("list_notes"))))
    assert (said["ask"], said["why"]) == (False, "read_only")
    assert said["instead"]


def test_a_servers_names_are_shown_inert() -> None:
    assert "\x1b" not in as_text("a\x1b[31m", propose(tool("drop\x1b")))
