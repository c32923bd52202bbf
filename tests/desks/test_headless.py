"""Nobody sits at a desk: a question is parked, answered by the user's command, or cancelled with the reason."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import form_question, link_question
from tests.waiting import until

from handraise.desks import Cause, Decision, Queue, Waiting
from handraise.desks.codes import AnswerCode
from handraise.desks.headless import HeadlessDesk, ParkedDesk, decide_headless, run_hook
from handraise.forms import Form, Integer, Text
from handraise.policy import CancelIt, Park, RunHook
from handraise.questions import Accepted, Cancelled, Declined, Origin

pytestmark = pytest.mark.shows("D9")

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


async def test_a_question_is_cancelled_with_the_reason() -> None:
    output = io.StringIO()
    async with headless(CancelIt("Nobody is in."), output) as queue:
        decision = await queue.put(form_question("Who?", NAME))
    assert (decision.answer, decision.by, decision.reason) == (Cancelled(), "policy", "Nobody is in.")
    assert decision.refusal == "no_desk"
    assert output.getvalue() == "handraise: a question of notes was cancelled: Nobody is in.\n"


async def test_the_users_command_answers_each_question() -> None:
    rule = hook({"action": "accept", "content": {"name": "Ada"}})
    async with headless(rule, io.StringIO()) as queue:
        decisions = await asyncio.gather(*(queue.put(form_question(f"{n}?", NAME)) for n in range(3)))
    assert [(each.answer, each.by, each.desk) for each in decisions] == [
        (Accepted({"name": "Ada"}), "policy", "hook")
    ] * 3


async def test_a_command_without_a_usable_answer_cancels_and_never_invents_one() -> None:
    output = io.StringIO()
    async with headless(hook({"action": "accept", "content": {}}), output) as queue:
        decision = await queue.put(form_question("Who?", NAME))
    assert (decision.answer, decision.by) == (Cancelled(), "policy")
    assert "does not fit the form" in output.getvalue()


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
@pytest.mark.parametrize("end", ["the question is withdrawn", "the desk ends"])
async def test_no_command_runs_on_without_its_question_and_its_desk(tmp_path: Path, end: str) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    program = (
        f"import time; alive = open({str(alive)!r}, 'w'); alive.write('!'); alive.flush(); time.sleep(60)"
    )
    queue = Queue()
    running = asyncio.create_task(HeadlessDesk(queue, python(program, 50), io.StringIO()).run())
    asked = asyncio.create_task(queue.put(form_question("Who?", NAME)))
    with await asyncio.to_thread(alive.open) as stream:
        assert await asyncio.to_thread(stream.read, 1) == "!"
        (asked if end == "the question is withdrawn" else running).cancel()
        assert await asyncio.wait_for(asyncio.to_thread(stream.read), 10) == ""
    asked.cancel()
    running.cancel()
    await asyncio.gather(asked, running, return_exceptions=True)


@pytest.mark.shows("W9b")
async def test_a_command_cannot_accept_what_needs_a_passkey_and_the_question_waits() -> None:
    output = io.StringIO()
    rule = hook({"action": "accept", "content": {"name": "Ada"}})
    async with headless(rule, output) as queue:
        asked = asyncio.create_task(queue.put(form_question("Who?", NAME, passkey=True)))
        await until(lambda: "needs your passkey" in output.getvalue())
        assert len(queue.waiting()) == 1
        asked.cancel()


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


async def test_the_code_is_shown_once_at_the_terminal_and_never_printed() -> None:
    async with parked() as desk:
        asked = [asyncio.create_task(desk.queue.put(form_question(f"{n}?", NAME))) for n in (1, 2)]
        printed = await desk.prints(lambda text: text.count("waits, asked by") == 2)
        [shown] = desk.screen
        assert desk.code.shown() in shown
        assert desk.code.shown() not in printed
        for task in asked:
            task.cancel()


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
