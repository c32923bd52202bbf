"""The client half on mcp 2.x."""

from __future__ import annotations

from typing import Any

from mcp import Client, ClientSession
from mcp_types import ElicitRequest, InputRequiredResult

from handraise.revisions import Revision
from handraise.sdk.adapter import ASKING_METHODS
from handraise.sdk.client import Callbacks, Declare, Send
from handraise.sdk.streams import Writing, declaring, put_right, transport_to


def open_client(
    target: Any,
    callbacks: Callbacks,
    declare: Declare,
    *,
    mode: str,
    offer: Revision | None,
    raise_exceptions: bool = False,
    **options: Any,
) -> Client:
    """The SDK's client; its transport corrects the declared capabilities."""
    transport = transport_to(target, raise_exceptions=raise_exceptions)
    return Client(
        declaring(transport, declare, offer),
        mode=mode,
        elicitation_callback=callbacks.elicit,
        list_roots_callback=callbacks.list_roots,
        message_handler=callbacks.hear,
        **options,
    )


def declaring_session(declare: Declare, offer: Revision | None) -> type[ClientSession]:
    """A session class that corrects its declared capabilities, for a framework that builds the session."""

    class DeclaringSession(ClientSession):
        def __init__(self, read_stream: Any = None, write_stream: Any = None, **options: Any) -> None:
            if write_stream is not None:
                write_stream = Writing(write_stream, lambda item: put_right(declare, offer, item))
            super().__init__(read_stream, write_stream, **options)

    return DeclaringSession


def watch_rounds(session: ClientSession, send: Send) -> None:
    """Pass every request of a session in which a server may ask through `send`.

    The SDK calls the same public method for the first request of a call and for each retry of it.
    """
    send_request = session.send_request

    async def watched(request: Any, *args: Any, **options: Any) -> Any:
        if request.method not in ASKING_METHODS:
            return await send_request(request, *args, **options)
        return await send(lambda: send_request(request, *args, **options))

    session.send_request = watched  # type: ignore[method-assign]


def questions_in(result: Any) -> int | None:
    """How many questions a result asks; None for a result that ends the call."""
    if not isinstance(result, InputRequiredResult):
        return None
    return sum(isinstance(each, ElicitRequest) for each in (result.input_requests or {}).values())
