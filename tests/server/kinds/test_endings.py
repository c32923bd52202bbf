"""What becomes of a call whose question nobody answered: every kind of server says it alike."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from tests.server.kinds.conftest import Kind
from tests.server.kinds.ways import WAYS, Way
from tests.server.peers import CANCEL, DECLINE, Person, accept
from tests.server.rounds import by_hand

from handraise.errors import Expired, Failed, NotSupported
from handraise.revisions import Revision

LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
MODERN = pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)


@pytest.mark.shows("O1", "O3")
async def test_a_call_that_stops_without_an_answer_says_who_wanted_that(place: Kind) -> None:
    async with place.client(Person(*[DECLINE, CANCEL] * len(WAYS))) as client:
        for way, run in place.runs():
            assert await way.ending(client, "wait", run) == "The person declined. Nothing was done."
            assert (await way.ending(client, "wait", run)).startswith("The person dismissed the question")
            assert await place.did(client, run) == "finally, finally"


@pytest.mark.shows("O2", "C8")
async def test_nobody_answering_in_time_is_told_to_whoever_answers_late(place: Kind) -> None:
    async def too_late() -> types.ElicitResult:
        for _, run in place.runs():
            await place.until(client, run, "expired, finally")
        return accept(answer="yes")

    async def through(way: Way, run: str) -> None:
        assert await way.ending(client, "hurry", run) == Expired.public

    person = Person(*[lambda _params: too_late()] * len(WAYS))
    async with place.client(person) as client, anyio.create_task_group() as ways:
        for way, run in place.runs():
            ways.start_soon(through, way, run)


ERRORS: dict[int, type[NotSupported] | type[Failed]] = {
    types.METHOD_NOT_FOUND: NotSupported,
    types.INVALID_PARAMS: NotSupported,
    types.INTERNAL_ERROR: Failed,
    types.CONNECTION_CLOSED: Failed,  # it says so, and is still there
}


@pytest.mark.shows("O2")
@LEGACY
async def test_an_error_as_an_answer_ends_the_wait_at_once(place: Kind) -> None:
    errors = [types.ErrorData(code=code, message="no") for code in ERRORS]
    async with place.client(Person(*errors * len(WAYS))) as client:
        for way, run in place.runs():
            for meaning in ERRORS.values():
                with anyio.fail_after(10):
                    assert (await way.ending(client, "wait", run)).startswith(meaning.public)
            expected = ", ".join(f"{meaning.code}, finally" for meaning in ERRORS.values())
            assert await place.did(client, run) == expected


@pytest.mark.shows("O2")
@LEGACY
async def test_an_error_of_the_client_itself_ends_the_wait_for_its_roots_and_its_model(place: Kind) -> None:
    refuses: dict[str, Any] = {"code": 0}

    async def refused(*_args: Any) -> types.ErrorData:
        return types.ErrorData(code=refuses["code"], message="no")

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    for callbacks in (
        {"list_roots_callback": refused, "sampling_callback": refused},
        {"list_roots_callback": roots, "sampling_callback": refused},
    ):
        async with place.client(Person(), **callbacks) as client:
            for way, run in place.runs():
                for code, meaning in ERRORS.items():
                    refuses["code"] = code
                    with anyio.fail_after(10):
                        assert (await way.ending(client, "where", run)).startswith(meaning.public)


@pytest.mark.shows("O2")
@MODERN
async def test_what_is_no_answer_ends_the_wait_at_once(place: Kind) -> None:
    """There is no error as an answer: what is no answer stands for it."""
    async with by_hand(place.target()) as rounds:
        rounds.capabilities = {"elicitation": {}, "roots": {}, "sampling": {}}
        for way, run in place.runs():
            for body in ("wait", "where"):
                first = await way.by_hand(rounds, body, run)
                garbage = {key: {"action": "maybe"} for key in first["inputRequests"]}
                retry = {"state": first["requestState"], "responses": garbage}
                with anyio.fail_after(10):
                    assert await way.failure(rounds, body, run, **retry) == Failed.public


@pytest.mark.shows("O7", "C8")
async def test_a_client_that_leaves_at_a_question_is_told_to_the_body(place: Kind) -> None:
    """On 2026-07-28 nobody can tell who has left from who thinks, until the question's time is over."""
    asked = anyio.Event()

    async def thinks() -> None:
        asked.set()
        await anyio.sleep_forever()

    seen = "withdrawn" if place.revision.legacy else "expired"
    async with place.client(Person(*[lambda _params: thinks()] * len(WAYS))) as client:
        for way, run in place.runs():
            asked = anyio.Event()
            async with anyio.create_task_group() as calls:
                calls.start_soon(way.call, client, "wait" if place.revision.legacy else "hurry", run)
                await asked.wait()
                calls.cancel_scope.cancel()
            await place.until(client, run, f"{seen}, finally")


@pytest.mark.shows("O7")
async def test_a_caller_that_leaves_while_its_body_works_ends_it(place: Kind) -> None:
    """In its first round, and in a later one."""
    async with place.client(Person(*[accept(answer="on")] * len(WAYS))) as client:
        for body, done in (("idle", "works"), ("work", "on, works")):
            for way, run in place.runs(f"-{body}"):
                async with anyio.create_task_group() as calls:
                    calls.start_soon(way.call, client, body, run)
                    await place.until(client, run, done)
                    calls.cancel_scope.cancel()
                await place.until(client, run, f"{done}, finally")


@LEGACY
async def test_progress_with_the_callers_token_keeps_a_waiting_call_alive(place: Kind) -> None:
    told: list[float] = []
    enough = anyio.Event()

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            enough.set()

    async def thinks() -> types.ElicitResult:
        with anyio.fail_after(30):
            await enough.wait()
        return accept(answer="yes")

    async with place.client(Person(lambda _params: thinks())) as client:
        result = await client.call_tool("wait", {"run": place.run}, progress_callback=watch)
        assert not result.is_error
    assert told == sorted(set(told))
