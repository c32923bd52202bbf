"""The parked desk: nobody can be asked here, so a question waits under its id until somebody answers it elsewhere.

What is printed may be read by a model. So the code that answering needs is not among it: it goes to the controlling
terminal and nowhere else, and where there is none, it is not shown at all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TextIO

from handraise.desks.control import AnswerCode
from handraise.desks.endings import describe_ending
from handraise.desks.language import ENGLISH
from handraise.desks.queue import Queue
from handraise.desks.waiting import Waiting, describe
from handraise.display import for_line

TERMINAL: Final = "CONOUT$" if sys.platform == "win32" else "/dev/tty"
"""The screen in front of whoever started this program, whatever its output is connected to."""


def show_at_terminal(text: str) -> bool:
    """Write to the controlling terminal, past standard output and error; False when there is none."""
    with suppress(OSError):
        with open(TERMINAL, "w", encoding="utf-8") as screen:
            screen.write(text)
        return True
    return False


class ParkedDesk:
    """Tells of each question once: its id and one JSON object. It needs an open `AnswerListener`."""

    def __init__(
        self,
        queue: Queue,
        code: AnswerCode,
        output: TextIO,
        *,
        as_json: bool = False,
        show: Callable[[str], bool] = show_at_terminal,
        advice: str = "",
    ) -> None:
        """`advice` is what to do instead, said where no code can be shown."""
        self._queue = queue
        self._code = code
        self._output = output
        self._as_json = as_json
        self._show = show
        self._advice = advice
        self._answerable: bool | None = None
        self._told: dict[str, Waiting] = {}

    async def run(self) -> None:
        """Tell of what waits and how it ended, until cancelled."""
        async for waiting in self._queue.changes():
            for question in waiting:
                if question.id not in self._told:
                    self._told[question.id] = question
                    self._announce(question)
            here = {question.id for question in waiting}
            for question_id in [known for known in self._told if known not in here]:
                self._tell_ending(self._told.pop(question_id))

    def _announce(self, waiting: Waiting) -> None:
        if self._answerable is None:
            self._answerable = self._show(_about_the_code(self._code))
        described = json.dumps({**describe(waiting), "answerable": self._answerable})
        if self._as_json:
            self._say(described)
            return
        asker = for_line(waiting.origin.name)
        self._say(f"handraise: question {waiting.id} waits, asked by {asker}", described)
        if waiting.passkey:
            self._say(f"handraise: {ENGLISH('passkey_at_web_desk', command=self._queue.web_desk)}")
        if self._answerable:
            content = "{…}" if waiting.question.mode == "form" else "{}"
            self._say(f"  handraise answer {waiting.id} --accept '{content}' | --decline | --cancel")
        else:
            self._say(f"handraise: there is no terminal to show the code on, {_in_vain(waiting)}")
            if self._advice:
                self._say(f"handraise: {self._advice}")

    def _tell_ending(self, waiting: Waiting) -> None:
        outcome = self._queue.outcome(waiting.id)
        if outcome is not None and not self._as_json:
            told = describe_ending(*outcome)
            self._say(f"handraise: {waiting.id}: {told.heading}. {for_line(told.sentence)}")

    def _say(self, *lines: str) -> None:
        self._output.writelines(f"{line}\n" for line in lines)
        self._output.flush()


def _about_the_code(code: AnswerCode) -> str:
    return (
        f"\nhandraise: the code to answer with is {code.shown()}\n"
        "handraise: see what waits, from another terminal: handraise pending\n\n"
    )


def _in_vain(waiting: Waiting) -> str:
    if waiting.deadline is None:
        return "so it cannot be answered by its id"
    until = datetime.fromtimestamp(waiting.deadline, UTC).astimezone()
    return f"so it cannot be answered by its id and ends unanswered at {until:%H:%M:%S}"
