"""`ConsentClient`: the SDK's client for hosts that ask people, with exactly the declared modes.

`CallRunner` does the work around each call, for every client library: the desk can name the call, a -32042 is answered,
and while the person is in their browser they can say "done" or give up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from opentelemetry.trace import format_trace_id, get_current_span

from handraise.client.calls import CALL, HostCall
from handraise.client.consent import Consent
from handraise.client.roots import Folders
from handraise.errors import Stopped, UsageError, WireError
from handraise.questions import Accepted, UrlQuestion
from handraise.revisions import Revision
from handraise.sdk.client import (
    CONNECTION_CLOSED,
    Callbacks,
    Fault,
    claimed_name,
    completed_elicitation,
    fault_of,
    has_failed,
    open_client,
    protocol_error,
    questions_in,
    revision_of,
    tell_roots_changed,
    watch_rounds,
)
from handraise.wire import URL_REQUIRED, parse_trace, parse_url_required

if TYPE_CHECKING:
    from handraise.ledger.events import CallEnd


T = TypeVar("T")

MAX_RETRIES: Final = 3
"""How often the person may resend a retry."""

PATIENCE: Final = 0.5
"""Seconds before the desk offers anything: most retries do not wait for a browser."""

_GAVE_UP: Final = "The person stopped waiting for the browser, so the call was ended."

MAX_HANDSHAKES: Final = 3
"""How often one call may get a -32042."""


class ConsentClient:
    """A client for hosts that ask people, on any release of the SDK.

    It has every method of the SDK's client: of `mcp.Client` on mcp 2.x, of `ClientSession` on mcp 1.x. `options` are
    the SDK's, with `mode` ("auto", "legacy" or a revision) on both.
    """

    def __init__(self, target: Any, consent: Consent, **options: Any) -> None:
        self.consent = consent
        self._runner = CallRunner(
            consent, self, options.pop("message_handler", None), options.get("client_info")
        )
        callbacks = Callbacks(consent.__call__, consent.list_roots, self._runner.observe)
        self._client: Any = open_client(target, callbacks, consent.declare, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "_client":
            raise AttributeError(name)
        return getattr(self._client, name)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        watch_rounds(self._client.session, self._runner.send)
        if (claimed := self._client.server_info) is not None:
            self.consent.hear_claim(claimed.name, claimed.version)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        try:
            await self._client.__aexit__(*failure)
        finally:
            await self.consent.aclose()

    @property
    def session(self) -> Any:
        """The SDK's session."""
        return self._client.session

    async def change_roots(self, folders: Folders, *, allowed: bool = False) -> bool:
        """Change the roots; True when the server was told. `allowed`: the user chose them for this server."""
        return await self._runner.change_roots(folders, allowed=allowed)

    async def check_roots(self) -> bool:
        """Check whether the roots can still be read; True when that changed and the server was told."""
        return await self._runner.check_roots()

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Call a tool. After a -32042, ask for what is required and call again."""
        return await self._runner.call(
            "tools/call", self._client.call_tool, name, arguments, *args, **options
        )

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None, *args: Any, **options: Any
    ) -> Any:
        """Get a prompt. After a -32042, ask for what is required and try again."""
        return await self._runner.call(
            "prompts/get", self._client.get_prompt, name, arguments, *args, **options
        )

    async def read_resource(self, uri: str, *args: Any, **options: Any) -> Any:
        """Read a resource. After a -32042, ask for what is required and try again."""
        return await self._runner.call("resources/read", self._client.read_resource, uri, *args, **options)


class Connected(Protocol):
    """A connected client."""

    @property
    def session(self) -> Any:
        """Its SDK session."""
        ...


class CallRunner:
    """Runs the calls of a client: names them to the desk, answers a -32042, and waits for browsers."""

    def __init__(self, consent: Consent, client: Connected, observer: Any = None, host: Any = None) -> None:
        """`host` is the program itself, as it introduces itself to servers and in the ledger."""
        if host is not None:
            from handraise.ledger.events import ClientRecord  # a host without a ledger needs none of it

            consent.client = ClientRecord(host.name, host.version or None)
        self._consent = consent
        self._client = client
        self._observer = observer

    def serving(self, client: Connected) -> CallRunner:
        """A copy for another client of the same server."""
        other = copy(self)
        other._client = client
        return other

    async def call(
        self,
        method: str,
        send: Callable[..., Coroutine[Any, Any, T]],
        target: Any,
        *args: Any,
        **options: Any,
    ) -> T:
        """Make a call: `send(target, *args, **options)`. After a -32042, ask for what is required and make it again."""
        arguments = None if method == "resources/read" else next(iter(args), options.get("arguments"))
        call = HostCall(str(target), arguments or {}, method, _trace(options.get("meta")))
        request = partial(send, target, *args, **options)
        self._consent.calls.append(call)
        before = CALL.set(call)
        ended: CallEnd | None = None
        try:
            result = await self._with_handshakes(call, request)
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
        if roots is None or not roots.check() or not self._revision.legacy:
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

    async def _with_handshakes(self, call: HostCall, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request; after a -32042, again."""
        for _ in range(MAX_HANDSHAKES):
            try:
                return await self._request(call, request)
            except protocol_error() as error:
                if not await self._fulfil(call, fault_of(error)):
                    raise
        return await self._request(call, request)

    async def _request(self, call: HostCall, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make the request. On 2025-11-25 it may send the person to a browser while it waits."""
        if self._revision is not Revision.NOVEMBER_2025:
            return await request()
        return await wait_while_browsing(self._consent, call.in_browser, request())

    async def _fulfil(self, call: HostCall, fault: Fault) -> bool:
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


async def finish_in_browser(consent: Consent, link: UrlQuestion, finished: Coroutine[Any, Any, Any]) -> bool:
    """Wait until the server or the person says that a link is finished; False when the person gives up."""
    async with _started(consent.wait_in_browser(link)) as said, _started(finished) as noticed:
        await asyncio.wait({said, noticed}, return_when=asyncio.FIRST_COMPLETED)
        if noticed.done():
            await consent.flows.completed(link)
        return noticed.done() or said.result()


async def wait_while_browsing(
    consent: Consent, opened: asyncio.Queue[UrlQuestion], request: Coroutine[Any, Any, T]
) -> T:
    """Wait for a call that sends the person to a browser while it runs (2025-11-25); they can end it meanwhile."""
    async with _started(request) as made:
        while True:
            async with _started(opened.get()) as went:
                await asyncio.wait({made, went}, return_when=asyncio.FIRST_COMPLETED)
                if made.done():
                    return made.result()
            await _offer_to_end(consent, went.result(), made)


async def _offer_to_end(consent: Consent, link: UrlQuestion, made: asyncio.Task[Any]) -> None:
    """Offer to end the call until it is over, or the server or the person says that the link is finished."""
    finished = consent.flows.expect(link)
    try:
        async with _started(finished.wait()) as noticed:
            await asyncio.wait({made, noticed}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if made.done():
            return
        async with _started(finish_in_browser(consent, link, finished.wait())) as finishing:
            await asyncio.wait({made, finishing}, return_when=asyncio.FIRST_COMPLETED)
            if not made.done() and not finishing.result():
                raise Stopped(_GAVE_UP, action="cancel")
    finally:
        consent.flows.forget(link)


async def retry_while_browsing(
    consent: Consent, links: Sequence[UrlQuestion], send: Callable[[], Coroutine[Any, Any, T]]
) -> T:
    """Send the retry that waits for the browser (2026-07-28).

    The person may resend it ("done"), or end the call. The old retry is cancelled first:
    two retries at once could run a careless server's tool twice.
    """
    for left in range(MAX_RETRIES, -1, -1):
        async with _started(send()) as sent:
            again = await _said_done(consent, links, sent)
            while again and not left:  # nothing more is sent, but the person can still give up
                again = await _said_done(consent, links, sent)
            if not again:
                return sent.result()
    raise AssertionError("the last retry is waited for")


async def _said_done(consent: Consent, links: Sequence[UrlQuestion], sent: asyncio.Task[Any]) -> bool:
    """Offer "done" until the retry returns; True when the person says so, once for each link."""
    await asyncio.wait({sent}, timeout=PATIENCE)
    for link in links:
        if sent.done():
            return False
        async with _started(consent.wait_in_browser(link)) as said:
            await asyncio.wait({sent, said}, return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                return False
            if not said.result():
                raise Stopped(_GAVE_UP, action="cancel")
    return True


@asynccontextmanager
async def _started(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run work in a task, which is cancelled on exit."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
