"""Nobody sits at a desk: the question waits under its id, the user's own command answers, or it is cancelled.

An answer is never invented. What is printed about a question that waits may be read by a model. So the code that
answering needs is not among it: it goes to the controlling terminal and nowhere else, and where there is none, it is
not shown at all.

The user's command gets the question as one JSON object on standard input and writes the answer as one to standard
output: `{"action": "accept", "content": {…}}`, `{"action": "decline"}` or `{"action": "cancel"}`. Whatever else
happens (it fails, it takes too long, its answer does not fit the form or holds a secret) cancels the question.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TextIO, assert_never

from handraise.desks.codes import AnswerCode, show_at_terminal
from handraise.desks.endings import describe_ending
from handraise.desks.fill import read_answer
from handraise.desks.language import ENGLISH
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, DeskAnswer, Waiting, describe
from handraise.display import for_line
from handraise.errors import WireError
from handraise.forms import load_json
from handraise.policy import CancelIt, Headless, Park, RunHook
from handraise.questions import Cancelled, Question

DESK: Final = "hook"
_MAX_OUTPUT: Final = 64 * 1024


class _Unusable(Exception):
    """Why there is no answer of the command's to use. Never carries what it wrote."""


async def decide_headless(headless: Headless, waiting: Waiting) -> Decision | None:
    """What the rule for runs without a person decides; None: park the question."""
    match headless:
        case Park():
            return None
        case CancelIt(reason):
            return Decision(Cancelled(), by="policy", reason=reason, refusal="no_desk")
        case RunHook():
            return await run_hook(headless, waiting)
        case _:
            assert_never(headless)


async def run_hook(hook: RunHook, waiting: Waiting) -> Decision:
    """Have the command answer the question."""
    given = json.dumps(describe(waiting), ensure_ascii=False).encode()
    try:
        answer = _answer_in(await _output(hook, given), waiting.question)
    except _Unusable as error:
        return Decision(Cancelled(), by="policy", desk=DESK, reason=str(error), refusal="no_desk")
    reason = "The hook cancelled it." if answer.action == "cancel" else ""
    return Decision(answer, by="policy", desk=DESK, reason=reason)


def _answer_in(output: bytes, question: Question) -> DeskAnswer:
    try:
        answer, filled = read_answer(question, load_json(output))
    except WireError as error:
        raise _Unusable(f"The hook wrote no answer ({error.rule}).") from None
    if filled is not None and filled.problems:
        told = ", ".join(f"{problem.field or 'answer'}: {problem.rule}" for problem in filled.problems)
        raise _Unusable(f"The hook's answer does not fit the form ({told}).")
    if filled is not None and filled.stopped:
        raise _Unusable("The hook's answer holds a secret.")
    return answer


async def _output(hook: RunHook, given: bytes) -> bytes:
    """Run the command without a shell, within its time, and give what it wrote."""
    process = await _start(hook)
    feeding = asyncio.ensure_future(_feed(process, given))
    code: int | None = None
    try:
        async with asyncio.timeout(hook.timeout):
            output = await _read_all(process)
            code = await process.wait()
    except TimeoutError:
        raise _Unusable(f"The hook took longer than {hook.timeout:g} s.") from None
    finally:
        if code is None:
            _kill(process)
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)  # it may answer without reading the question
        await _discard_rest(process)
        await process.wait()
    if code != 0:
        raise _Unusable(f"The hook failed with status {code}.")
    return output


async def _start(hook: RunHook) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *hook.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _Unusable(f"The hook cannot be started ({type(error).__name__}).") from None


async def _feed(process: asyncio.subprocess.Process, given: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(given)
    await process.stdin.drain()
    process.stdin.close()


async def _read_all(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    output = b""
    while chunk := await process.stdout.read(_MAX_OUTPUT):
        output += chunk
        if len(output) > _MAX_OUTPUT:
            raise _Unusable("The hook wrote too much.")
    return output


async def _discard_rest(process: asyncio.subprocess.Process) -> None:
    """Read what is left: asyncio takes a command for ended when its output is, and stops reading one of too much."""
    assert process.stdout is not None
    while await process.stdout.read(_MAX_OUTPUT):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the command and what it started. Their group's number stays theirs while one of them lives."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class HeadlessDesk:
    """Has the user's command answer what waits, or cancels it with the reason. To park it there is another desk."""

    def __init__(self, queue: Queue, rule: RunHook | CancelIt, output: TextIO) -> None:
        self._queue = queue
        self._rule = rule
        self._output = output

    async def run(self) -> None:
        """Decide what waits, until cancelled."""
        begun: dict[str, asyncio.Task[None]] = {}
        ending: set[asyncio.Task[None]] = set()
        try:
            async for came, gone in self._queue.news():
                for question_id in gone:
                    task = begun.pop(question_id)
                    task.cancel()
                    ending.add(task)
                    task.add_done_callback(ending.discard)
                for question in came:
                    begun[question.id] = asyncio.create_task(self._decide(question))
        finally:
            for task in begun.values():
                task.cancel()
            # each was cancelled once only: a second time would leave its command behind
            await asyncio.gather(*begun.values(), *ending, return_exceptions=True)

    async def _decide(self, waiting: Waiting) -> None:
        decision = await decide_headless(self._rule, waiting)
        if decision is None:
            return
        asker = for_line(waiting.origin.name)
        match self._queue.decide(waiting.id, decision):
            case "taken" if decision.reason:
                print(f"handraise: a question of {asker} was cancelled: {decision.reason}", file=self._output)
            case "needs passkey":
                how = ENGLISH("passkey_at_web_desk", command=self._queue.web_desk)
                print(f"handraise: a question of {asker} waits. {how}", file=self._output)


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

    async def run(self) -> None:
        """Tell of what waits and how it ended, until cancelled."""
        async for came, gone in self._queue.news():
            for question in came:
                self._announce(question)
            for question_id in gone:
                self._tell_ending(question_id)

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

    def _tell_ending(self, question_id: str) -> None:
        outcome = self._queue.outcome(question_id)
        if outcome is not None and not self._as_json:
            told = describe_ending(*outcome)
            self._say(f"handraise: {question_id}: {told.heading}. {for_line(told.sentence)}")

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
