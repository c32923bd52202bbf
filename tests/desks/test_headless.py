"""Nobody sits there: the user's command answers, or the question is cancelled with the reason."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.desks.questions import form_question
from tests.waiting import until

from handraise.desks import Queue
from handraise.desks.headless import HeadlessDesk
from handraise.forms import Form, Text
from handraise.policy import CancelIt, RunHook
from handraise.questions import Accepted, Cancelled

NAME = Form.by_hand(Text("name"))


@asynccontextmanager
async def headless(rule: RunHook | CancelIt, output: io.StringIO) -> AsyncIterator[Queue]:
    queue = Queue()
    running = asyncio.create_task(HeadlessDesk(queue, rule, output).run())
    try:
        async with asyncio.timeout(60):
            yield queue
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def hook(answer: object) -> RunHook:
    return RunHook((sys.executable, "-c", f"print({json.dumps(json.dumps(answer))})"))


@pytest.mark.shows("D9")
async def test_a_question_is_cancelled_with_the_reason() -> None:
    output = io.StringIO()
    async with headless(CancelIt("Nobody is in."), output) as queue:
        decision = await queue.put(form_question("Who?", NAME))
    assert (decision.answer, decision.by, decision.reason) == (Cancelled(), "policy", "Nobody is in.")
    assert decision.refusal == "no_desk"
    assert output.getvalue() == "handraise: a question of notes was cancelled: Nobody is in.\n"


@pytest.mark.shows("D9")
async def test_the_users_command_answers_each_question() -> None:
    rule = hook({"action": "accept", "content": {"name": "Ada"}})
    async with headless(rule, io.StringIO()) as queue:
        decisions = await asyncio.gather(*(queue.put(form_question(f"{n}?", NAME)) for n in range(3)))
    assert [(each.answer, each.by, each.desk) for each in decisions] == [
        (Accepted({"name": "Ada"}), "policy", "hook")
    ] * 3


@pytest.mark.shows("D9")
async def test_a_command_without_a_usable_answer_cancels_and_never_invents_one() -> None:
    output = io.StringIO()
    async with headless(hook({"action": "accept", "content": {}}), output) as queue:
        decision = await queue.put(form_question("Who?", NAME))
    assert (decision.answer, decision.by) == (Cancelled(), "policy")
    assert "does not fit the form" in output.getvalue()


async def test_a_question_that_is_withdrawn_stops_its_command() -> None:
    async with headless(
        RunHook((sys.executable, "-c", "import time; time.sleep(60)")), io.StringIO()
    ) as queue:
        asked = asyncio.create_task(queue.put(form_question("Who?", NAME)))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert queue.waiting() == ()


@pytest.mark.shows("W9b")
async def test_a_command_cannot_accept_what_needs_a_passkey_and_the_question_waits() -> None:
    output = io.StringIO()
    rule = hook({"action": "accept", "content": {"name": "Ada"}})
    async with headless(rule, output) as queue:
        asked = asyncio.create_task(queue.put(form_question("Who?", NAME, passkey=True)))
        await until(lambda: "needs your passkey" in output.getvalue())
        assert len(queue.waiting()) == 1
        asked.cancel()
