"""A proposal, as it is printed."""

from __future__ import annotations

import json

import pytest
from tests.design.subjects import CHOOSE, PAGE, WORTH_ASKING, tool
from tests.design.test_proposal import proposed

from handraise.design import ToolDescription, propose
from handraise.design.proposal import as_text, dump_json


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
