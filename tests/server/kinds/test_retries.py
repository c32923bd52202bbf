"""What a retry on 2026-07-28 may and may not do, at every kind of server and by every way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx2 as httpx
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.server.conftest import Place, cells, modern
from tests.server.kinds.ways import WAYS, Way, did
from tests.server.rounds import Rounds, accepted, by_hand, sign_in


async def is_refused(way: Way, rounds: Rounds, body: str, run: str, **retry: Any) -> None:
    """One public error for every reason, and nothing else."""
    with pytest.raises(MCPError) as refused:
        await way.by_hand(rounds, body, run, **retry)
    assert (refused.value.code, refused.value.message) == (-32602, "Invalid or expired requestState")
    assert refused.value.data == {"reason": "invalid_request_state"}


@pytest.mark.shows("C3")
@modern
async def test_the_same_retry_again_gets_the_same_outcome_and_a_different_one_is_refused(
    place: Place,
) -> None:
    async with by_hand(place.target()) as rounds:
        for way, run in place.runs():
            first = await way.by_hand(rounds, "stepped", run)
            assert len(first["requestState"]) < 64
            retry = {"state": first["requestState"], "responses": accepted(first, answer="1")}
            outcomes = await asyncio.gather(*(way.by_hand(rounds, "stepped", run, **retry) for _ in range(8)))
            assert all(outcome == outcomes[0] for outcome in outcomes)
            assert outcomes[0]["requestState"] != first["requestState"]
            another = {"state": first["requestState"], "responses": accepted(first, answer="2")}
            await is_refused(way, rounds, "stepped", run, **another)
            last = await way.answered(rounds, "stepped", run, outcomes[0], answer="2")
            assert way.text(last) == "1 2"
            assert await way.answered(rounds, "stepped", run, outcomes[0], answer="2") == last
            assert await way.by_hand(rounds, "stepped", run, **retry) == outcomes[0]
            assert await did(rounds, run) == "1"


@pytest.mark.shows("C2", "C3")
@modern
async def test_a_state_of_another_call_is_refused_and_stays_what_it_was(place: Place) -> None:
    async with by_hand(place.target()) as rounds:
        for way, run in place.runs():
            first = await way.by_hand(rounds, "stepped", run)
            state, responses = first["requestState"], accepted(first, answer="1")
            for changed in (state + "-TAMPERED", state[:-1], "hr1." + "A" * 24):
                await is_refused(way, rounds, "stepped", run, state=changed, responses=responses)
            retry = {"state": state, "responses": responses}
            await is_refused(way, rounds, "again", run, **retry)
            await is_refused(way, rounds, "stepped", f"{run}-other", **retry)
            for other in WAYS:
                if other is not way:
                    await is_refused(other, rounds, "stepped", run, **retry)
            assert await did(rounds, run) == ""
            second = await way.by_hand(rounds, "stepped", run, **retry)
            assert await did(rounds, run) == "1"
            assert way.text(await way.answered(rounds, "stepped", run, second, answer="2")) == "1 2"


@pytest.mark.shows("C5")
@modern
async def test_a_retry_without_the_answer_is_shown_the_question_again(place: Place) -> None:
    unknown = {"another": {"action": "accept", "content": {"answer": "1"}}}
    async with by_hand(place.target()) as rounds:
        for way, run in place.runs():
            first = await way.by_hand(rounds, "stepped", run)
            for responses in (None, {}, unknown):
                again = await way.by_hand(
                    rounds, "stepped", run, state=first["requestState"], responses=responses
                )
                assert again["inputRequests"] == first["inputRequests"]
            responses = {**unknown, **accepted(first, answer="1")}
            second = await way.by_hand(
                rounds, "stepped", run, state=first["requestState"], responses=responses
            )
            assert second["inputRequests"] != first["inputRequests"]
            assert await did(rounds, run) == "1"


@pytest.mark.shows("C10")
@modern
async def test_an_answer_that_comes_before_its_question_is_used_only_where_the_author_allows_it(
    place: Place,
) -> None:
    who = {"action": "accept", "content": {"answer": "Ada"}}
    sure = {"action": "accept", "content": {"answer": True}}
    forged = {"action": "accept", "content": {"answer": "1"}}
    async with by_hand(place.target()) as rounds:
        for way, run in place.runs():
            first = await way.by_hand(rounds, "given", run, responses={"who": who, "sure": sure})
            assert list(first["inputRequests"]) == ["sure"]
            assert await did(rounds, run) == ""
            last = await way.answered(rounds, "given", run, first, answer=True)
            assert way.text(last) == "Ada accept"
            [key] = (await way.by_hand(rounds, "stepped", run, request_id=f"{run}-1"))["inputRequests"]
            asked = await way.by_hand(rounds, "stepped", run, request_id=f"{run}-1", responses={key: forged})
            assert list(asked["inputRequests"]) == [key]
            assert await did(rounds, run) == "Ada"


@pytest.mark.shows("X4")
@modern
async def test_the_same_request_dispatched_twice_asks_the_same_question(place: Place) -> None:
    async with by_hand(place.target()) as rounds:
        for way, run in place.runs():
            one, same, other = [
                await way.by_hand(rounds, "stepped", run, request_id=f"{run}-{name}")
                for name in ("proxied", "proxied", "deliberate")
            ]
            assert list(one["inputRequests"]) == list(same["inputRequests"])
            assert list(one["inputRequests"]) != list(other["inputRequests"])
            assert one["requestState"] != same["requestState"]


class SignedIn(Rounds):
    """Rounds of one person, in the process of the server."""

    def __init__(self, rounds: Rounds, who: str) -> None:
        self._dispatcher, self.capabilities = rounds._dispatcher, rounds.capabilities
        self._who = who

    async def call(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        sign_in(self._who)
        try:
            return await super().call(*args, **kwargs)
        finally:
            sign_in(None)


@pytest.fixture
async def people(place: Place) -> AsyncIterator[tuple[Rounds, Rounds, Rounds]]:
    """Ada, Bob, and somebody who is not signed in. Over stdio there is one person: the user of this computer."""
    async with AsyncExitStack() as open_:
        nobody = await open_.enter_async_context(by_hand(place.target()))
        if place.cell.transport == "memory":
            yield SignedIn(nobody, "ada"), SignedIn(nobody, "bob"), nobody
            return

        async def over_http(who: str) -> Rounds:
            headers = {"authorization": f"Bearer {who}"}
            web = await open_.enter_async_context(httpx.AsyncClient(headers=headers))
            target = streamable_http_client(place.target(), http_client=web)
            return await open_.enter_async_context(by_hand(target))

        yield await over_http("ada"), await over_http("bob"), nobody


@pytest.mark.shows("C2")
@cells(revision=lambda revision: revision.modern, transport=lambda transport: transport != "stdio")
async def test_another_person_cannot_go_on_and_the_round_stays_open(
    place: Place, people: tuple[Rounds, Rounds, Rounds]
) -> None:
    ada, bob, nobody = people
    for way, run in place.runs():
        first = await way.by_hand(ada, "stepped", run)
        retry = {"state": first["requestState"], "responses": accepted(first, answer="1")}
        for other in (bob, nobody):
            await is_refused(way, other, "stepped", run, **retry)
        assert await did(nobody, run) == ""
        second = await way.by_hand(ada, "stepped", run, **retry)
        assert await did(nobody, run) == "1"
        for other in (bob, nobody):
            await is_refused(way, other, "stepped", run, **retry)
        assert way.text(await way.answered(ada, "stepped", run, second, answer="2")) == "1 2"
