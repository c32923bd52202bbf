"""Hints between a server and the desk of a host, at the level of messages."""

from __future__ import annotations

import asyncio
import io
import time
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import ADA, NOTES, OpenGate, host

from handraise import Handraise, ask
from handraise.client import Consent
from handraise.desks import Decision, Queue, Waiting
from handraise.desks.headless import HeadlessDesk
from handraise.desks.scripted import Line
from handraise.policy import CancelIt, PolicyRuling
from handraise.questions import Accepted, Buttons
from handraise.revisions import Revision
from handraise.wire import parse_refusal

CONFIRM: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}},
    "required": ["answer"],
}


def context(revision: Revision) -> Any:
    return SimpleNamespace(session=SimpleNamespace(protocol_version=revision.value))


def asked(message: str, schema: dict[str, Any] = CONFIRM, **hints: Any) -> types.ElicitRequestFormParams:
    raw: dict[str, Any] = {"message": message, "requestedSchema": schema}
    if hints:
        raw["_meta"] = {"handraise/question": hints}
    return types.ElicitRequestFormParams.model_validate(raw)


def options(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "string", "enum": [str(n) for n in range(count)]}}}


def fields(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(count)}}


async def first(queue: Queue) -> Waiting:
    async with asyncio.timeout(60):
        async for waiting in queue.changes():
            if waiting:
                return waiting[0]
    raise AssertionError


def dumped(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return found


@pytest.mark.shows("D2e")
@pytest.mark.parametrize("revision", Revision)
async def test_a_servers_deadline_reaches_the_desk_and_ends_the_question(revision: Revision) -> None:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate(), timeout=300)
    answering = asyncio.ensure_future(consent(context(revision), asked("Go on?", expiresIn=0.2)))
    waiting = await first(queue)
    assert waiting.deadline is not None
    assert waiting.deadline <= time.time() + 0.2
    async with asyncio.timeout(20):
        answer = dumped(await answering)
    assert answer == {"action": "cancel", "_meta": {"handraise/refused": "expired"}}
    assert queue.decide(waiting.id, Decision(Accepted({"answer": True}))) == "too late"


@pytest.mark.shows("D2e")
@pytest.mark.parametrize("revision", Revision)
async def test_the_timeout_of_a_question_is_the_deadline_at_the_desk(revision: Revision) -> None:
    server = Handraise().install(MCPServer("files"))

    @server.tool()
    async def tidy() -> str:
        """Gives the person three seconds."""
        return str(await ask.confirm("Delete 47 files?", timeout=3))

    before = time.time()
    async with host(server, revision, [Line("accept", {"answer": True})]) as here:
        await here.client.call_tool("tidy", {})
    (event,) = here.events
    assert event.waiting.deadline is not None
    assert before < event.waiting.deadline <= event.waiting.asked_at + 3


async def test_a_server_cannot_lengthen_the_time_of_the_desk() -> None:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate(), timeout=5)
    answering = asyncio.ensure_future(consent(context(Revision.JULY_2026), asked("Go on?", expiresIn=9999)))
    assert ((await first(queue)).deadline or 0) <= time.time() + 5
    answering.cancel()


async def test_the_words_of_the_buttons_reach_the_desk() -> None:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate())
    buttons = {"yes": "Delete 47 files", "no": "Keep them"}
    answering = asyncio.ensure_future(consent(context(Revision.JULY_2026), asked("Go on?", buttons=buttons)))
    assert (await first(queue)).question.hints.buttons == Buttons("Delete 47 files", "Keep them")
    answering.cancel()


@pytest.mark.shows("O9")
@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (("limits",), "rate"),
        (("forms.credentials",), "secret"),
        (("links.only",), "link"),
        (("own",), "policy"),
    ],
)
async def test_a_refusal_reaches_the_server_as_a_code_and_never_as_a_rule(
    rules: tuple[str, ...], code: str
) -> None:
    gate = OpenGate(PolicyRuling("refuse", ("You blocked this server on Monday.",), rules))
    consent = Consent(Queue(), origin=NOTES, person=ADA, gate=gate)
    answer = dumped(await consent(context(Revision.JULY_2026), asked("Go on?")))
    assert parse_refusal(answer) == code
    assert "Monday" not in str(answer)


@pytest.mark.shows("O9", "D2f")
@pytest.mark.parametrize(
    "params",
    [
        asked("x" * 65_537),
        asked(
            "Which?",
            {
                "type": "object",
                "properties": {"a": {"type": "string", "enum": [str(n) for n in range(2001)]}},
            },
        ),
        asked("Which?", fields(51)),
    ],
    ids=["message", "options", "fields"],
)
async def test_a_question_that_is_too_large_is_a_cancel_that_says_so(
    params: types.ElicitRequestFormParams,
) -> None:
    consent = Consent(Queue(), origin=NOTES, person=ADA, gate=OpenGate())
    assert parse_refusal(dumped(await consent(context(Revision.JULY_2026), params))) == "size"


@pytest.mark.shows("O9", "D9")
async def test_where_nobody_sits_at_a_desk_the_server_is_told_so() -> None:
    queue = Queue()
    desk = asyncio.create_task(HeadlessDesk(queue, CancelIt(), io.StringIO()).run())
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate())
    async with asyncio.timeout(60):
        answer = dumped(await consent(context(Revision.JULY_2026), asked("Go on?")))
    desk.cancel()
    assert (answer["action"], parse_refusal(answer)) == ("cancel", "no_desk")


@pytest.mark.shows("D2f")
@pytest.mark.parametrize(
    "params",
    [
        asked("x" * 2_001),
        asked(
            "Which?",
            {"type": "object", "properties": {"a": {"type": "string", "enum": [str(n) for n in range(201)]}}},
        ),
        asked("Which?", fields(21)),
    ],
    ids=["message", "options", "fields"],
)
async def test_2001_characters_201_options_and_21_fields_reach_the_desk(
    params: types.ElicitRequestFormParams,
) -> None:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate())
    answering = asyncio.ensure_future(consent(context(Revision.JULY_2026), params))
    assert (await first(queue)).question.mode == "form"
    answering.cancel()
