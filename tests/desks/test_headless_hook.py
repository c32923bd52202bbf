"""Nobody sits at a desk: a command of the user's answers, or the question is parked or cancelled."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Cause, Decision, Waiting
from handraise.desks.headless import decide_headless, run_hook
from handraise.forms import Form, Integer, Text
from handraise.policy import CancelIt, Park, RunHook
from handraise.questions import Accepted, Cancelled, Declined

pytestmark = [pytest.mark.anyio, pytest.mark.shows("D9")]
FORM = Form.by_hand(Text("name", min_length=2), Integer("count", required=False, maximum=5))


def python(program: str, timeout: float = 20.0) -> RunHook:
    return RunHook((sys.executable, "-c", program), timeout)


def saying(answer: object) -> RunHook:
    return python(f"print({json.dumps(answer)!r})")


def question(**options: Any) -> Waiting:
    return form_question("Who?", FORM, **options)


def reason_of(decision: Decision) -> str:
    assert (decision.answer, decision.by) == (Cancelled(), "policy")
    return decision.reason


async def test_the_command_gets_the_question_and_its_answer_is_the_policys() -> None:
    program = (
        "import json, sys; asked = json.load(sys.stdin)\n"
        "assert asked['server'] == {'name': 'notes', 'target': 'python notes.py', 'calls_itself': 'Notes Server'}\n"
        "assert asked['cause']['calls'] == [{'name': 'add', 'arguments': {'n': 1}}]\n"
        "assert asked['question']['requestedSchema']['required'] == ['name']\n"
        "print(json.dumps({'action': 'accept', 'content': {'name': asked['question']['message'] + '!'}}))"
    )
    decision = await run_hook(python(program), question(cause=Cause((("add", {"n": 1}),))))
    assert (decision.answer, decision.by, decision.desk) == (Accepted({"name": "Who?!"}), "policy", "hook")


async def test_the_command_may_decline_or_cancel() -> None:
    assert (await run_hook(saying({"action": "decline"}), question())).answer == Declined()
    assert reason_of(await run_hook(saying({"action": "cancel"}), question())) == "The hook cancelled it."


async def test_a_link_is_consented_to_without_content() -> None:
    decision = await run_hook(saying({"action": "accept", "content": {"token": "x"}}), link_question())
    assert decision.answer == Accepted(None)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept", "content": {"name": "A", "count": 9}}, "(name: min_length, count: maximum)"),
        ({"action": "accept", "content": {}}, "(name: required)"),
        ({"action": "accept", "content": {"name": "Ada", "extra": 1}}, "(extra: unknown_field)"),
        ({"action": "accept"}, "wrote no answer (content)"),
        ({"action": "yes"}, "wrote no answer (action)"),
        ([], "wrote no answer (action)"),
        ({"action": "accept", "content": {"name": "4539 5787 6362 1486"}}, "holds a secret"),
    ],
)
async def test_an_answer_that_does_not_fit_cancels_and_says_why_without_the_values(
    answer: object, told: str
) -> None:
    reason = reason_of(await run_hook(saying(answer), question()))
    assert told in reason
    assert "4539" not in reason


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ('print(\'{"action": "acc\')', "wrote no answer (json)"),
        ("pass", "wrote no answer (json)"),
        ('print(\'{"action": "decline"}\'); raise SystemExit(3)', "failed with status 3"),
        ("import sys; sys.stdout.write('x' * 300000)", "wrote too much"),
        (
            'import sys; sys.stdin.close(); print(\'{"action": "accept", "action": "decline"}\')',
            "duplicate_key",
        ),
    ],
)
async def test_a_command_that_goes_wrong_cancels(program: str, told: str) -> None:
    assert told in reason_of(await run_hook(python(program), question()))


async def test_a_command_that_is_not_there_cancels() -> None:
    assert "cannot be started" in reason_of(await run_hook(RunHook(("/nowhere/answer",)), question()))
    assert "cannot be started" in reason_of(await run_hook(RunHook(("\0",)), question()))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
async def test_a_command_that_takes_too_long_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    program = (
        "import subprocess, sys, time\n"
        f"alive = open({str(alive)!r}, 'w')\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "subprocess.Popen(sleep, pass_fds=[alive.fileno()]); time.sleep(60)"
    )
    gone = asyncio.ensure_future(asyncio.to_thread(alive.read_text))
    async with asyncio.timeout(60):
        decision = await run_hook(python(program, 1.0), question())
        await gone
    assert reason_of(decision) == "The hook took longer than 1 s."


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
async def test_withdrawing_the_question_stops_the_command(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    program = (
        f"import time; alive = open({str(alive)!r}, 'w'); alive.write('!'); alive.flush(); time.sleep(60)"
    )
    running = asyncio.ensure_future(run_hook(python(program), question()))
    stream = await asyncio.to_thread(alive.open)
    assert await asyncio.to_thread(stream.read, 1) == "!"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.wait_for(asyncio.to_thread(stream.read), 10) == ""
    stream.close()


async def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    program = "import sys; assert sys.argv[1:] == ['; touch evil', '$(touch evil)']; print('{\"action\": \"decline\"}')"
    hook = RunHook((sys.executable, "-c", program, "; touch evil", "$(touch evil)"))
    assert (await run_hook(hook, question())).answer == Declined()


async def test_without_a_person_a_question_is_parked_or_cancelled_with_the_reason_or_the_command_answers() -> (
    None
):
    assert await decide_headless(Park(), question()) is None
    cancelled = await decide_headless(CancelIt("Night run."), question())
    assert cancelled is not None
    assert reason_of(cancelled) == "Night run."
    answered = await decide_headless(saying({"action": "decline"}), question())
    assert answered is not None
    assert answered.answer == Declined()
