"""The interface between the client kit and an SDK, for every generation.

SDKs are imported when they are used. `client1.py` is for mcp 1.x, `client2.py` for mcp 2.x.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from handraise.errors import SetupError
from handraise.revisions import Revision
from handraise.sdk.releases import generation, problem_with, release_of

Declare: TypeAlias = Callable[[dict[str, Any], Revision], None]
"""Corrects the capabilities that a client declares, in wire form."""

Send: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, Any]]], Awaitable[Any]]
"""Sends one request of a call, the first one or a retry."""

CONNECTION_CLOSED: Final = -32000
INTERNAL_ERROR: Final = -32603
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


class Fault(NamedTuple):
    """The JSON-RPC error that a server answered with."""

    code: int
    message: str
    data: Any = None


class Callbacks(NamedTuple):
    """The callbacks of a client."""

    elicit: Any
    """The SDK's `elicitation_callback`; None for a client that cannot be asked."""
    list_roots: Any
    """Its `list_roots_callback`."""
    hear: Any
    """Its `message_handler`, which gets every notice."""


def wire_types() -> Any:
    """The module with the SDK's types."""
    return import_module("mcp_types" if generation() == 2 else "mcp.types")


def protocol_error() -> type[Exception]:
    """The exception that the SDK raises for a JSON-RPC error."""
    errors = import_module("mcp.shared.exceptions")
    found: type[Exception] = errors.MCPError if generation() == 2 else errors.McpError
    return found


def as_protocol_error(answer: Any) -> Exception:
    """An `ErrorData` as the exception that the SDK raises for it."""
    kind: Any = protocol_error()
    made: Exception = kind.from_error_data(answer) if generation() == 2 else kind(answer)
    return made


def fault_of(error: BaseException) -> Fault:
    """The JSON-RPC error in a `protocol_error`."""
    told: Any = getattr(error, "error", None)
    return Fault(told.code, told.message, told.data)


def fault_in(error: BaseException) -> Fault | None:
    """The JSON-RPC error in an exception; None for any other exception, or without an SDK."""
    if problem_with("mcp") is not None or not isinstance(error, protocol_error()):
        return None
    return fault_of(error)


def rounds_exceeded(error: BaseException) -> int | None:
    """After how many rounds the SDK's client gave up; None for any other exception."""
    most = getattr(error, "max_rounds", None)
    return most if isinstance(most, int) else None


def hung_up(fault: Fault) -> bool:
    """Whether the SDK says that the connection ended. A server may use the same code for something else."""
    return (fault.code, fault.message) == (CONNECTION_CLOSED, "Connection closed")


def elicit_result(answer: Mapping[str, Any]) -> Any:
    """An answer as the SDK's elicitation callback returns it."""
    return wire_types().ElicitResult.model_validate(dict(answer))


def error_data(code: int, message: str) -> Any:
    """A JSON-RPC error as a callback of the SDK's returns it."""
    return wire_types().ErrorData(code=code, message=message)


def is_error_data(answer: Any) -> bool:
    """Whether a callback's answer is a JSON-RPC error."""
    return isinstance(answer, wire_types().ErrorData)


def roots_result(roots: Iterable[tuple[str, str]]) -> Any:
    """The URI and name of each root, as the SDK's callback returns them."""
    listed = [{"uri": uri, "name": name} for uri, name in roots]
    return wire_types().ListRootsResult.model_validate({"roots": listed})


def implementation(name: str, version: str) -> Any:
    """A client's name and version as an SDK object."""
    return wire_types().Implementation(name=name, version=version)


def dumped(model: Any) -> dict[str, Any]:
    """An SDK model in wire form, without unset members."""
    raw: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_none=True, exclude_unset=True)
    return raw


def has_failed(result: Any) -> bool:
    """Whether a tool's result says that the tool failed."""
    return bool(getattr(result, "is_error" if generation() == 2 else "isError", False))


def completed_elicitation(message: Any) -> str | None:
    """The id of the link that a notice reports as finished; None for any other message."""
    notice = getattr(message, "root", message)
    if getattr(notice, "method", None) != "notifications/elicitation/complete":
        return None
    found = dumped(notice).get("params", {}).get("elicitationId")
    return found if isinstance(found, str) else None


def watch_rounds(session: Any, send: Send) -> None:
    """Pass every request of a session in which a server may ask through `send`. mcp 1.x has no rounds."""
    if generation() == 2:
        from handraise.sdk import client2

        client2.watch_rounds(session, send)


def questions_in(result: Any) -> int | None:
    """How many questions the result of a round asks; None for a result that ends the call."""
    if generation() == 1:
        return None
    from handraise.sdk import client2

    return client2.questions_in(result)


def claimed_name(result: Any) -> tuple[str, str] | None:
    """The server's name and version in a 2026-07-28 result; None if it has none."""
    claimed = (getattr(result, "meta", None) or {}).get(_SERVER_INFO)
    if not isinstance(claimed, Mapping) or not isinstance(claimed.get("name"), str):
        return None
    return claimed["name"], str(claimed.get("version", ""))


async def tell_roots_changed(session: Any) -> None:
    """Tell a server that the roots changed."""
    types = wire_types()
    notice = types.RootsListChangedNotification()
    await session.send_notification(notice if generation() == 2 else types.ClientNotification(notice))


_SPOKEN: WeakKeyDictionary[Any, Revision] = WeakKeyDictionary()
"""The revision of each session of mcp 1.x whose handshake we saw."""


def note_revision(session: Any, spoken: str) -> None:
    """Remember the revision of an mcp 1.x session, which does not tell it."""
    for revision in Revision:
        if revision.value == spoken:
            _SPOKEN[session] = revision


def revision_of(session: Any) -> Revision:
    """The revision of a session; if unknown, the newest of mcp 1.x."""
    if (spoken := getattr(session, "protocol_version", None)) is not None:
        return Revision(str(spoken))
    return _SPOKEN.get(session, Revision.NOVEMBER_2025)


def open_client(
    target: Any,
    callbacks: Callbacks,
    declare: Declare,
    *,
    mode: str = "auto",
    offer: Revision | None = None,
    **options: Any,
) -> Any:
    """An SDK client, not entered yet. `offer` is the revision that its handshake offers."""
    found = generation()
    if any(base.__module__.partition(".")[0] == "fastmcp" for base in type(target).__mro__):
        from handraise.sdk.fastmcp_client import FastClient

        return FastClient(target, callbacks, declare, mode=mode, offer=offer, **options)
    if found == 2:
        from handraise.sdk import client2

        return client2.open_client(target, callbacks, declare, mode=mode, offer=offer, **options)
    require_legacy(mode)
    from handraise.sdk.client1 import Client1

    return Client1(target, callbacks, declare, offer=offer, **options)


def plain_client(target: Any, *, mode: str) -> Any:
    """An SDK client that cannot be asked."""
    return open_client(target, Callbacks(None, None, None), lambda _capabilities, _revision: None, mode=mode)


def require_legacy(mode: str) -> None:
    """Refuse a revision that mcp 1.x does not speak."""
    if mode not in ("auto", "legacy"):
        require_newest(f"revision {mode}")


def require_newest(what: str) -> None:
    """Refuse something by its name on mcp 1.x."""
    if generation() == 1:
        raise SetupError(f"{what} needs mcp 2.0 or newer; found {release_of('mcp')}")
