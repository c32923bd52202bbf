"""The runs for the pages about the wire: each run ends as it should, or fails."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from docs.make.shop import finish, make_shop
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from tests.gateway.peers import gateway
from tests.server.peers import Person, connect, text_of

from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.gateway.options import Options
from handraise.questions import Accepted
from handraise.revisions import Revision
from handraise.sdk.streams import Tell, tapped

Run = Callable[[Revision, Tell], Awaitable[None]]
CONSENT: Final = types.ElicitResult(action="accept")


@asynccontextmanager
async def _client(
    revision: Revision, tell: Tell, person: Any = None, **options: Any
) -> AsyncIterator[Client]:
    async with connect(tapped(InMemoryTransport(make_shop()), tell), revision, person, **options) as client:
        yield client


def call(tool: str, *answers: types.ElicitResult, says: str) -> Run:
    """Call a tool whose questions the person answers in order, and see what it says in the end."""

    async def run(revision: Revision, tell: Tell) -> None:
        async with _client(revision, tell, Person(*answers)) as client:
            assert text_of(await client.call_tool(tool)) == says

    return run


async def call_unasked(revision: Revision, tell: Tell) -> None:
    """Call a tool that asks, from a client that cannot be asked."""
    async with _client(revision, tell) as client:
        with _refused(if_=revision.modern):
            assert (await client.call_tool("greet")).is_error


async def pay(revision: Revision, tell: Tell) -> None:
    """Consent to a link, and be done in the browser a little later."""

    async def in_the_browser() -> None:
        await anyio.wait_all_tasks_blocked()  # the client has said that its person consented
        await finish("payment-1")

    async with anyio.create_task_group() as tasks:

        def consent(params: types.ElicitRequestParams) -> types.ElicitResult:
            tasks.start_soon(in_the_browser)
            return CONSENT

        async with _client(revision, tell, Person(consent)) as client:
            assert _paid(await client.call_tool("checkout"), revision, "Paid.")


async def require_permission(revision: Revision, tell: Tell) -> None:
    """Be told that something has to be done in the browser first, do it, and call again."""

    async def consent(params: types.ElicitRequestParams) -> types.ElicitResult:
        await finish("sign-in-1")
        return CONSENT

    noticed = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            noticed.set()

    async with _client(revision, tell, Person(consent), message_handler=hear) as client:
        with _refused(if_=revision == Revision.NOVEMBER_2025):
            assert _paid(await client.call_tool("receipts"), revision, "One receipt: 5 €.")
        if (
            revision == Revision.NOVEMBER_2025
        ):  # the client asked its person, and the person was in the browser
            await finish("sign-in-1")
            await noticed.wait()
            assert _paid(await client.call_tool("receipts"), revision, "One receipt: 5 €.")


def _paid(result: Any, revision: Revision, says: str) -> bool:
    """Whether a tool that needs links said so; the first revision has none."""
    return bool(result.is_error) if revision == Revision.JUNE_2025 else text_of(result) == says


@contextmanager
def _refused(*, if_: bool) -> Iterator[None]:
    """Take the JSON-RPC error that comes, if one has to come."""
    try:
        yield
    except MCPError:
        assert if_
    else:
        assert not if_


async def tell_roots(revision: Revision, tell: Tell) -> None:
    """Call a tool that wants to know the client's roots."""

    async def list_roots(context: Any) -> types.ListRootsResult:
        told = {"roots": [{"uri": "file:///home/ada/notes", "name": "notes"}]}
        return types.ListRootsResult.model_validate(told)

    async with _client(revision, tell, list_roots_callback=list_roots) as client:
        assert text_of(await client.call_tool("folders")) == "notes"


class _Told(list[Any]):
    """Tells of each message that is put down here."""

    def __init__(self, tell: Tell, direction: Any) -> None:
        super().__init__()
        self._tell, self._direction = tell, direction

    def append(self, message: Any) -> None:
        super().append(message)
        self._tell(self._direction, message.body)


async def park_and_resume(revision: Revision, tell: Tell) -> None:
    """Call through a gateway, be parked, have the person answer at their desk, and resume."""
    leave = [Line("leave", repeat=True)]
    async with gateway(server=make_shop(), options=Options(hold=0.01), script=leave) as (seen, joined):
        seen.from_client, seen.to_client = _Told(tell, "to server"), _Told(tell, "to client")
        async with joined(revision) as client:
            parked = await client.call_tool("greet")
            ticket = re.search(r"ticket '([\w-]+)'", text_of(parked))
            assert ticket is not None
            seen.state.options = Options(hold=20)  # enough for a slow machine; the answer comes at once
            [question] = seen.queue.waiting()
            answer = Decision(Accepted({"answer": "Ada"}), by="agent", desk="web")
            assert seen.queue.decide(question.id, answer) == "taken"
            resumed = await client.call_tool("handraise_resume", {"ticket": ticket[1]})
            assert text_of(resumed) == "Hello Ada"
