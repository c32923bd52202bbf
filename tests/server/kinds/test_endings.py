"""What becomes of a call whose question nobody answered: every kind of server says it alike."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from tests.server.conftest import Place, everywhere, legacy, modern
from tests.server.kinds.ways import WAYS, Way
from tests.server.peers import CANCEL, DECLINE, Person, accept
from tests.server.rounds import by_hand

from handraise.errors import Expired, Failed, NotSupported


@pytest.mark.shows("O1", "O3")
@everywhere
async def test_a_call_that_stops_without_an_answer_says_who_wanted_that(place: Place) -> None:
    async with place.client(Person(*[DECLINE, CANCEL] * len(WAYS))) as client:
        for way, run in place.runs():
            assert await way.ending(client, "wait", run) == "The person declined."
            assert (await way.ending(client, "wait", run)).startswith("The person dismissed the question")
            assert await place.did(client, run) == "finally, finally"


@pytest.mark.shows("O2", "C8")
@everywhere
async def test_nobody_answering_in_time_is_told_to_whoever_answers_late(place: Place) -> None:
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
@legacy
async def test_an_error_as_an_answer_ends_the_wait_at_once(place: Place) -> None:
    errors = [types.ErrorData(code=code, message="no") for code in ERRORS]
    async with place.client(Person(*errors * len(WAYS))) as client:
        for way, run in place.runs():
            for meaning in ERRORS.values():
                with anyio.fail_after(60):
                    assert (await way.ending(client, "wait", run)).startswith(meaning.public)
            expected = ", ".join(f"{meaning.code}, finally" for meaning in ERRORS.values())
            assert await place.did(client, run) == expected


@pytest.mark.shows("O2")
@legacy
async def test_an_error_of_the_client_itself_ends_the_wait_for_its_roots_and_its_model(place: Place) -> None:
    refuses: dict[str, Any] = {"code": 0}

    async def refused(*_args: Any) -> types.ErrorData:
        return types.ErrorData(code=refuses["code"], message="no")

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    thing_of: dict[Any, str] = {refused: "roots", roots: "model"}
    for list_roots, thing in thing_of.items():
        callbacks: dict[str, Any] = {"list_roots_callback": list_roots, "sampling_callback": refused}
        async with place.client(Person(), **callbacks) as client:
            for way, run in place.runs():
                for code, meaning in ERRORS.items():
                    refuses["code"] = code
                    lacks = f"This needs the client's {thing}, "
                    with anyio.fail_after(60):
                        told = await way.ending(client, "where", run)
                    assert told.startswith(lacks if meaning is NotSupported else meaning.public)


@pytest.mark.shows("O2")
@modern
async def test_what_is_no_answer_ends_the_wait_at_once(place: Place) -> None:
    """There is no error as an answer: what is no answer stands for it."""
    async with by_hand(place.target()) as rounds:
        rounds.capabilities = {"elicitation": {}, "roots": {}, "sampling": {}}
        for way, run in place.runs():
            for body in ("wait", "where"):
                first = await way.by_hand(rounds, body, run)
                garbage = {key: {"action": "maybe"} for key in first["inputRequests"]}
                retry = {"state": first["requestState"], "responses": garbage}
                with anyio.fail_after(60):
                    assert await way.failure(rounds, body, run, **retry) == Failed.public


@legacy
async def test_progress_with_the_callers_token_keeps_a_waiting_call_alive(place: Place) -> None:
    told: list[float] = []
    enough = anyio.Event()

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            enough.set()

    async def thinks() -> types.ElicitResult:
        with anyio.fail_after(60):
            await enough.wait()
        return accept(answer="yes")

    async with place.client(Person(lambda _params: thinks())) as client:
        result = await client.call_tool("wait", {"run": place.run}, progress_callback=watch)
        assert not result.is_error
    assert told == sorted(set(told))
