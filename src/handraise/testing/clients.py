"""Clients for tests: the official SDK's, held to one revision and to the modes that it is to declare."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import Client, ClientSession

from handraise.client.declare import elicitation_capability
from handraise.revisions import Revision
from handraise.testing.people import ScriptedPerson

BOTH = ("form", "url")


@asynccontextmanager
async def connect(
    server: Any,
    revision: Revision | str,
    person: ScriptedPerson | None = None,
    *,
    modes: Iterable[str] = BOTH,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client of `server` that speaks `revision`, with a person behind it; without one it cannot be asked.

    `server` and `options` are what `mcp.Client` takes: a server in this process, a URL, a command's parameters.
    """
    client = _Client(server, Revision(revision), tuple(modes), elicitation_callback=person, **options)
    person = person or ScriptedPerson()
    try:
        async with client:
            assert client.protocol_version == revision, f"the server speaks {client.protocol_version}"
            yield client
    finally:
        person.fail_on_surprise()
    person.fail_on_leftovers()


class _Client(Client):
    """`mcp.Client` has no way to offer an older revision or to declare one mode only."""

    def __init__(self, server: Any, revision: Revision, modes: tuple[str, ...], **options: Any) -> None:
        super().__init__(server, mode=str(revision) if revision.modern else "legacy", **options)
        self._revision, self._modes = revision, modes

    async def _build_session(self, exit_stack: AsyncExitStack) -> ClientSession:
        session = await super()._build_session(exit_stack)
        _offer(session, self._revision)
        _declare(session, self._revision, self._modes)
        return session


def _offer(session: ClientSession, revision: Revision) -> None:
    send = session.send_request

    async def send_request(request: Any, *args: Any, **options: Any) -> Any:
        if isinstance(request, types.InitializeRequest):
            request.params.protocol_version = str(revision)
        return await send(request, *args, **options)

    session.send_request = send_request  # type: ignore[method-assign]


def _declare(session: ClientSession, revision: Revision, modes: tuple[str, ...]) -> None:
    declare = session._build_capabilities

    def declare_modes(version: str) -> types.ClientCapabilities:
        capabilities = declare(version)
        if capabilities.elicitation is not None:
            capabilities.elicitation = elicitation_capability(modes, revision)
        return capabilities

    session._build_capabilities = declare_modes  # type: ignore[method-assign]
