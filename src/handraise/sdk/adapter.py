"""The interface between the server kit and an SDK, for every generation.

An `Adapter` belongs to one server. It passes each request that may ask to our `Service` as an `IncomingRequest`. The
service runs the SDK's own handler through `IncomingRequest.handler()`, whose context can move on to a later request
of the same call.
"""

from __future__ import annotations

import contextvars
import math
import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, Protocol

from pydantic_core import to_jsonable_python

from handraise.errors import HandraiseError, SetupError, sentence
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.sdk import private
from handraise.wire import Capabilities

Result = Any
"""The wire result of a request: a dictionary, or the SDK's own object."""

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods in which a server may ask (2026-07-28, input required)."""


class RequestFailed(Exception):
    """The client answered our request with a JSON-RPC error, or with something that is not a result."""

    def __init__(self, code: int | None, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ConnectionLost(Exception):
    """The connection ended before the client answered."""


@dataclass(frozen=True, slots=True)
class ClientName:
    """The name and version that a client claims."""

    name: str
    version: str | None = None


Identify = Callable[[Any], tuple[str, str] | None]
"""The author's function from the SDK's verified access token to the issuer and the subject; None for nobody."""


@cache
def mixed(ours: type[HandraiseError], theirs: type[Exception]) -> type[HandraiseError]:
    """One of our error classes that is also one of the framework's, which shows its sentence."""
    namespace = {"__str__": sentence, "__module__": ours.__module__, "__doc__": ours.__doc__}
    return type(ours.__name__, (ours, theirs), namespace)


def without_made_up_part(name: str, kind: str) -> str:
    """A FastMCP server's name that stays the same: FastMCP makes up the end of the name of a server without one."""
    return kind if re.fullmatch(f"{kind}-[0-9a-f]{{4}}", name) else name


class RequestHandler(Protocol):
    """The SDK's handler of one call. Its context speaks for the request that is live now."""

    def run(self) -> Awaitable[Result]:
        """Run it, once."""

    def attach(self, request: IncomingRequest, variables: contextvars.Context | None) -> None:
        """Make `request` the live request in the handler's context, session and context variables."""

    def detach(self) -> None:
        """Release the last request: no request is live, and the handler's notices are dropped."""

    def refresh(self, variables: contextvars.Context | None) -> None:
        """Set the live request's access token in the running task or thread, which may have an older copy."""

    async def keep_alive(self, message: str) -> None:
        """Send a progress notice, so that the client's timer does not run out."""


class IncomingRequest(ABC):
    """A client's request, or a client's session outside any request."""

    method: str
    """Empty outside of a request."""
    id: str | int | None
    params: Mapping[str, Any]
    revision: Revision
    can_be_asked: bool
    """False for a revision without elicitation, or if there is no way back to the client."""
    person: Person
    """The verified caller, else the user of this computer, else an anonymous person for the connection."""
    token: Any
    """The SDK's verified access token, or None."""
    session_id: str
    """The id of the transport's session, or empty."""

    @cached_property
    def principal(self) -> str:
        """The person and their OAuth client, which every retry must share."""
        return f"{self.person.key} {'' if self.token is None else self.token.client_id}"

    def identify(self, by: Identify) -> None:
        """Take the person from the author's function, if there is an access token."""
        if self.token is None:
            return
        match by(self.token):
            case None:
                self.person = Person("", self.session_id, "anonymous")
            case (str(issuer), str(subject)) if subject:
                self.person = Person(issuer, subject, "token")
            case found:
                raise SetupError(
                    f"person= returns (issuer, subject), two texts, or None for nobody; not {found!r}"
                )

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """The client's capabilities."""

    @property
    @abstractmethod
    def client(self) -> ClientName | None:
        """The client's claimed name and version, if any."""

    @property
    @abstractmethod
    def connection(self) -> dict[str, Any]:
        """A dictionary that lives as long as the connection; a new one for each request without a connection."""

    @property
    @abstractmethod
    def progress_token(self) -> str | int | None:
        """The token with which the client wants progress; None if it wants none."""

    @abstractmethod
    def handler(self, *, replay: bool = False) -> RequestHandler:
        """The SDK's handler of this request. For a replay, without the members of a retry."""

    @abstractmethod
    async def send_request(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send a request to the client on the stream of this request; returns its result.

        Raises `RequestFailed` and `ConnectionLost`. A cancellation is sent to the client.
        """

    @abstractmethod
    async def send_complete(self, elicitation_id: str, *, on_request: bool) -> None:
        """Tell the client that a URL question is finished, on the stream of this request or the connection's own."""


class Service(Protocol):
    """Our side of an installed server."""

    async def serve(self, request: IncomingRequest) -> Result:
        """Serve a request that may ask. Raises only exceptions from the adapter's `refusal`."""

    def meet(self, request: IncomingRequest) -> None:
        """Remember a new session, for questions outside a request."""

    resumes: bool
    """Whether calls continue after the process has ended, because the store is durable."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """While the server runs."""


class Adapter(ABC):
    """One server of an SDK."""

    def __init__(self, server: Any, low: Any) -> None:
        self._server = weakref.ref(server)
        self.low = low
        """The SDK's lowlevel server."""
        self.one_handler: bool = low is server
        """Whether one function serves all tools, as on a lowlevel server."""
        self.name: str = low.name
        self.lasting_name: str = self.name
        """Its name without a part that changes in each process."""

    @abstractmethod
    def install(self, service: Service) -> None:
        """Pass every request that may ask to the service, and run the service while the server runs."""

    @abstractmethod
    def on_notice(self, method: str, heard: Callable[[IncomingRequest | None], None]) -> None:
        """Call a function for every notice of this method; with None if the SDK hides the connection."""

    @abstractmethod
    def stamp(self, result: dict[str, Any], revision: Revision) -> dict[str, Any]:
        """Our result with the members that the SDK adds to its own results."""

    @abstractmethod
    def as_tool_error(self, error: HandraiseError) -> HandraiseError:
        """The same error in a form whose sentence the framework shows to the model without reporting a crash."""

    @abstractmethod
    def as_protocol_error(self, error: HandraiseError, fault: Mapping[str, Any]) -> HandraiseError:
        """The same error in a form that the framework sends as this JSON-RPC error."""

    @abstractmethod
    def refusal(self, fault: Mapping[str, Any]) -> Exception:
        """An exception that the SDK sends as this JSON-RPC error."""

    @abstractmethod
    def fault_of(self, error: BaseException) -> dict[str, Any] | None:
        """The JSON-RPC error object of an SDK exception; None for any other exception."""

    @abstractmethod
    def is_wrapped(self, error: HandraiseError, by: BaseException) -> bool:
        """Whether the framework wrapped this error in an exception of its own."""

    @abstractmethod
    async def handler_of(self, method: str, target: str) -> object:
        """The author's function that serves a request; None when it cannot be found."""

    async def annotations(self, tool: str) -> Mapping[str, Any] | None:
        """A tool's annotations; None when it has none, or is unknown."""
        said = getattr(await self.registered(tool), "annotations", None)
        return None if said is None else to_jsonable_python(said, by_alias=True, exclude_none=True)

    async def registered(self, tool: str) -> object:
        """A tool as the server lists it; None if it is unknown."""
        server = self._server()
        listed = [] if self.one_handler or server is None else await server.list_tools()
        return next((each for each in listed if each.name == tool), None)

    async def tools(self) -> list[Any] | None:
        """The tools with their functions; None when this release hides them."""
        return [] if self.one_handler else private.tools_of(self._server())

    def add_route(self, path: str, endpoint: Callable[..., Any]) -> bool:
        """Serve a web endpoint beside the server; False if the author must mount it."""
        route = getattr(self._server(), "custom_route", None)
        if route is None:
            return False
        route(path, methods=["GET", "POST"], include_in_schema=False)(endpoint)
        return True


# Guards above `@server.tool()`: the decorator returns the function that it registered, so a guard would wrap a function
# that nobody calls. The guarded function replaces the registered one.

_STAND_IN: Final = "__handraise_stands_in__"
_bodies = 0
"""The number of replaced functions."""


def stand_in_for(body: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Run a function instead of a tool's body, even if the framework registered the body."""
    global _bodies
    try:
        setattr(body, _STAND_IN, instead)
    except AttributeError:
        return  # for example a bound method, which no framework registered
    _bodies += 1


def stand_in_of(function: object) -> Callable[..., Any] | None:
    """The function that replaces this one, if any."""
    found: Callable[..., Any] | None = getattr(function, _STAND_IN, None)
    return found


def has_stand_ins() -> bool:
    """Whether any function of this process is replaced."""
    return _bodies > 0


def run_instead(tool: Any, function: Callable[..., Any]) -> None:
    """Replace the function behind a registered tool."""
    tool.fn = function
    if hasattr(tool, "is_async"):
        tool.is_async = True


_PART = 0.001
"""The part of the rest up to the author's total that one of our notices takes."""


class Progress:
    """The progress of one request. Every notice has a higher value than the one before.

    Our own notices count in whole steps. If the author's total leaves no room for a step, they take a small part of the
    rest. If our steps overtook the author, the author's progress and total move up together, by a whole number.
    """

    def __init__(self) -> None:
        self._sent = self._reported = -math.inf
        self._total = math.inf
        self._moved = 0

    def report(self, progress: float, total: float | None) -> tuple[float, float | None]:
        """The progress and the total to send for the author's values."""
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
        """The value of our own notice; None when there is no room below the author's total."""
        more = self._more()
        if more <= self._sent:
            return None
        self._sent = more
        return more

    def _more(self) -> float:
        sent = max(self._sent, 0.0)
        return math.floor(sent) + 1.0 if self._total == math.inf else sent + _PART * (self._total - sent)
