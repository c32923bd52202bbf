"""Links, at every kind of server and by every way, on the revisions that have them."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from tests.server.kinds.bodies import LINK
from tests.server.kinds.conftest import Kind
from tests.server.kinds.ways import WAYS, Ended
from tests.server.peers import CANCEL, DECLINE, Person, text_of
from tests.server.rounds import by_hand

from handraise.errors import NotSupported
from handraise.revisions import Revision

ACCEPT = types.ElicitResult(action="accept")
with_links = pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)


class Notices:
    """The links that the client was told are finished."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            self.told.append(message.params.elicitation_id)


@pytest.mark.shows("L1", "L2", "L4")
@with_links
async def test_a_link_is_finished_after_its_accept_or_before(place: Kind) -> None:
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
async def test_a_link_may_be_declined_or_dismissed(place: Kind) -> None:
    async with place.client(Person(*[DECLINE, CANCEL] * len(WAYS))) as client:
        for way, run in place.runs():
            told = [await way.call(client, "link", f"{run}-{number}") for number in range(2)]
            assert told == ["Declined(by='action')", "Cancelled()"]


@pytest.mark.shows("O7")
@with_links
async def test_a_client_that_leaves_while_the_person_is_in_the_browser_is_told_to_the_body(
    place: Kind,
) -> None:
    async with place.client(Person(*[ACCEPT] * len(WAYS))) as client:
        for way, run in place.runs():
            async with anyio.create_task_group() as calls:
                calls.start_soon(way.call, client, "link", run)
                with anyio.fail_after(30):
                    while text_of(await client.call_tool("browsing", {"run": run})) != "True":  # noqa: ASYNC110
                        await anyio.sleep(0.01)
                calls.cancel_scope.cancel()
            await place.until(client, run, "withdrawn, finally")


@pytest.mark.shows("N2", "N6")
async def test_a_link_is_never_sent_to_a_client_or_on_a_revision_that_has_none(place: Kind) -> None:
    async with place.client(Person(), modes="form") as client:
        for way, run in place.runs():
            for body in ("link", "files"):
                with pytest.raises(Ended) as ended:
                    await way.call(client, body, run)
                assert ended.value.sentence.startswith(NotSupported.public)
                assert (ended.value.code == -32021) == place.revision.modern


@pytest.mark.shows("L4")
@pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)
async def test_a_retry_that_was_held_shows_the_link_again(place: Kind) -> None:
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
async def test_what_is_required_first_is_asked_for_and_then_the_call_goes_through(place: Kind) -> None:
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
@pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)
async def test_what_is_required_first_and_declined_ends_the_call_politely(place: Kind) -> None:
    async with place.client(Person(*[DECLINE] * len(WAYS))) as client:
        for way, run in place.runs():
            assert await way.ending(client, "files", run) == "The person declined. Nothing was done."
