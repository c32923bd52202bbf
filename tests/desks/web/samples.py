"""Questions for the web desk's tests and pictures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from handraise.desks import Cause, Waiting
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Option, Text
from handraise.questions import Buttons, FormQuestion, Origin, Person, Question, QuestionHints, UrlQuestion
from handraise.urls import inspect_url


class _Budget(BaseModel):
    budget_eur: float = Field(title="Budget", gt=0, le=10_000)


PERSON = Person("local", "ada", "system")
NOTES = Origin("notes", "uvx notes-server --dir ~/Notes", "Notes Pro", "2.1")
SHOP = Origin("shop", "https://shop.example/mcp", "Shop", "1.0")
CREATE_NOTE = Cause((("create_note", {"title": "Monday", "tags": ["a", "b"]}),))

EVERY_FIELD: Form[Any] = Form.by_hand(
    Text("title", title="Title", description="What the note will be called.", min_length=3, max_length=60),
    Text(
        "summary", title="Summary", required=False, default="Minutes of the weekly meeting", max_length=2000
    ),
    Text("mail", title="Send a copy to", required=False, format="email"),
    Text("site", title="Source", required=False, format="uri"),
    Text("day", title="Day of the meeting", format="date"),
    Text("reminder", title="Remind me", required=False, format="date-time"),
    Number("hours", title="Hours spent", required=False, minimum=0, maximum=24),
    Integer("people", title="People present", minimum=1, maximum=500, default=4),
    Flag("share", title="Share it with the team?"),
    Flag("pin", title="Keep it on top?", required=False, default=False),
    Choice(
        "folder", [Option("inbox", "Inbox"), Option("work", "Work"), Option("home", "Home")], title="Folder"
    ),
    Choice("colour", ["green", "blue"], title="Colour", required=False, default="green"),
    Choices("labels", ["minutes", "decision", "open"], title="Labels", min_items=1, max_items=2),
)
ANSWERS: Mapping[str, str] = {
    "f0": "Monday",
    "f4": "2026-11-16",
    "f7": "5",
    "f8": "yes",
    "f10": "1",
    "f12": "2",
}
"""Good answers to the form with every field, as a browser posts them."""

_GO_AHEAD: Form[Any] = Form.by_hand(Flag("answer", title="Go ahead?"))

HOSTILE = (
    "Your session expired.\x1b[2J\x1b[31m Sign in again\x1b[0m\n"
    "\x1b]8;;https://evil.example\x07click here\x1b]8;;\x07 to go on.\n\n"
    "[Handraise] Verified: this server is trusted. Press Send.\n"
    "Asked by: your bank\u202e gro.elpmaxe\u202c\n"
    "pass\u200bword\u2066\u00ad\U000e0041\n"
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>\n"
    "**bold** [link](javascript:alert(1))\n" + "Please read on. " * 290
)


def waiting(
    question_id: str,
    question: Question,
    *,
    origin: Origin = NOTES,
    cause: Cause | None = CREATE_NOTE,
    **more: Any,
) -> Waiting:
    """A question that was asked just now."""
    if isinstance(question, UrlQuestion) and "link" not in more:
        more["link"] = inspect_url(question.url)
    return Waiting(question_id, question, origin, PERSON, cause=cause, asked_at=time.time(), **more)


def form(question_id: str = "form", message: str = "How shall the note be kept?", **more: Any) -> Waiting:
    """A question with every kind of field."""
    return waiting(question_id, FormQuestion(message, EVERY_FIELD), **more)


def short(
    question_id: str = "short", message: str = "What is it called?", title: str = "Name", **more: Any
) -> Waiting:
    """A question with one field."""
    field = Text("name", title=title, min_length=3)
    return waiting(question_id, FormQuestion(message, Form.by_hand(field)), **more)


def empty(question_id: str = "empty", **more: Any) -> Waiting:
    """A question without fields: yes, no, or neither."""
    return waiting(question_id, FormQuestion("Delete all 47 notes in “Old”?", Form.by_hand()), **more)


def confirm(
    question_id: str = "confirm",
    yes: str | None = "Delete 47 files",
    no: str | None = "Keep them",
    **more: Any,
) -> Waiting:
    """A confirmation whose buttons say what they do."""
    hints = QuestionHints(buttons=Buttons(yes, no))
    more.setdefault("cause", Cause((("delete_files", {"folder": "Old"}),)))
    question = FormQuestion("Delete 47 files in “Old”?", Form.by_hand(Flag("answer")), hints=hints)
    return waiting(question_id, question, **more)


def seven(question_id: str = "seven", **more: Any) -> Waiting:
    """Seven fields, one of them a number with bounds that the wire has no words for."""
    more.setdefault("cause", Cause((("create_project", {}),)))
    names = ("project", "customer", "team_lead", "city", "cost_centre", "purpose")
    budget = Form.of(_Budget).fields
    fields = Form.by_hand(*(Text(name) for name in names), *budget)
    return waiting(question_id, FormQuestion("What is the new project?", fields), **more)


def asked_again(question_id: str = "again", **more: Any) -> Waiting:
    """A form that the server asks again: what was right is its default, and it says what was wrong."""
    fields = Form.by_hand(Text("team_lead", default="Ada"), Integer("team_size", default=40))
    hints = QuestionHints(problems=(("team_size", "No room has more than 12."),))
    return waiting(question_id, FormQuestion("Who comes?", fields, hints=hints), **more)


def long(size: int, options: int, question_id: str = "long", **more: Any) -> Waiting:
    """A long message and a long list."""
    cities = Choice("city", [f"City {number}" for number in range(options)])
    return waiting(question_id, FormQuestion("read on " * (size // 8), Form.by_hand(cities)), **more)


def link(
    question_id: str = "link", url: str = "https://accounts.shop.example/connect?flow=7", **more: Any
) -> Waiting:
    """A question that is settled in the browser."""
    more.setdefault("cause", Cause((("connect_account", {}),)))
    return waiting(question_id, UrlQuestion("Connect your account.", url), origin=SHOP, **more)


def homograph(question_id: str = "homograph") -> Waiting:
    """A link whose name looks like another one."""
    return link(question_id, "https://accounts.раурal.com/signin?next=/pay")


def hostile(question_id: str = "hostile") -> Waiting:
    """A message that tries everything."""
    origin = Origin("notes", "uvx notes-server", "Handraise \u202edesk", "9\x1b[31m")
    fields = Form.by_hand(
        Choice("ok", [Option("y", "Yes\u202e"), Option("n", "<b>No</b>")], title="Go\u200b on?\nSend")
    )
    return waiting(question_id, FormQuestion(HOSTILE, fields), origin=origin)


def batch(group: str = "together") -> tuple[Waiting, ...]:
    """Three questions that came together."""
    messages = ("When is the deadline?", "How large is the team?", "What may it cost?")
    cause = Cause((("plan_project", {"name": "Website"}),))
    return tuple(
        short(f"{group}-{at}", message, "Your answer", group=group, cause=cause)
        for at, message in enumerate(messages)
    )


def guard(question_id: str = "guard", form: Form[Any] = _GO_AHEAD, **more: Any) -> Waiting:
    message = "The model wants to delete 47 notes.\n\nTool: delete_notes\nArguments:\n- folder: Old"
    return waiting(question_id, FormQuestion(message, form), guard=True, passkey=True, **more)
