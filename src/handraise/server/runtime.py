"""What an installed server has of its own while it runs."""

from __future__ import annotations

import logging
import secrets
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp_types import SERVER_INFO_META_KEY

from handraise.conversation import Lot, Store, Terms
from handraise.errors import HandraiseError, UsageError
from handraise.revisions import Revision
from handraise.server.endings import describe
from handraise.server.flows import Flows
from handraise.server.opened import let_go, reach
from handraise.server.rebind import scratch_of
from handraise.wire import dump_input_required

if TYPE_CHECKING:
    from handraise.server.hosted_at import Hosting
    from handraise.server.hosting import PageHost
    from handraise.server.middleware import Carrier
    from handraise.server.recording import Recorder
    from handraise.server.registered import Registered

logger = logging.getLogger(__name__)

_OWN = "handraise/runtime"
"""Where a connection has the runtime of its server."""


@dataclass(frozen=True, slots=True)
class Options:
    """How questions are asked on one server."""

    timeout: float
    hold: float
    keep_awake: float
    max_questions: int
    max_reasks: int


@runtime_checkable
class Keyed(Protocol):
    """A store with keys, which all who share it have."""

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for a purpose of its own: the same for all, and found out by nobody else."""
        ...


class Runtime:
    """What an installed server has of its own: its conversations, its flows, its options."""

    def __init__(
        self,
        server: Server[Any],
        name: str,
        options: Options,
        store: Store,
        terms: Terms,
        tool_error: type[Exception] | None,
        hosting: Hosting,
        tools: Registered,
        recorder: Recorder | None = None,
        *,
        own_store: bool = False,
    ) -> None:
        self.name = name
        """What its rounds are bound to: the same on all nodes of this server, and after a restart."""
        self.options = options
        self.tools = tools
        self.recorder = recorder
        """What keeps the ledger, if there is one."""
        self.flows: Flows = Flows(store)
        self._stamp = server.server_info_stamp
        wire = partial(dump_input_required, meta={SERVER_INFO_META_KEY: dict(self._stamp)})
        self.lot: Lot = Lot(store, terms, wire=wire, describe=describe)
        if recorder is not None and recorder.shares:
            self.lot.tell_asked = recorder.sending
        self.tool_error = tool_error
        """What the framework around tools shows to the model instead of reporting a crash."""
        self.carriers: list[Carrier] = []
        self.id_key: bytes = secrets.token_bytes(32)
        """What question ids are made with, so that the same request dispatched twice asks the same question.

        A store with keys gives one when the server starts, so that this holds for all who share the store.
        """
        self._running = 0
        self._turning = anyio.Lock()
        """Held by whoever starts or stops it: who comes meanwhile waits, and finds it running or stopped."""
        self._own_store = own_store
        """Whether nobody else closes the store."""
        self.hosting = hosting

    @cached_property
    def pages(self) -> PageHost:
        """Where this server's pages are; loaded when the first one is needed."""
        from handraise.server.hosting import PageHost

        return PageHost(self.hosting, self.flows, self.recorder)

    def stamped(self, result: dict[str, Any], revision: Revision) -> dict[str, Any]:
        """A result that did not pass the SDK's own serializer, with what that would have added."""
        if revision.modern:
            result.setdefault("resultType", "complete")
            result["_meta"] = {**result.get("_meta", {}), SERVER_INFO_META_KEY: dict(self._stamp)}
        return result

    def begin(self, session: ServerSession) -> None:
        """A legacy session begins at this server."""
        scratch_of(session)[_OWN] = self

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Counted, because every connection in memory enters the server's lifespan anew."""
        async with self._turning:
            if self._running == 0:
                await self._start()
            self._running += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.lot.see_off()  # before what their connection has is closed
                async with self._turning:
                    self._running -= 1
                    if self._running == 0:
                        await self._stop()

    async def _start(self) -> None:
        """Reach what the server needs. When that fails nothing is left of it, and it can be started again."""
        store = self.lot.store
        await reach(store, own=self._own_store)
        try:
            if isinstance(store, Keyed):
                self.id_key = await store.secret_for("handraise/questions")
            if self.recorder is not None:
                await self.recorder.start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._stop()
            raise
        self.lot.open()

    async def _stop(self) -> None:
        """Let go of everything, also when some of it fails: the next thing may be a lock that others wait for."""
        steps = [self.flows.close, self.lot.close]
        if "pages" in self.__dict__:
            steps.append(self.pages.close)
        if self.recorder is not None:
            steps.append(self.recorder.close)
        steps.append(partial(let_go, self.lot.store, own=self._own_store))
        for step in steps:
            try:
                await step()
            except Exception as error:
                logger.error("a part of the server could not be closed: %s", error, exc_info=not _told(error))


def _told(error: Exception) -> bool:
    """Whether the message of an error says what happened."""
    return isinstance(error, HandraiseError)


RUNTIMES: weakref.WeakKeyDictionary[Server[Any], Runtime] = weakref.WeakKeyDictionary()
"""Of every server that Handraise is installed in."""


def runtime_for(session: ServerSession) -> Runtime:
    """The runtime of the server that a legacy session began at, which a question on it follows.

    One that began without us ever seeing it follows the only runtime there is.
    """
    own: Runtime | None = scratch_of(session).get(_OWN)
    if own is not None:
        return own
    known = list(RUNTIMES.values())
    if not known:
        raise UsageError("no server has Handraise installed; call Handraise().install(server) first")
    if len(known) > 1:
        raise UsageError("this session began at no server that Handraise is installed in; install it there")
    return known[0]
