"""Nobody sits at a desk: let the user's own command answer, or cancel. An answer is never invented.

The command gets the question as one JSON object on standard input and writes the answer as one to standard
output: `{"action": "accept", "content": {…}}`, `{"action": "decline"}` or `{"action": "cancel"}`. Whatever else
happens (it fails, it takes too long, its answer does not fit the form or holds a secret) cancels the question.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Final, TextIO, assert_never

from handraise.desks.language import ENGLISH
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting, describe, desk_answer
from handraise.display import for_line
from handraise.errors import WireError
from handraise.forms import check_answer, load_json
from handraise.policy import CancelIt, Headless, Park, RunHook
from handraise.questions import Cancelled, FormQuestion, Question
from handraise.secrets import scan_answer
from handraise.wire import WireAnswer, parse_answer

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
        answer = _read_answer(waiting.question, await _output(hook, given))
    except _Unusable as error:
        return Decision(Cancelled(), by="policy", desk=DESK, reason=str(error), refusal="no_desk")
    reason = "The hook cancelled it." if answer.action == "cancel" else ""
    return Decision(desk_answer(answer.action, answer.content), by="policy", desk=DESK, reason=reason)


def _read_answer(question: Question, output: bytes) -> WireAnswer:
    form = question.form if isinstance(question, FormQuestion) else None
    try:
        answer = parse_answer(load_json(output), question.mode, form)
    except WireError as error:
        raise _Unusable(f"The hook wrote no answer ({error.rule}).") from None
    if form is None or answer.content is None:
        return answer
    if problems := check_answer(form, answer.content):
        told = ", ".join(f"{problem.field or 'answer'}: {problem.rule}" for problem in problems)
        raise _Unusable(f"The hook's answer does not fit the form ({told}).")
    if any(finding.tier == 1 for finding in scan_answer(answer.content, form, question.message)):
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
            async for waiting in self._queue.changes():
                here = {question.id for question in waiting}
                for gone in [known for known in begun if known not in here]:
                    task = begun.pop(gone)
                    task.cancel()
                    ending.add(task)
                    task.add_done_callback(ending.discard)
                for question in waiting:
                    if question.id not in begun:
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
