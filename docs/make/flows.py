"""The flows whose messages the documentation shows: each is really run, on every revision that has it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
import mcp_types as types
from docs.make.shop import finish, make_shop
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from tests.gateway.peers import gateway
from tests.server.peers import CANCEL, DECLINE, Person, accept, connect

from handraise.client.tap import Tell, tapped
from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.gateway.options import Options
from handraise.questions import Accepted
from handraise.revisions import Revision

Run = Callable[[Revision, Tell], Awaitable[None]]
JUNE, NOVEMBER, JULY = Revision
CONSENT: Final = types.ElicitResult(action="accept")


@dataclass(frozen=True, slots=True)
class Flow:
    """One way in which somebody is asked."""

    name: str
    title: str
    tool: str
    words: str
    runs: Mapping[str, Run]
    """What is run, under the heading that it gets; one without a heading is the whole flow."""
    notes: Mapping[Revision, str]
    """What to look at, on each revision."""
    handshake: bool = False
    """Whether the handshake of 2025-06-18 and 2025-11-25 is shown too."""


@asynccontextmanager
async def _client(
    revision: Revision, tell: Tell, person: Any = None, **options: Any
) -> AsyncIterator[Client]:
    async with connect(tapped(InMemoryTransport(make_shop()), tell), revision, person, **options) as client:
        yield client


def _call(tool: str, *answers: types.ElicitResult) -> Run:
    """Call a tool whose questions the person answers in order."""

    async def run(revision: Revision, tell: Tell) -> None:
        async with _client(revision, tell, Person(*answers)) as client:
            await client.call_tool(tool)

    return run


async def _call_unasked(revision: Revision, tell: Tell) -> None:
    async with _client(revision, tell) as client:
        with _refused(if_=revision.modern):
            await client.call_tool("greet")


async def _pay(revision: Revision, tell: Tell) -> None:
    async def in_the_browser() -> None:
        await anyio.wait_all_tasks_blocked()  # the client has said that its person consented
        await finish("payment-1")

    async with anyio.create_task_group() as tasks:

        def consent(params: types.ElicitRequestParams) -> types.ElicitResult:
            tasks.start_soon(in_the_browser)
            return CONSENT

        async with _client(revision, tell, Person(consent)) as client:
            await client.call_tool("checkout")


async def _require(revision: Revision, tell: Tell) -> None:
    async def consent(params: types.ElicitRequestParams) -> types.ElicitResult:
        await finish("sign-in-1")
        return CONSENT

    noticed = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            noticed.set()

    async with _client(revision, tell, Person(consent), message_handler=hear) as client:
        with _refused(if_=revision == NOVEMBER):
            await client.call_tool("receipts")
        if revision == NOVEMBER:  # the client asked its person, who then was in the browser
            await finish("sign-in-1")
            await noticed.wait()
            await client.call_tool("receipts")


@contextmanager
def _refused(*, if_: bool) -> Iterator[None]:
    """Take the JSON-RPC error that comes, if one has to come."""
    try:
        yield
    except MCPError:
        assert if_
    else:
        assert not if_


async def _tell_roots(revision: Revision, tell: Tell) -> None:
    async def list_roots(context: Any) -> types.ListRootsResult:
        told = {"roots": [{"uri": "file:///home/ada/notes", "name": "notes"}]}
        return types.ListRootsResult.model_validate(told)

    async with _client(revision, tell, list_roots_callback=list_roots) as client:
        await client.call_tool("folders")


class _Told(list[Any]):
    """Tells of each message that is put down here."""

    def __init__(self, tell: Tell, direction: Any) -> None:
        super().__init__()
        self._tell, self._direction = tell, direction

    def append(self, message: Any) -> None:
        super().append(message)
        self._tell(self._direction, message.body)


async def _park(revision: Revision, tell: Tell) -> None:
    leave = [Line("leave", repeat=True)]
    async with gateway(server=make_shop(), options=Options(hold=0.01), script=leave) as (seen, joined):
        seen.from_client, seen.to_client = _Told(tell, "to server"), _Told(tell, "to client")
        async with joined(revision) as client:
            parked = await client.call_tool("greet")
            ticket = re.search(r"ticket '([\w-]+)'", parked.content[0].text)
            assert ticket is not None
            seen.home.options = Options(
                hold=20
            )  # the person is quick now; no machine is too slow for the page
            [question] = seen.queue.waiting()
            seen.queue.decide(question.id, Decision(Accepted({"answer": "Ada"}), desk="web"))
            await client.call_tool("handraise_resume", {"ticket": ticket[1]})


FLOWS: Final = (
    Flow(
        "form",
        "A form",
        "greet",
        "One question with one field, and the person answers it.",
        {"": _call("greet", accept(answer="Ada"))},
        {
            JUNE: "The client declares `elicitation` once, when it connects. The server asks with a request of its "
            "own while the call is under way. There is no `mode`: every question is a form.",
            NOVEMBER: "The same, with modes: the client names those it has, and the question names its own.",
            JULY: "No request ever goes from the server to the client. The client says with each request what it "
            "can be asked. The question is the result of the call, and the client calls again with the answer and "
            "the `requestState` that it got.",
        },
        handshake=True,
    ),
    Flow(
        "two-questions",
        "Two questions",
        "order",
        "A tool asks twice, and something happens between the questions. It happens once on every revision.",
        {"": _call("order", accept(answer="green"), accept(confirm=True))},
        {
            JUNE: "Two requests of the server's, one after the other, inside one call.",
            NOVEMBER: "Two requests of the server's, one after the other, inside one call.",
            JULY: "Three calls. Each round has a `requestState` of its own, and each is used once. The body of the "
            "tool waits in between: nothing in it runs again.",
        },
    ),
    Flow(
        "decline-and-cancel",
        "Decline and cancel",
        "greet",
        "The person says no, or dismisses the question without deciding. Both are answers. `or_stop()` ends the call "
        "with a sentence for the model and, in `_meta`, a word for programs.",
        {"Decline": _call("greet", DECLINE), "Cancel": _call("greet", CANCEL)},
        {
            JUNE: "The client's answer has an `action` and no `content`.",
            NOVEMBER: "The client's answer has an `action` and no `content`.",
            JULY: "The action travels in `inputResponses`, and the call ends in its second round.",
        },
    ),
    Flow(
        "cannot-be-asked",
        "A client that cannot be asked",
        "greet",
        "The client did not declare `elicitation`, so nothing is sent to it. The tool gets `NotSupported`; when it "
        "does not catch that, the call ends like this. The [gateway](gateway.md) has the person asked all the same.",
        {"": _call_unasked},
        {
            JUNE: "A tool result that says what is missing, for the model to tell the person.",
            NOVEMBER: "A tool result that says what is missing, for the model to tell the person.",
            JULY: "Error -32021 with the capabilities that the request needs.",
        },
    ),
    Flow(
        "link",
        "A link",
        "checkout",
        "The person is sent to the browser. `accept` is consent to open the link, and says nothing about what "
        "happened there; the tool goes on when the shop's own web server calls `complete`.",
        {"": _pay},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The question has an `elicitationId`. When the person is done, the client that was asked gets "
            "`notifications/elicitation/complete`, then the result.",
            JULY: "No id and no notice. The retry is answered when the person is done.",
        },
    ),
    Flow(
        "link-first",
        "A link first",
        "receipts",
        "A tool cannot start before something was done in the browser: `ask.require`.",
        {"": _require},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The call ends with error -32042, which lists the links. When the completion notice came, or "
            "the person says that they are done, the client calls again.",
            JULY: "-32042 is gone: an input-required round like any other.",
        },
    ),
    Flow(
        "roots",
        "Roots",
        "folders",
        "Not a question to a person: which folders may the server use? The client answers by itself, as its user "
        "configured it.",
        {"": _tell_roots},
        {
            JUNE: "`roots/list`, a request of the server's.",
            NOVEMBER: "`roots/list`, a request of the server's.",
            JULY: "`roots/list` inside the round. Deprecated on this revision, and still there.",
        },
    ),
    Flow(
        "gateway",
        "Through the gateway",
        "greet",
        "The client cannot be asked, and the [gateway](../gateway.md) stands in between. This is the client's side "
        "of it: the call is held (45 seconds; here next to none), then parked. Meanwhile the person answers at the "
        "desk, which no message here shows. The model resumes with a ticket, which does not suffice to answer. "
        "`my notes` is what the user calls the server.",
        {"": _park},
        {
            JUNE: "Two ordinary tool calls.",
            NOVEMBER: "Two ordinary tool calls.",
            JULY: "Two ordinary tool calls.",
        },
    ),
)
"""Every flow, in reading order."""
