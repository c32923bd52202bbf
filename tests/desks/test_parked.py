"""The parked desk: what it prints may be read by anybody, so the code is not in it."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Decision, Queue
from handraise.desks.control import AnswerCode
from handraise.desks.parked import ParkedDesk
from handraise.forms import Form, Text
from handraise.questions import Declined, Origin

NAME = Form.by_hand(Text("name"))


class Output(io.StringIO):
    """Standard error, and whether something new was printed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = asyncio.Event()

    def flush(self) -> None:
        self.flushed.set()


class Desk:
    def __init__(self, *, as_json: bool, terminal: bool) -> None:
        self.queue, self.code, self.output = Queue(), AnswerCode(), Output()
        self.screen: list[str] = []

        def show(text: str) -> bool:
            if terminal:
                self.screen.append(text)
            return terminal

        advice = "Answer from a file: --desk script:FILE"
        self.desk = ParkedDesk(self.queue, self.code, self.output, as_json=as_json, show=show, advice=advice)

    async def prints(self, fits: Callable[[str], bool]) -> str:
        async with asyncio.timeout(60):
            while not fits(self.output.getvalue()):
                self.output.flushed.clear()
                await self.output.flushed.wait()
        return self.output.getvalue()


@asynccontextmanager
async def parked(*, as_json: bool = False, terminal: bool = True) -> AsyncIterator[Desk]:
    desk = Desk(as_json=as_json, terminal=terminal)
    running = asyncio.create_task(desk.desk.run())
    yield desk
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.shows("D9")
async def test_a_question_is_told_with_its_id_and_as_json_and_how_it_ended() -> None:
    async with parked() as desk:
        waiting = form_question("Who?", NAME)
        asked = asyncio.create_task(desk.queue.put(waiting))
        printed = await desk.prints(lambda text: "handraise answer" in text)
        assert f"question {waiting.id} waits, asked by notes" in printed
        described = json.loads(printed.splitlines()[1])
        assert (described["id"], described["answerable"]) == (waiting.id, True)
        assert described["question"]["message"] == "Who?"
        desk.queue.decide(waiting.id, Decision(Declined(), desk="command"))
        await desk.prints(lambda text: "Declined. It ended with handraise answer." in text)
        await asked


@pytest.mark.shows("D9")
async def test_the_code_is_shown_once_at_the_terminal_and_never_printed() -> None:
    async with parked() as desk:
        asked = [asyncio.create_task(desk.queue.put(form_question(f"{n}?", NAME))) for n in (1, 2)]
        printed = await desk.prints(lambda text: text.count("waits, asked by") == 2)
        [shown] = desk.screen
        assert desk.code.shown() in shown
        assert desk.code.shown() not in printed
        for task in asked:
            task.cancel()


@pytest.mark.shows("D9")
async def test_without_a_terminal_it_says_that_nobody_can_answer_by_id() -> None:
    async with parked(terminal=False) as desk:
        waiting = form_question("Who?", NAME, deadline=time.time() + 60)
        asked = asyncio.create_task(desk.queue.put(waiting))
        printed = await desk.prints(lambda text: "no terminal to show the code on" in text)
        assert "ends unanswered at" in printed
        assert (await desk.prints(lambda text: "script:FILE" in text)).count("script:FILE") == 1
        assert '"answerable": false' in printed
        assert "handraise answer" not in printed
        asked.cancel()


async def test_for_machines_there_is_one_json_object_for_each_question() -> None:
    async with parked(as_json=True) as desk:
        asked = [asyncio.create_task(desk.queue.put(each)) for each in (form_question(), link_question())]
        printed = await desk.prints(lambda text: text.count("\n") == 2)
        assert [json.loads(line)["question"]["mode"] for line in printed.splitlines()] == ["form", "url"]
        for task in asked:
            task.cancel()


@pytest.mark.shows("D7")
async def test_a_hostile_name_and_message_are_inert() -> None:
    async with parked() as desk:
        origin = Origin("no\x1b[2Jtes\u202e", "x")
        asked = asyncio.create_task(
            desk.queue.put(form_question("\x1b]0;owned\x07\u202e", NAME, origin=origin))
        )
        printed = await desk.prints(lambda text: "handraise answer" in text)
        assert printed.replace("\n", "").isprintable()
        asked.cancel()
