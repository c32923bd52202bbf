"""Before a server hears of a call: the same call may wait already, and a guard of the user's may ask first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from handraise.errors import HandraiseError
from handraise.gateway.calls import Call
from handraise.gateway.links import Link, Place
from handraise.gateway.messages import Id, Message, nowhere
from handraise.gateway.sentences import RESUME, with_resume_tool

if TYPE_CHECKING:
    from handraise.gateway.guarded import Guarded
    from handraise.gateway.home import Home
    from handraise.gateway.parking.holding import Holding


class Entrance:
    """The way of a call to its server."""

    def __init__(
        self,
        home: Home,
        link: Link,
        holding: Holding,
        guarded: Guarded,
        forward: Callable[[Call], None],
        end: Callable[[Call, Message], None],
    ) -> None:
        self._home = home
        self._link = link
        self._holding = holding
        self._guarded = guarded
        self._forward = forward
        self._end = end
        self.calls: dict[Id, Call] = {}
        """What the server has not heard of yet."""
        self.note_tools = guarded.note_hints

    def take(self, call: Call) -> Coroutine[Any, Any, None] | None:
        """What is to be done about a request before it goes to its server; None when it may go at once."""
        method = call.message.method
        if method == "tools/list" and self._home.may_park(call.peer):
            return self._list_tools(call)
        if method == "tools/call" and (self._home.may_guard or self._home.serves(call.peer)):
            self.calls[call.key] = call
            return self._call(call)
        return None

    def take_again(self, call: Call, place: Place) -> Coroutine[Any, Any, None]:
        """What is to be done about a call whose guard had asked in a process that is gone."""
        self.calls[call.key] = call
        return self._pass(call, place, again=True)

    def leave(self, call: Call) -> None:
        """Its server hears of it now, or never."""
        self.calls.pop(call.key, None)

    async def _list_tools(self, call: Call) -> None:
        """List the tools, and ours with them where calls may be parked."""
        await self._read_guards(call)
        if self._home.may_park(call.peer):
            call.amend = with_resume_tool
        self._forward(call)

    async def _call(self, call: Call) -> None:
        """Take a call that may have to wait for its person, or one that waits for them already."""
        await self._read_guards(call)
        may_park = self._home.may_park(call.peer)
        if may_park and call.name == RESUME:
            await self._holding.resume(call)
        elif (place := await self._link.locate(call.message)) is None:
            self._end(
                call, nowhere(call.message.id)
            )  # a server that has it a moment later would not be guarded
        elif not (may_park and await self._holding.join(call)):
            await self._pass(call, place)
        self.leave(call)

    async def _read_guards(self, call: Call) -> None:
        """Find out whether there are guards. When they cannot be read, there may be: nothing passes them."""
        if not self._home.serves(call.peer):
            with contextlib.suppress(HandraiseError):
                await self._home.guards()

    async def _pass(self, call: Call, place: Place, *, again: bool = False) -> None:
        """Send a call to its server, unless a guard of the user's is for it and they did not say yes."""
        refused = await self._guarded.refusal(call, place, again=again)
        if refused is not None:
            self._end(call, refused)
        elif await self._holding.release(call):
            self._forward(call)
