"""Facts about questions, for tests of rules."""

from __future__ import annotations

from typing import Any

from handraise.forms import Field, Form, Text
from handraise.policy import Facts, Policy
from handraise.questions import FormQuestion, Origin, UrlQuestion

NOTES = Origin("notes", "python notes.py", "Notes Server", "1.0")
SHOP = Origin("shop", "https://shop.example/mcp")


def form(*fields: Field, message: str = "Please fill this in.") -> FormQuestion[Any]:
    return FormQuestion(message, Form.by_hand(*(fields or (Text("colour"),))))


def link(url: str) -> UrlQuestion:
    return UrlQuestion("Please look here.", url)


def facts(question: Any = None, origin: Origin = NOTES, policy: Policy | None = None, **more: Any) -> Facts:
    return (policy or Policy()).facts(question or form(), origin, "ada", **more)
