"""A queue that is seen from another process: one answer, decided where the question is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import form_question

from handraise.desks import ARMED_AFTER, Decision, Queue, Waiting
from handraise.desks.remote import RemoteQueue, reply_to
from handraise.desks.waiting import PasskeyProof, answer_digest
from handraise.questions import Accepted, Cancelled, Declined

pytestmark = pytest.mark.anyio
DOOR = Path("a.desk")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Other:
    """The process that has the queue; what goes between the two is JSON."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.queue = Queue(self.clock)
        self.there = True

    def ask(self, door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
        if not self.there:
            return None
        reply = reply_to(self.queue, json.loads(json.dumps(request)))
        return {"refused": "?"} if reply is None else json.loads(json.dumps(reply))


@asynccontextmanager
async def followed(other: Other) -> AsyncIterator[RemoteQueue]:
    queue = RemoteQueue(lambda: [DOOR], other.ask)
    following = asyncio.create_task(queue.follow())
    yield queue
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def seen(queue: Queue, *waiting: Waiting) -> None:
    """Until just these wait there."""
    async with asyncio.timeout(60):
        async for now in queue.changes():
            if now == waiting:
                return


@pytest.mark.shows("D8")
async def test_what_is_answered_here_is_decided_there() -> None:
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    async with followed(other) as queue:
        await seen(queue, waiting)
        accept = Decision(Accepted({"name": "x"}), desk="terminal", edited=("name",))
        assert queue.decide(waiting.id, accept) == "too soon"
        queue.show(waiting.id)
        other.clock.now += ARMED_AFTER
        assert queue.decide(waiting.id, accept) == "taken"
        decision = await asked
        assert (decision, decision.edited) == (accept, ("name",))
        assert queue.waiting() == ()


async def test_the_other_desk_may_be_first_and_this_one_says_so() -> None:
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    async with followed(other) as queue:
        await seen(queue, waiting)
        other.queue.decide(waiting.id, Decision(Declined(), desk="web"))
        assert queue.decide(waiting.id, Decision(Cancelled(), desk="terminal")) == "too late"
        outcome = queue.outcome(waiting.id)
        assert outcome is not None
        assert (outcome[1].answer, outcome[1].desk) == (Declined(), "web")
    assert (await asked).desk == "web"


async def test_what_ends_there_leaves_here_with_how_it_ended() -> None:
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    async with followed(other) as queue:
        await seen(queue, waiting)
        asked.cancel()
        await seen(queue)
        outcome = queue.outcome(waiting.id)
        assert outcome is not None
        assert outcome[1].reason == "the asker went away"


async def test_a_program_that_ended_is_told() -> None:
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    async with followed(other) as queue:
        await seen(queue, waiting)
        other.there = False
        await seen(queue)
        outcome = queue.outcome(waiting.id)
        assert outcome is not None
        assert outcome[1].reason == "its program ended"
        assert queue.decide(waiting.id, Decision(Declined())) == "too late"
    asked.cancel()


async def test_a_draft_goes_there_and_comes_from_there() -> None:
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    await asyncio.sleep(0)
    other.queue.keep_draft(waiting.id, {"name": "half"})
    async with followed(other) as queue:
        await seen(queue, waiting)
        assert queue.draft(waiting.id) == {"name": "half"}
        queue.keep_draft(waiting.id, {"name": "whole"})
        assert other.queue.draft(waiting.id) == {"name": "whole"}
    asked.cancel()


async def test_following_ends_when_nothing_waits_any_more() -> None:
    async with asyncio.timeout(60):
        await RemoteQueue(lambda: [DOOR], Other().ask).follow(0.1)


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "decide", "id": "q", "decision": {"action": "accept"}},
        {"do": "decide", "id": 1, "decision": {}},
        {"do": "draft", "id": "q", "entries": {"a": 1}},
        {"do": "own"},
        [],
    ],
    ids=str,
)
async def test_a_request_of_the_wrong_shape_changes_nothing(request_: object) -> None:
    assert reply_to(Queue(), request_) is None


async def test_nobody_decides_but_a_person() -> None:
    """The other side could say that a policy accepted, and so get past the moment in which it is disarmed."""
    other, waiting = Other(), form_question()
    asked = asyncio.create_task(other.queue.put(waiting))
    await asyncio.sleep(0)
    forged: dict[str, Any] = {
        "action": "accept",
        "content": {},
        "by": "policy",
        "desk": "",
        "reason": "",
        "block": None,
        "edited": [],
        "unattended": False,
    }
    reply = reply_to(other.queue, {"do": "decide", "id": waiting.id, "decision": forged})
    assert reply is not None
    assert reply["verdict"] == "too soon"
    asked.cancel()


@pytest.mark.shows("W9b")
async def test_a_desk_in_another_process_cannot_accept_what_needs_a_passkey() -> None:
    """Not even one that claims to have the proof: it is never carried."""
    other, waiting = Other(), form_question(passkey=True)
    asked = asyncio.create_task(other.queue.put(waiting))
    async with followed(other) as queue:
        await seen(queue, waiting)
        queue.show(waiting.id)
        other.clock.now += ARMED_AFTER
        proof = PasskeyProof(waiting.person.key, "laptop", ((waiting.id, answer_digest({})),))
        assert queue.decide(waiting.id, Decision(Accepted({}), passkey=proof)) == "needs passkey"
        assert queue.waiting() == (waiting,)
        assert other.queue.waiting() == (waiting,)
        assert queue.decide(waiting.id, Decision(Declined())) == "taken"
    assert (await asked).answer == Declined()
