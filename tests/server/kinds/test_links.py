"""Links, at every kind of server and by every way, on the revisions that have them."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from tests.server.conftest import Place, everywhere, modern, with_links
from tests.server.kinds.bodies import LINK
from tests.server.kinds.ways import WAYS, Ended
from tests.server.peers import CANCEL, DECLINE, Person
from tests.server.rounds import by_hand

from handraise.errors import NotSupported

ACCEPT = types.ElicitResult(action="accept")


class Notices:
    """The links that the client was told are finished."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            self.told.append(message.params.elicitation_id)


@pytest.mark.shows("L1", "L2", "L4")
@with_links
async def test_a_link_is_finished_after_its_accept_or_before(place: Place) -> None:
    notices, finished = Notices(), []

    async def finished_already() -> types.ElicitResult:
        await client.call_tool("finish", {"run": current})
        return types.ElicitResult(action="accept", content={"token": "never used"})

    def finished_soon(_params: Any) -> types.ElicitResult:
        behind.start_soon(client.call_tool, "finish", {"run": current})
        return ACCEPT

    class Browsing(Person):
        async def __call__(self, _context: Any, params: Any) -> Any:
            assert params.url == LINK
            return finished_soon(params) if current.endswith("late") else await finished_already()

    async with (
        place.client(Browsing(), message_handler=notices) as client,
        anyio.create_task_group() as behind,
    ):
        for way, run in place.runs():
            for current in (f"{run}-early", f"{run}-late"):
                finished.append(current)
                assert await way.call(client, "link", current) == "Accepted(data=None)"
    assert notices.told == (finished if place.revision.legacy else [])


@pytest.mark.shows("O1")
@with_links
async def test_a_link_may_be_declined_or_dismissed(place: Place) -> None:
    async with place.client(Person(*[DECLINE, CANCEL] * len(WAYS))) as client:
        for way, run in place.runs():
            told = [await way.call(client, "link", f"{run}-{number}") for number in range(2)]
            assert told == ["Declined(by='action')", "Cancelled()"]


@pytest.mark.shows("N2", "N6")
@everywhere
async def test_a_link_is_never_sent_to_a_client_or_on_a_revision_that_has_none(place: Place) -> None:
    async with place.client(Person(), modes="form") as client:
        for way, run in place.runs():
            for body in ("link", "files"):
                with pytest.raises(Ended) as ended:
                    await way.call(client, body, run)
                assert ended.value.sentence.startswith(NotSupported("url").public)
                assert (ended.value.code == -32021) == place.revision.modern


@pytest.mark.shows("L4")
@modern
async def test_a_retry_that_was_held_shows_the_link_again(place: Place) -> None:
    async with by_hand(place.target()) as rounds, anyio.create_task_group() as ways:

        async def through(way: Any, run: str) -> None:
            first = await way.by_hand(rounds, "link", run)
            consent = {key: {"action": "accept"} for key in first["inputRequests"]}
            again = await way.by_hand(rounds, "link", run, state=first["requestState"], responses=consent)
            [shown] = again["inputRequests"].values()
            assert shown["params"]["url"] == LINK
            assert "not finished yet" in shown["params"]["message"]
            await rounds.call("finish", {"run": run})
            last = await way.by_hand(rounds, "link", run, state=again["requestState"], responses=consent)
            assert way.text(last) == "Accepted(data=None)"

        for way, run in place.runs():
            ways.start_soon(through, way, run)


@pytest.mark.shows("L3", "L4")
@with_links
async def test_what_is_required_first_is_asked_for_and_then_the_call_goes_through(place: Place) -> None:
    async def finished_already() -> types.ElicitResult:
        await client.call_tool("finish", {"run": current})
        return ACCEPT

    person = Person(*[lambda _params: finished_already()] * len(WAYS))
    async with place.client(person) as client:
        for way, run in place.runs():
            current = run
            if place.revision.legacy:
                with pytest.raises(Ended) as needed:
                    await way.call(client, "files", run)
                assert needed.value.code == -32042
                [listed] = needed.value.data["elicitations"]
                assert (listed["url"], listed["elicitationId"]) == (LINK, run)
                await client.call_tool("finish", {"run": run})
            assert await way.call(client, "files", run) == "files"


@pytest.mark.shows("L3", "L4")
@modern
async def test_what_is_required_first_and_declined_ends_the_call_politely(place: Place) -> None:
    async with place.client(Person(*[DECLINE] * len(WAYS))) as client:
        for way, run in place.runs():
            assert await way.ending(client, "files", run) == "The person declined."
