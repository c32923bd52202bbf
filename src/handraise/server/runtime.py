"""The runtime of an installed server."""

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

from handraise.calls import CallLimits, Calls, RoundRecord, Store
from handraise.errors import AnswerNotKept, HandraiseError, StoreError, UsageError
from handraise.forms import Limits
from handraise.revisions import Revision
from handraise.sdk.adapter import Adapter, Identify, IncomingRequest, Result
from handraise.sdk.choose import session_request
from handraise.server.flows import Flows
from handraise.server.replay import serves
from handraise.server.served import ServedCall, fault_of
from handraise.wire import dump_input_required

if TYPE_CHECKING:
    from handraise.pages import Pages
    from handraise.server.pages_host import PageHost
    from handraise.server.recording import Recorder

logger = logging.getLogger(__name__)

_RUNTIME = "handraise runtime"
"""The key of the runtime in a connection's state."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the author of a server chose. `Handraise` describes each option."""

    store: Store
    calls: CallLimits
    timeout: float
    hold: float
    keep_awake: float
    max_questions: int
    max_reasks: int
    size: Limits
    """How large a question may be."""
    own_store: bool
    """Whether we close the store."""
    identify: Identify | None
    """The author's function from an access token to its person."""
    public_url: str | None
    pages: Pages | None


@runtime_checkable
class Keyed(Protocol):
    """A store with keys that are shared by everybody who uses the store."""

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for a purpose of its own, the same for everybody who shares the store."""


class Runtime:
    """An installed server: its calls, its flows, its options."""

    def __init__(self, adapter: Adapter, options: ServerOptions, recorder: Recorder | None = None) -> None:
        self.adapter = adapter
        self.name: str = adapter.lasting_name
        """The name that rounds are bound to: the same on all nodes, and after a restart."""
        self.options = options
        self.recorder = recorder
        """Writes the ledger, if there is one."""
        store = options.store
        self.flows: Flows = Flows(store)
        self.calls: Calls = Calls(store, options.calls, dump_round=self._dump_round, describe=self._describe)
        self.resumes: bool = store.durable
        """Whether calls outlive this process."""
        self.id_key: bytes = secrets.token_bytes(32)
        """The key of question ids, so that the same request dispatched twice asks the same question.

        A store with keys gives one when the server starts, so that this holds on all nodes.
        """
        self._running = 0
        self._turning = anyio.Lock()
        """Held during start and stop, so that connections wait meanwhile."""

    @cached_property
    def pages(self) -> PageHost:
        """This server's pages; loaded when the first one is needed."""
        from handraise.server.pages_host import PageHost

        return PageHost(self)

    # Serving.

    async def serve(self, request: IncomingRequest) -> Result:
        """Serve a request that may ask: a new call, or a retry."""
        try:
            self.identify(request)
            return await ServedCall(self, request).serve()
        except HandraiseError as error:
            told = AnswerNotKept(str(error)) if type(error) is StoreError else error
            raise self.refusal(told, request.revision) from error

    def identify(self, request: IncomingRequest) -> None:
        """Take the person from the author's function, if there is one."""
        if self.options.identify is not None:
            request.identify(self.options.identify)

    async def may_replay(self, record: RoundRecord) -> bool:
        """Whether the handler that asked is still there, and is replayable."""
        bound, handler = record.binding, record.handler
        return handler is not None and await serves(self.adapter, bound.method, bound.target, handler)

    def meet(self, request: IncomingRequest) -> None:
        """Remember a new session, for questions outside a request."""
        request.connection[_RUNTIME] = self

    def refusal(self, error: HandraiseError, revision: Revision) -> Exception:
        """The exception that sends an error as JSON-RPC; its reason goes to the log."""
        if (fault := self.adapter.fault_of(error)) is None:
            logger.warning("%s: %s", error.code, error)
            fault = fault_of(error, revision)
        return self.adapter.refusal(fault)

    def _describe(self, error: BaseException) -> dict[str, Any]:
        return self.adapter.fault_of(error) or fault_of(error)

    def _dump_round(self, requests: Any, token: str) -> dict[str, Any]:
        return self.adapter.stamp(dump_input_required(requests, token), Revision.JULY_2026)

    # Starting and stopping.

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Counted, because every in-memory connection enters the server's lifespan again."""
        async with self._turning:
            if self._running == 0:
                await self._start()
            self._running += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.calls.join_left()  # before their connection is closed
                async with self._turning:
                    self._running -= 1
                    if self._running == 0:
                        await self._stop()

    async def _start(self) -> None:
        """Open the store, the ledger and the rest. A failure closes everything, and a new start is possible."""
        store = self.calls.store
        await _open_store(store, own=self.options.own_store)
        try:
            if isinstance(store, Keyed):
                self.id_key = await store.secret_for("handraise/questions")
            if self.recorder is not None:
                await self.recorder.start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._stop()
            raise
        self.calls.open()
        self.flows.start()

    async def _stop(self) -> None:
        """Close everything, even if some of it fails: the next part may hold a lock."""
        steps = [self.flows.close, self.calls.close]
        if "pages" in self.__dict__:
            steps.append(self.pages.close)
        if self.recorder is not None:
            steps.append(self.recorder.close)
        steps.append(partial(_close_store, self.calls.store, own=self.options.own_store))
        for step in steps:
            try:
                await step()
            except Exception as error:
                unknown = not isinstance(error, HandraiseError)
                logger.error("a part of the server could not be closed: %s", error, exc_info=unknown)


RUNTIMES: weakref.WeakSet[Runtime] = weakref.WeakSet()
"""The runtimes of all servers that Handraise is installed in."""


def session_call(session: object) -> ServedCall:
    """A call for a legacy session outside any request. Its questions use the connection's own stream."""
    request = session_request(session)
    if request.revision.modern:
        raise UsageError("on 2026-07-28 a question needs a request that it belongs to")
    runtime = _runtime_of(request)
    runtime.identify(request)
    return ServedCall(runtime, request)


def _runtime_of(request: IncomingRequest) -> Runtime:
    """The runtime of a session's server. For an unknown session, the only runtime."""
    own: Runtime | None = request.connection.get(_RUNTIME)
    if own is not None:
        return own
    known = list(RUNTIMES)
    if not known:
        raise UsageError("no server has Handraise installed; call Handraise().install(server) first")
    if len(known) > 1:
        raise UsageError("this session began at no server that Handraise is installed in; install it there")
    return known[0]


_USERS: weakref.WeakKeyDictionary[Store, int] = weakref.WeakKeyDictionary()
"""How many servers run on each store that was opened for them."""


async def _open_store(store: Store, *, own: bool) -> None:
    """Open a store for a server that starts. A store that cannot be used is closed."""
    if own:
        _USERS[store] = _USERS.get(store, 0) + 1
    try:
        await store.open()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _close_store(store, own=own)
        raise


async def _close_store(store: Store, *, own: bool) -> None:
    """Close a store with its last server, so that other nodes do not wait for this one."""
    if own:
        _USERS[store] -= 1
        if not _USERS[store]:
            await store.aclose()
