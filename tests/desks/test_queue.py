"""The one queue behind all desks."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.desks.questions import form_question

from handraise.desks import ARMED_AFTER, Cause, Decision, Queue
from handraise.desks.waiting import PasskeyProof, answer_digest
from handraise.questions import Accepted, Cancelled, Declined


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.shows("D8")
async def test_the_first_answer_wins_and_the_other_desk_is_told() -> None:
    queue, waiting = Queue(), form_question()
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    assert queue.decide(waiting.id, Decision(Declined(), desk="terminal")) == "taken"
    assert queue.decide(waiting.id, Decision(Cancelled(), desk="web")) == "too late"
    assert (await asked).answer == Declined()
    outcome = queue.outcome(waiting.id)
    assert outcome is not None
    assert outcome[1].desk == "terminal"
    assert queue.waiting() == ()


async def test_desks_tell_one_thing_more_of_what_was_answered_because_of_a_call() -> None:
    queue = Queue()
    calls = {name: Cause((("delete", {}),), call_id=name) for name in ("this", "other")}
    asked = [form_question(id=name, cause=cause) for name, cause in calls.items()]
    putting = [asyncio.create_task(queue.put(each)) for each in asked]
    await asyncio.sleep(0)
    for each in asked:
        queue.decide(each.id, Decision(Declined(), desk="web"))
    await asyncio.gather(*putting)
    queue.note("this", "It reached nothing.")
    assert [(waiting.id, decision.reason) for waiting, decision in queue.past()] == [
        ("other", ""),
        ("this", "It reached nothing."),
    ]


async def test_an_answer_to_a_call_for_which_no_client_waits_says_so() -> None:
    queue = Queue()
    asked = [
        form_question(id=name, cause=Cause((("delete", {}),), call_id=name)) for name in ("this", "other")
    ]
    putting = [asyncio.create_task(queue.put(each)) for each in asked]
    await asyncio.sleep(0)
    queue.unattended.add("this")
    for each in asked:
        queue.decide(each.id, Decision(Declined(), desk="web"))
    assert [each.unattended for each in await asyncio.gather(*putting)] == [True, False]


@pytest.mark.shows("D8")
async def test_an_answer_that_was_taken_in_the_moment_when_the_time_ends_stands() -> None:
    queue, waiting = Queue(), form_question(deadline=time.time())
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)  # its time is over, and the one who asks has not heard of it
    assert queue.decide(waiting.id, Decision(Declined(), desk="terminal")) == "taken"
    assert (await asked).answer == Declined()
    outcome = queue.outcome(waiting.id)
    assert outcome is not None
    assert outcome[1].by == "human"


@pytest.mark.shows("D4")
async def test_nobody_can_accept_before_the_question_can_have_been_read() -> None:
    clock = Clock()
    queue, waiting = Queue(clock), form_question()
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    accept = Decision(Accepted({"a": 1}))
    assert queue.decide(waiting.id, accept) == "too soon"  # never shown
    queue.show(waiting.id)
    clock.now += ARMED_AFTER / 2
    assert queue.decide(waiting.id, accept) == "too soon"
    queue.show(waiting.id)  # looking again does not start it anew
    clock.now += ARMED_AFTER / 2
    assert queue.decide(waiting.id, accept) == "taken"
    assert (await asked).answer == Accepted({"a": 1})


@pytest.mark.shows("D2", "D4")
async def test_declining_and_cancelling_are_possible_at_once() -> None:
    for answer in (Declined(), Cancelled()):
        queue, waiting = Queue(), form_question()
        asked = asyncio.create_task(queue.put(waiting))
        await asyncio.sleep(0)
        assert queue.decide(waiting.id, Decision(answer)) == "taken"
        assert (await asked).answer == answer


@pytest.mark.shows("O2")
async def test_a_question_whose_time_is_over_is_cancelled_by_the_clock() -> None:
    queue = Queue()
    decision = await queue.put(form_question(deadline=time.time() + 0.02))
    assert (decision.answer, decision.by) == (Cancelled(), "timeout")
    assert queue.waiting() == ()


@pytest.mark.shows("O7")
async def test_a_question_whose_call_is_cancelled_leaves_every_desk_at_once() -> None:
    queue, waiting = Queue(), form_question()
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert queue.find(waiting.id) is None
    assert queue.decide(waiting.id, Decision(Declined())) == "too late"


@pytest.mark.shows("D8")
async def test_drafts_are_kept_while_the_question_waits() -> None:
    queue, waiting = Queue(), form_question()
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    queue.keep_draft(waiting.id, {"name": "Ad"})
    assert queue.draft(waiting.id) == {"name": "Ad"}
    queue.decide(waiting.id, Decision(Cancelled()))
    await asked
    assert queue.draft(waiting.id) == {}


async def test_desks_see_every_change() -> None:
    queue, seen = Queue(), []
    done = anyio.Event()

    async def watch() -> None:
        async for waiting in queue.changes():
            seen.append([w.question.message for w in waiting])
            if len(seen) == 3:
                done.set()
                return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await anyio.lowlevel.checkpoint()
        waiting = form_question("One?")
        tasks.start_soon(queue.put, waiting)
        await anyio.sleep(0.01)
        queue.decide(waiting.id, Decision(Cancelled()))
        with anyio.fail_after(60):
            await done.wait()
    assert seen == [[], ["One?"], []]


@pytest.mark.shows("W9b")
@pytest.mark.parametrize("by", ["human", "policy", "agent"])
async def test_nobody_accepts_without_a_passkey_what_needs_one(by: Any) -> None:
    clock = Clock()
    queue, waiting = Queue(clock), form_question(passkey=True)
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    queue.show(waiting.id)
    clock.now += ARMED_AFTER
    content = {"name": "Ada"}
    other = PasskeyProof(waiting.person.key, "laptop", ((waiting.id, answer_digest({"name": "Bob"})),))
    for proof in (None, other, replace(other, person="system::bob"), replace(other, answers=())):
        accepted: Decision = Decision(Accepted(content), by=by, passkey=proof)
        assert queue.decide(waiting.id, accepted) == "needs passkey"
    assert queue.waiting() == (waiting,)
    right = replace(other, answers=((waiting.id, answer_digest(content)),))
    assert queue.decide(waiting.id, Decision(Accepted(content), by=by, passkey=right)) == "taken"
    assert (await asked).passkey == right


@pytest.mark.shows("W9b")
@pytest.mark.parametrize("answer", [Declined(), Cancelled()])
async def test_a_no_needs_no_passkey(answer: Declined | Cancelled) -> None:
    queue, waiting = Queue(), form_question(passkey=True)
    asked = asyncio.create_task(queue.put(waiting))
    await asyncio.sleep(0)
    assert queue.decide(waiting.id, Decision(answer, desk="terminal")) == "taken"
    assert (await asked).answer == answer
