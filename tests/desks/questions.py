"""Questions that wait, for tests of desks."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

from handraise.desks import Cause, Waiting
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text
from handraise.questions import FormQuestion, Origin, Person, Question, UrlQuestion
from handraise.urls import inspect_url

ADA = Person("", "ada", "system")
NOTES = Origin("notes", "python notes.py", "Notes Server", "1.0")
_IDS = count(1)

EVERY_KIND = Form.by_hand(
    Text("name", title="Your name", min_length=2, max_length=40),
    Text("email", format="email", required=False),
    Text("site", format="uri", required=False),
    Text("day", format="date", required=False),
    Integer("count", title="How many?", minimum=1, maximum=10, default=3),
    Number("ratio", required=False, default=0.5),
    Flag("urgent", title="Is it urgent?"),
    Choice("size", {"s": "Small", "m": "Medium", "l": "Large"}),
    Choices("extras", ["gift wrap", "card"], required=False, max_items=2),
)


def form_question(
    message: str = "What shall it be?", form: Form[Any] = EVERY_KIND, **options: Any
) -> Waiting:
    return waiting_for(FormQuestion(message, form), **options)


def link_question(url: str = "https://example.com/start", **options: Any) -> Waiting:
    return waiting_for(UrlQuestion("Please look here.", url), link=inspect_url(url), **options)


def waiting_for(question: Question, **options: Any) -> Waiting:
    """A question that notes.py asked just now."""
    chosen: dict[str, Any] = {
        "id": f"question-{next(_IDS)}",
        "origin": NOTES,
        "person": ADA,
        "cause": Cause((("delete_note", {"title": "Plans"}),)),
        "asked_at": time.time(),
        **options,
    }
    return Waiting(question=question, **chosen)
