"""The work around each call of a host, for every client library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from opentelemetry.trace import format_trace_id, get_current_span

from handraise.client.browsing import finish_in_browser, retry_while_browsing, wait_while_browsing
from handraise.client.calls import CALL, HostCall
from handraise.client.consent import Consent
from handraise.client.roots import Folders
from handraise.errors import UsageError, WireError
from handraise.questions import Accepted, UrlQuestion
from handraise.revisions import Revision
from handraise.sdk.client import (
    CONNECTION_CLOSED,
    Fault,
    claimed_name,
    completed_elicitation,
    fault_of,
    has_failed,
    protocol_error,
    questions_in,
    revision_of,
    tell_roots_changed,
)
from handraise.wire import URL_REQUIRED, parse_trace, parse_url_required

if TYPE_CHECKING:
    from handraise.ledger.events import CallEnd

T = TypeVar("T")

MAX_HANDSHAKES: Final = 3
"""How often one call may get a -32042."""


class Connected(Protocol):
    """A connected client."""

    @property
    def session(self) -> Any:
        """Its SDK session."""
        ...


class AskingFirst:
    """Names the calls of a client to the desk, runs the -32042 handshake, and waits for browsers."""

    def __init__(self, consent: Consent, client: Connected, observer: Any = None, host: Any = None) -> None:
        """`host` is the program itself, as it introduces itself to servers and in the ledger."""
        if host is not None:
            from handraise.ledger.events import (
                ClientRecord as Program,  # a host without a ledger needs none of it
            )

            consent.client = Program(host.name, host.version or None)
        self._consent = consent
        self._client = client
        self._observer = observer

    def serving(self, client: Connected) -> AskingFirst:
        """The same for another client of the server."""
        other = copy(self)
        other._client = client
        return other

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        request: Callable[[], Coroutine[Any, Any, T]],
        method: str = "tools/call",
        meta: Any = None,
    ) -> T:
        """Make a call. After a -32042, ask for what is required and make it again. `meta`: the request's `_meta`."""
        call = HostCall(name, arguments or {}, method, _trace(meta))
        self._consent.calls.append(call)
        before = CALL.set(call)
        ended: CallEnd | None = None
        try:
            result = await self._met(call, request)
            ended = "error" if has_failed(result) else "result"
        except asyncio.CancelledError:
            ended = "cancelled"
            raise
        except protocol_error() as error:
            ended = None if fault_of(error).code == CONNECTION_CLOSED else "error"
            raise
        finally:
            CALL.reset(before)
            self._consent.calls.remove(call)
            call.end(ended)
        return result

    async def send(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Send one request of a call of 2026-07-28. A retry knows which links the person went to in its round."""
        call = CALL.get()
        if call is None or self._revision.legacy:
            return await request()
        if call.opened:
            result = await retry_while_browsing(self._consent, list(call.opened), request)
        else:
            result = await request()
        if (questions := questions_in(result)) is not None:
            call.begin_round(call.rounds + 1, questions)
            if (claimed := claimed_name(result)) is not None:
                self._consent.hear_claim(*claimed)
        return result

    async def change_roots(self, folders: Folders, *, allowed: bool) -> bool:
        """Change the roots; True when the server was told."""
        if self._consent.roots is None:
            raise UsageError("roots were not declared; give Consent(roots=…), an empty list for none yet")
        self._consent.roots.change(folders, allowed=allowed)
        return await self.check_roots()

    async def check_roots(self) -> bool:
        """Check whether the roots can still be read, and tell a legacy server when that changed."""
        roots = self._consent.roots
        if roots is None or not roots.look() or not self._revision.legacy:
            return False
        await tell_roots_changed(self._client.session)
        return True

    async def observe(self, message: Any) -> None:
        """Handle completion notices; unknown ids are ignored."""
        if (completed := completed_elicitation(message)) is not None:
            self._consent.flows.noticed(completed)
        if self._observer is not None:
            await self._observer(message)

    @property
    def _revision(self) -> Revision:
        return revision_of(self._client.session)

    async def _met(self, call: HostCall, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request; after a -32042, again."""
        for _ in range(MAX_HANDSHAKES):
            try:
                return await self._made(call, request)
            except protocol_error() as error:
                if not await self._meet(call, fault_of(error)):
                    raise
        return await self._made(call, request)

    async def _made(self, call: HostCall, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request. On 2025-11-25 it may send the person to a browser while it waits."""
        if self._revision is not Revision.NOVEMBER_2025:
            return await request()
        return await wait_while_browsing(self._consent, call.in_browser, request())

    async def _meet(self, call: HostCall, fault: Fault) -> bool:
        """Ask for what a -32042 requires; False when it requires nothing we can do, or the person refuses."""
        revision = self._revision
        if (
            fault.code != URL_REQUIRED
            or revision is not Revision.NOVEMBER_2025
            or "url" not in self._consent.modes
        ):
            return False
        try:
            questions = parse_url_required(fault.data)
        except WireError:
            return False
        for question in questions:
            if not await self._finish(call, question, revision):
                return False
        return True

    async def _finish(self, call: HostCall, question: UrlQuestion, revision: Revision) -> bool:
        """Get consent for one link and wait until it is finished. For a repeated link "done" is offered at once."""
        again, finished = question.url in call.agreed, self._consent.flows.expect(question)
        try:
            decision = await self._consent.ask(question, revision)
            if again or not isinstance(decision.answer, Accepted):
                return isinstance(decision.answer, Accepted)
            return await finish_in_browser(self._consent, question, finished.wait())
        finally:
            self._consent.flows.forget(question)


def _trace(meta: Any) -> str | None:
    """The trace of the host's current span, which the SDK prefers; else the one in `meta`."""
    span = get_current_span().get_span_context()
    return format_trace_id(span.trace_id) if span.is_valid else parse_trace(meta)
