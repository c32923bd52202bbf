"""Calls that wait for a person whom their client cannot ask: hold them, park them, take them up again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from handraise.gateway.calls import Call
from handraise.gateway.messages import Message, fault, made, notice, response
from handraise.gateway.parked import Binding, Parked

if TYPE_CHECKING:
    from handraise.conversation.tickets import Ticket
    from handraise.gateway.home import Home

RESUME: Final = "handraise_resume"
BEAT: Final = 10.0
"""Seconds between two notices that a call is still alive."""
SERVER_FAULT: Final = -32000

_RESUME_TOOL: Final[dict[str, Any]] = {
    "name": RESUME,
    "title": "Resume a call that waits for the user",
    "description": (
        "Get the result of an earlier tool call that waits for the user to answer a question at their Handraise desk. "
        "Call it with the ticket from that call's result after the user said that they answered. It cannot answer "
        "the question."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"ticket": {"type": "string", "description": "The ticket from the earlier result."}},
        "required": ["ticket"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}

WAITING: Final = (
    "This call waits for the user. The server {server!r} asks something that only the user may answer, at their "
    "Handraise desk; {where}. Nothing is decided yet. Tell the user that a question waits. When "
    "they say that they answered, call the tool `handraise_resume` with the ticket {ticket!r} to get the result. "
    "Do not answer for them, and do not make the call again."
)
NO_TICKET: Final = (
    "There is no call with this ticket: it ended long ago, belongs to somebody else, or never was. Nothing was done. "
    "If the user still wants it, make the original call again."
)
AMBIGUOUS: Final = (
    "The server {server!r} ended while the user was being asked. Whether it had done anything before is not known; "
    "the call was not made again. Check with the user before you repeat it."
)
LOST: Final = "The server {server!r} ended before it answered. The call was not made again."

Run = Callable[[Coroutine[Any, Any, None], Call], object]


class Holding:
    """Holds calls with signs of life, then parks them under a ticket."""

    def __init__(
        self,
        home: Home,
        bind: Callable[[Call], Binding],
        server_of: Callable[[Call], str],
        revive: Callable[[Ticket, str], Awaitable[Parked]],
    ) -> None:
        self._home = home
        self._bind = bind
        self._server_of = server_of
        self._revive = revive
        self.waiting: set[asyncio.Future[Message]] = set()
        """The parked calls that still wait."""

    @contextmanager
    def holding(self, calls: Sequence[Call]) -> Iterator[None]:
        """While a question waits at our desk because of these calls."""
        for call in calls:
            call.open += 1
            if call.held is None and call.parked is None and call.port is not None:
                call.held = asyncio.ensure_future(self._hold(call))
        try:
            yield
        finally:
            for call in calls:
                call.open -= 1
                if call.open == 0 and call.held is not None:
                    call.held.cancel()
                    call.held = None

    def join(self, call: Call, run: Run) -> bool:
        """Whether the same call waits for its person already: then this one waits with it."""
        parked = self._home.parked.same(self._bind(call)) if len(self._home.parked) else None
        if parked is None:
            return False
        run(self._wait(call, parked), call)
        return True

    async def resume(self, call: Call) -> None:
        """Answer a call of the `handraise_resume` tool."""
        ticket, person = str(call.arguments.get("ticket")), self._bind(call).person
        parked = self._home.parked.find(ticket, person)
        if parked is not None:
            await self._wait(call, parked)
        else:
            call.answer(await self._from_store(call, ticket, person) or _told(call, NO_TICKET, failed=True))

    async def _from_store(self, call: Call, ticket: str, person: str) -> Message | None:
        """What became of a call of another process's; None when there is no such call."""
        keeper = (await self._home.asking()).keeper
        found = None if keeper is None else await keeper.find(ticket, person)
        if keeper is None or found is None:
            return None
        if found.outcome is not None:
            return made(found.outcome)
        match await keeper.take(found):
            case "taken":
                parked = await self._revive(found, ticket)
                return await self._outcome(call, asyncio.shield(parked.settled)) or self._waiting(
                    call, found.server, ticket
                )
            case "elsewhere":
                waiting = asyncio.ensure_future(keeper.wait_elsewhere(found.key))
                return await self._outcome(call, waiting) or self._waiting(call, found.server, ticket)
            case "ambiguous":
                told = _told(call, AMBIGUOUS.format(server=found.server), failed=True)
                await keeper.end(found.key, told)
                return told

    def settle(self, call: Call, message: Message) -> None:
        """The call came to its end."""
        if call.held is not None:
            call.held.cancel()
        if call.parked is None:
            call.answer(message)
        else:
            self._home.parked.settle(call.parked, message)

    def lost(self, call: Call) -> Message:
        """What a call is told whose server is gone."""
        text = (AMBIGUOUS if call.open or call.parked else LOST).format(server=self._server_of(call))
        return _told(call, text, failed=True)

    async def _hold(self, call: Call) -> None:
        await self._alive(call, call.began + self._home.options.hold)
        parked = await self.park(call)
        call.answer(self._waiting(call, parked.binding.server, parked.ticket))
        call.port = call.held = None

    async def park(self, call: Call, ticket: str | None = None) -> Parked:
        """Give a call a ticket. It is in the store before anybody hears of it."""
        parked = self._home.parked.park(call, self._bind(call), ticket)
        self.waiting.add(parked.settled)
        parked.settled.add_done_callback(self.waiting.discard)
        if (keeper := self._home.keeper) is not None and ticket is None:
            await keeper.open(parked, call, self._home.options.wait)
        elif keeper is not None:
            keeper.follow(parked)
        return parked

    async def _wait(self, call: Call, parked: Parked) -> None:
        """Wait for a parked call on behalf of another one."""
        outcome = await self._outcome(call, asyncio.shield(parked.settled))
        call.answer(outcome or self._waiting(call, parked.binding.server, parked.ticket))

    async def _outcome(self, call: Call, settled: asyncio.Future[Message]) -> Message | None:
        """How a parked call ends, if it does so while the client of this one is patient."""
        alive = asyncio.ensure_future(self._alive(call, call.began + self._home.options.hold))
        both: set[asyncio.Future[Any]] = {alive, settled}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return settled.result() if settled.done() else None
        finally:
            alive.cancel()
            settled.cancel()

    def _waiting(self, call: Call, server: str, ticket: str) -> Message:
        where = self._home.options.where
        return _told(call, WAITING.format(server=server, ticket=ticket, where=where))

    async def _alive(self, call: Call, until: float) -> None:
        """Send a sign of life now and then, on the caller's own token."""
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, BEAT))
            if call.token is not None and call.port is not None and until - time.monotonic() > 0:
                call.progress += 0.001
                told = {"progressToken": call.token, "progress": call.progress}
                call.port.send(notice("notifications/progress", {**told, "message": "Waiting for the user."}))


def with_resume_tool(message: Message) -> Message:
    """The list of tools for a client whose person we ask.

    A result that says "this waits" fits no output schema, so that such a client is told of none.
    """
    result = message.result or {}
    tools = result.get("tools")
    if not isinstance(tools, list):
        return message
    kept = [
        {name: value for name, value in tool.items() if name != "outputSchema"}
        for tool in tools
        if isinstance(tool, dict) and tool.get("name") != RESUME
    ]
    ours = [] if result.get("nextCursor") else [_RESUME_TOOL]
    return message.with_(result={**result, "tools": [*kept, *ours]})


def _told(call: Call, text: str, *, failed: bool = False) -> Message:
    """A sentence as the end of a call."""
    if call.message.method != "tools/call":
        return fault(call.message.id, SERVER_FAULT, text)
    modern = {"resultType": "complete"} if call.peer is not None and call.peer.modern else {}
    return response(
        call.message.id, {**modern, "content": [{"type": "text", "text": text}], "isError": failed}
    )
