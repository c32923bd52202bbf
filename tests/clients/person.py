"""The person at the desk: answers each question of a run by the topic in it, from a terminal of their own."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gateway.visiting import at_a_terminal, knock

from handraise.desks import Decision
from handraise.desks.remote import dump_decision
from handraise.desks.waiting import desk_answer
from handraise.questions import Action

FILLED: dict[str, Any] = {
    "name": "Ada",
    "email": "ada@example.com",
    "day": "2026-12-24",
    "copies": 2,
    "price": 12.5,
    "gift": True,
    "size": "large",
    "extras": ["card", "box"],
    "answer": "blue",
}
"""What the person enters, by the name of the field."""

TOPIC = re.compile("“(.*?)”")


def decide(topic: str, went_on: Callable[[str], bool]) -> Action | None:
    """What the person does with a question of this topic; None as long as they leave it.

    `late`, `too late` and `timer` are answered once the model has got results that are not the answer's, `nobody`
    never.
    """
    if topic == "nobody" or (topic in ("late", "too late", "timer") and not went_on(topic)):
        return None
    match topic:
        case "decline" | "cancel":
            return topic
        case _:
            return "accept"


@dataclass
class Person:
    """Looks at every desk in a runtime folder until the run ends."""

    runtime: Path
    went_on: Callable[[str], bool]
    """Whether the model has been told that the call of this topic waits, or that it failed."""
    decided: list[tuple[str, str]] = field(default_factory=list)
    """The message of each question that was decided at the desk, with the action."""
    saw: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Every question that was seen at a desk, by its id."""

    def look(self) -> None:
        """Look at each desk once, and decide what is to be decided."""
        for desk in (self.runtime / "handraise").glob("*.desk"):
            with suppress(OSError, ValueError, AssertionError):  # a desk that has just been closed
                if knock(desk, do="look").get("waiting"):
                    self._sit_down(desk)

    def _sit_down(self, desk: Path) -> None:
        waiting = at_a_terminal(lambda: knock(desk, do="read", known=[])).get("waiting", ())
        for question in waiting:
            self.saw[question["id"]] = question
            asked = question["question"]
            found = TOPIC.search(json.dumps(asked, ensure_ascii=False))
            action = decide(found[1] if found else "", self.went_on)
            if action is not None and self._decide(desk, question["id"], asked, action):
                self.decided.append((asked["message"], action))

    def _decide(self, desk: Path, id: str, asked: dict[str, Any], action: Action) -> bool:
        fields = asked.get("requestedSchema", {}).get("properties")
        content = (
            {name: _entry(name, each) for name, each in fields.items()}
            if fields and action == "accept"
            else None
        )
        decision = dump_decision(Decision(desk_answer(action, content)), with_content=True)

        def sit() -> dict[str, Any]:
            knock(desk, do="show", id=id)
            return knock(desk, do="decide", id=id, decision=decision)

        return at_a_terminal(sit).get("verdict") == "taken"


def _entry(name: str, schema: dict[str, Any]) -> Any:
    match schema["type"]:
        case "boolean":
            return True
        case "number" if name == "answer":
            return 2
        case _:
            return FILLED[name]


@contextmanager
def at_the_desk(person: Person) -> Iterator[Person]:
    """Have the person look at the desks while something runs."""
    over = threading.Event()

    def sit() -> None:
        while not over.wait(0.1):
            person.look()

    thread = threading.Thread(target=sit)
    thread.start()
    try:
        yield person
    finally:
        over.set()
        thread.join()
