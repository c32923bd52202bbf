"""Which tools should ask, what for, and which should not."""

from __future__ import annotations

import pytest
from tests.design.subjects import (
    CHOOSE,
    CONFIRM,
    DEPLOY,
    LIST,
    MANY,
    MAYBE_TEXT,
    PAGE,
    REPOSITORY,
    SEND,
    TEXT,
    TIMEZONE,
    tool,
)

from handraise.design import Refusal, ToolDescription
from handraise.design.decide import QuestionPlan, decide, words_for

ASKS = {
    "what is final": (CONFIRM, "confirm"),
    "what reaches many": (MANY, "confirm_many"),
    "a list of people": (SEND, "confirm_many"),
    "what may mean several": (CHOOSE, "choose_one"),
    "a choice that may be missing before something final": (DEPLOY, "choose_and_confirm"),
    "a given choice that may be missing": (
        tool("reset_board", scope={"type": "string", "enum": ["old", "all"], "default": "old"}),
        "choose_and_confirm",
    ),
    "a guess": (TIMEZONE, "missing_context"),
    "a choice that only the server knows": (REPOSITORY, "missing_context"),
    "a secret": (PAGE, "page"),
    "a secret of a tool that only reads": (tool("get_balance", card_number=TEXT), "page"),
    "a hint against an innocent name": (tool("notes_archive", {"destructiveHint": True}), "confirm"),
    "a message to people that no argument names": (tool("send_newsletter", subject=TEXT), "confirm_many"),
    "a message to somebody": (tool("send_message", to=TEXT, subject=TEXT), "confirm"),
    "all of them": (tool("delete_all_notes"), "confirm_many"),
    "a new thing, whose title chooses nothing": (tool("publish_post", title=TEXT), "confirm"),
    "a destructive tool that is named like a read": (
        tool("fetch_and_forget", {"destructiveHint": True}, ids=LIST),
        "confirm_many",
    ),
    "a loud name without hints": (tool("deploy", target={"type": "string", "enum": ["a", "b"]}), "confirm"),
    "a read that depends on the person": (tool("list_events", timezone=MAYBE_TEXT), "missing_context"),
}
REFUSED = {
    "a tool that reads": (tool("list_notes", folder=TEXT), "read_only"),
    "a tool that says that it reads": (tool("report", {"readOnlyHint": True}), "read_only"),
    "a loud name that says that it reads": (tool("delete_preview", {"readOnlyHint": True}), "read_only"),
    "free text that is missing": (tool("add_note", title=TEXT, body=MAYBE_TEXT), "prose"),
    "what an error settles": (tool("add_reminder", day={"type": "string", "format": "date"}), "validation"),
    "a required timezone": (tool("add_event", timezone=TEXT), "validation"),
    "what is called in a loop": (
        ToolDescription("delete_note", "", (), called_in_loop_by="delete_all"),
        "loop",
    ),
    "what asks already": (ToolDescription("delete_note", "", (), asks=True), "asks_already"),
}


@pytest.mark.shows("U6")
@pytest.mark.parametrize(("subject", "kind"), ASKS.values(), ids=ASKS.keys())
def test_it_asks_about(subject: ToolDescription, kind: str) -> None:
    plan = decide(subject)
    assert isinstance(plan, QuestionPlan)
    assert plan.kind == kind


@pytest.mark.shows("U5", "U6")
@pytest.mark.parametrize(("subject", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_it_refuses(subject: ToolDescription, why: str) -> None:
    refusal = decide(subject)
    assert isinstance(refusal, Refusal)
    assert refusal.why == why
    assert refusal.reason.endswith(".")
    assert refusal.instead.endswith(".")


@pytest.mark.parametrize("name", ["execute_sql", "run_command", "write_file"])
def test_what_does_whatever_the_model_writes_is_confirmed(name: str) -> None:
    plan = decide(tool(name))
    assert isinstance(plan, QuestionPlan)
    assert plan.kind == "confirm"
    assert words_for(tool("git_push", {"destructiveHint": True})).object == ""
    assert words_for(tool("execute_sql")).object == "the SQL"
