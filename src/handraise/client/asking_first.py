"""What a client does around each call of a host's, whichever library it comes from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import mcp_types as types
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from opentelemetry.trace import format_trace_id, get_current_span

from handraise.client.browsing import finish_in_browser, retry_while_browsing, wait_while_browsing
from handraise.client.calls import CALL, Call
from handraise.client.consent import Consent
from handraise.client.roots import Folders
from handraise.errors import UsageError, WireError
from handraise.questions import Accepted, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import URL_REQUIRED, parse_trace, parse_url_required

if TYPE_CHECKING:
    from handraise.ledger.events import Ended

T = TypeVar("T")

MAX_HANDSHAKES: Final = 3
"""How often one call may be told that something is required first."""

Send = Callable[[types.InputResponses | None, str | None], Coroutine[Any, Any, T]]


class Connected(Protocol):
    """A client that is connected."""

    @property
    def session(self) -> ClientSession: ...


class AskingFirst:
    """Names the calls of a client to the desk, runs the -32042 handshake, and waits for browsers."""

    def __init__(
        self,
        consent: Consent,
        client: Connected,
        observer: Any = None,
        host: types.Implementation | None = None,
    ) -> None:
        """`host` is the program itself, as it introduces itself to servers and in the ledger."""
        if host is not None:
            from handraise.ledger.events import Client as Program  # a host without a ledger needs none of it

            consent.client = Program(host.name, host.version or None)
        self._consent = consent
        self._client = client
        self._observer = observer

    def serving(self, client: Connected) -> AskingFirst:
        """The same, for another client of the same server."""
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
        """Make a call; what is required first is asked for, then it is made again. `meta` is the request's `_meta`."""
        call = Call(name, arguments or {}, method, _trace(meta))
        self._consent.calls.append(call)
        before = CALL.set(call)
        ended: Ended | None = None
        try:
            result = await self._met(call, request)
            ended = "error" if getattr(result, "is_error", False) else "result"
        except asyncio.CancelledError:
            ended = "cancelled"
            raise
        except MCPError as error:
            ended = None if error.code == types.CONNECTION_CLOSED else "error"
            raise
        finally:
            CALL.reset(before)
            self._consent.calls.remove(call)
            call.end(ended)
        return result

    def retrying(self, first: Any, retry: Send[T]) -> Send[T]:
        """A retry of 2026-07-28 that knows which links the person went to in its round."""
        call, rounds = CALL.get(), 1

        async def send(responses: types.InputResponses | None, state: str | None) -> T:
            nonlocal rounds
            links = list(call.opened) if call is not None else []
            if links:
                result = await retry_while_browsing(self._consent, links, lambda: retry(responses, state))
            else:
                result = await retry(responses, state)
            rounds += 1
            _begin_round(call, rounds, result)
            return result

        _begin_round(call, rounds, first)
        return send

    async def change_roots(self, folders: Folders, *, allowed: bool) -> bool:
        """Have another set of roots; True when the server was told so."""
        if self._consent.roots is None:
            raise UsageError("roots were not declared; give Consent(roots=…), an empty list for none yet")
        self._consent.roots.change(folders, allowed=allowed)
        return await self.check_roots()

    async def check_roots(self) -> bool:
        """Look whether the roots can still be reached, and tell a legacy server when that changed."""
        roots = self._consent.roots
        if roots is None or not roots.look() or not self._revision.legacy:
            return False
        await self._client.session.send_notification(types.RootsListChangedNotification())
        return True

    async def observe(self, message: Any) -> None:
        """Hear completion notices; ids that nobody here was asked about are ignored."""
        if isinstance(message, types.ElicitCompleteNotification):
            self._consent.flows.noticed(message.params.elicitation_id)
        if self._observer is not None:
            await self._observer(message)

    @property
    def _revision(self) -> Revision:
        return Revision(str(self._client.session.protocol_version))

    async def _met(self, call: Call, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request, and again after what it says has to come first."""
        for _ in range(MAX_HANDSHAKES):
            try:
                return await self._made(call, request)
            except MCPError as error:
                if not await self._meet(call, error):
                    raise
        return await self._made(call, request)

    async def _made(self, call: Call, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request. On 2025-11-25 it may send the person to a browser while it waits."""
        if self._revision is not Revision.NOVEMBER_2025:
            return await request()
        return await wait_while_browsing(self._consent, call.in_browser, request())

    async def _meet(self, call: Call, error: MCPError) -> bool:
        """Do what a -32042 says has to come first; False when it says nothing we may do, or the person will not."""
        revision = self._revision
        if (
            error.code != URL_REQUIRED
            or revision is not Revision.NOVEMBER_2025
            or "url" not in self._consent.modes
        ):
            return False
        try:
            questions = parse_url_required(error.data)
        except WireError:
            return False
        for question in questions:
            if not await self._finish(call, question, revision):
                return False
        return True

    async def _finish(self, call: Call, question: UrlQuestion, revision: Revision) -> bool:
        """Have one link consented to and finished. Who is asked for the same one again says at once that it is."""
        again, finished = question.url in call.agreed, self._consent.flows.expect(question)
        try:
            decision = await self._consent.ask(question, revision)
            if again or not isinstance(decision.answer, Accepted):
                return isinstance(decision.answer, Accepted)
            return await finish_in_browser(self._consent, question, finished.wait())
        finally:
            self._consent.flows.forget(question)


def _trace(meta: Any) -> str | None:
    """The trace of the host's own span, which the SDK writes over what `meta` says; else the one that `meta` names."""
    span = get_current_span().get_span_context()
    return format_trace_id(span.trace_id) if span.is_valid else parse_trace(meta)


def _begin_round(call: Call | None, number: int, result: Any) -> None:
    if call is not None and isinstance(result, types.InputRequiredResult):
        requests = (result.input_requests or {}).values()
        call.begin_round(number, sum(isinstance(each, types.ElicitRequest) for each in requests))
