"""What the server kit needs of an SDK, in terms that every generation of it can serve.

An `Adapter` belongs to one server. It hands each request that may ask to our `Service` as an `IncomingRequest`. The
service runs the SDK's own handler through `IncomingRequest.handler()`, which gives the handler a context that can move
on to a later request of the same call.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from handraise.errors import HandraiseError, SetupError
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.wire import Capabilities

Result = Any
"""The wire result of a request: a dictionary, or an object of the SDK's that it makes one from."""

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods in which a server may ask (2026-07-28, input required)."""


class RequestFailed(Exception):
    """The client answered a request of ours with a JSON-RPC error, or with something that is no result."""

    def __init__(self, code: int | None, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ConnectionLost(Exception):
    """The connection ended before the client answered."""


@dataclass(frozen=True, slots=True)
class ClientName:
    """What a client calls itself."""

    name: str
    version: str | None = None


Identify = Callable[[Any], tuple[str, str] | None]
"""The author's function from the SDK's verified access token to the issuer and the subject; None for nobody."""


def identified(token: Any, identify: Identify, session_id: str) -> tuple[Person, str]:
    """The person whom the author's function names, and what every retry must have in common with the request."""
    found = identify(token)
    if found is None:
        person = Person("", session_id, "anonymous")
    elif _names_somebody(found):
        person = Person(*found, "token")
    else:
        raise SetupError(f"person= returns (issuer, subject), two texts, or None for nobody; not {found!r}")
    return person, f"{person.key} {token.client_id}"


def _names_somebody(found: object) -> bool:
    is_pair = isinstance(found, tuple) and len(found) == 2 and all(isinstance(each, str) for each in found)
    return is_pair and bool(found[1])  # type: ignore[index]


class RequestHandler(Protocol):
    """The SDK's handler of one call. Its context speaks for the request that is live now."""

    def run(self) -> Awaitable[Result]:
        """Run it, once."""
        ...

    def attach(self, request: IncomingRequest, variables: contextvars.Context | None) -> None:
        """Make `request` the live one: in the handler's context, its session, and its context variables."""
        ...

    def detach(self) -> None:
        """No request is live: let go of the last one. Notices of the handler go nowhere."""
        ...

    def refresh(self, variables: contextvars.Context | None) -> None:
        """Bring the live request's access token to the running task or thread, which may have an older copy."""
        ...

    async def keep_alive(self, message: str) -> None:
        """Send a progress notice, so that the client's timer does not run out."""
        ...


class IncomingRequest(Protocol):
    """A request of a client, or a session of a client outside of any request."""

    method: str
    """Empty outside of a request."""
    id: str | int | None
    params: Mapping[str, Any]
    revision: Revision
    can_be_asked: bool
    """False for a revision without elicitation, and where nothing leads back to the client."""

    @property
    def person(self) -> Person:
        """The verified caller, or the user of this machine, or an anonymous person for the connection."""
        ...

    @property
    def principal(self) -> str:
        """What every retry must have in common with this request: the person and their OAuth client."""
        ...

    @property
    def has_token(self) -> bool:
        """Whether the request came with a verified access token, also when the token does not say whose it is."""
        ...

    def identify(self, by: Identify) -> None:
        """Take the person from the author's function, where there is an access token."""
        ...

    @property
    def session_id(self) -> str:
        """The id of the transport's session, or nothing."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the client declared."""
        ...

    @property
    def client(self) -> ClientName | None:
        """What the client calls itself, if it says so."""
        ...

    @property
    def connection(self) -> dict[str, Any]:
        """A dictionary that lives as long as the connection. Empty for every request where there is none."""
        ...

    def handler(self, *, replay: bool = False) -> RequestHandler:
        """The SDK's handler of this request; for a replay without the members that make it a retry."""
        ...

    async def send_request(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send a request to the client on the stream of this request; its result.

        Raises `RequestFailed` and `ConnectionLost`. When it is cancelled, the client is told.
        """
        ...

    async def send_complete(self, elicitation_id: str, *, on_request: bool) -> None:
        """Tell the client that a URL question is finished, on the stream of this request or the connection's own."""
        ...

    @property
    def wants_progress(self) -> bool:
        """Whether the client sent a progress token."""
        ...


class Service(Protocol):
    """Our side of an installed server."""

    async def serve(self, request: IncomingRequest) -> Result:
        """Serve a request that may ask. Raises only what the adapter's `refusal` gave."""
        ...

    def meet(self, request: IncomingRequest) -> None:
        """A session began: questions outside of a request may go to it."""
        ...

    resumes: bool
    """Whether a call can go on after the process has ended: there is a durable store."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """While the server runs."""
        ...


class Adapter(Protocol):
    """One server of an SDK."""

    name: str
    lasting_name: str
    """Its name without a part that is new in each process."""

    def install(self, service: Service) -> None:
        """Hand every request that may ask to the service, and run it while the server runs."""
        ...

    def on_notice(self, method: str, heard: Callable[[IncomingRequest | None], None]) -> None:
        """Call a function with every notice of this method; with None where the SDK does not say whose it is."""
        ...

    def stamp(self, result: dict[str, Any], revision: Revision) -> dict[str, Any]:
        """A result of ours with what the SDK adds to its own."""
        ...

    def as_tool_error(self, error: HandraiseError) -> HandraiseError:
        """The same error, so that the framework shows its sentence to the model and reports no crash."""
        ...

    def as_protocol_error(self, error: HandraiseError, fault: Mapping[str, Any]) -> HandraiseError:
        """The same error, so that the framework sends it as this JSON-RPC error."""
        ...

    def refusal(self, fault: Mapping[str, Any]) -> Exception:
        """An exception that the SDK sends as this JSON-RPC error."""
        ...

    def fault_of(self, error: BaseException) -> dict[str, Any] | None:
        """The JSON-RPC error object that the SDK makes of an exception of its own; None for any other exception."""
        ...

    def is_wrapped(self, error: HandraiseError, by: BaseException) -> bool:
        """Whether the framework raised an exception of its own because this error left a handler."""
        ...

    async def annotations(self, tool: str) -> Mapping[str, Any] | None:
        """What a tool says about itself; None when it says nothing, or is not known."""
        ...

    async def handler_of(self, method: str, target: str) -> object:
        """The author's function that serves a request; None when it cannot be found."""
        ...

    one_handler: bool
    """Whether one function serves all tools, as on a lowlevel server."""

    def add_route(self, path: str, endpoint: Callable[..., Any]) -> bool:
        """Serve a web endpoint beside the server; False where the author has to mount it."""
        ...


_PART = 0.001
"""How much of what is left up to the author's total a notice of ours takes."""


class Progress:
    """How far the progress of one request is. Every notice says more than the one before.

    Our own notices count in whole steps. Up to a total that the author named there may be no room for that: then they
    take a small part of the rest. Where whole steps overtook the author, the author's progress and total move up
    together, by a whole number.
    """

    def __init__(self) -> None:
        self._sent = self._reported = -math.inf
        self._total = math.inf
        self._moved = 0

    def report(self, progress: float, total: float | None) -> tuple[float, float | None]:
        """The progress and the total to send for what the author reports."""
        grows, self._reported = progress > self._reported, progress
        value = progress + self._moved
        if grows and value <= self._sent:
            if self._total == math.inf:
                self._moved = math.floor(self._sent) + 1 - math.floor(progress)
                value = progress + self._moved
            else:
                value = self._more()
        if total is not None:
            total = self._total = total + self._moved
        self._sent = value
        return value, total

    def step(self) -> float | None:
        """The value of a notice of our own; None when there is no room below the author's total."""
        more = self._more()
        if more <= self._sent:
            return None
        self._sent = more
        return more

    def _more(self) -> float:
        sent = max(self._sent, 0.0)
        return math.floor(sent) + 1.0 if self._total == math.inf else sent + _PART * (self._total - sent)
