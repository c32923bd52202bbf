"""Connections of clients on which the head and the body of a response go out in one write."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class WholeResponses(H11Protocol):
    """The protocol for uvicorn: what is sent in one go is written in one go, since each write wakes the client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Transport(transport)))

    def on_response_complete(self) -> None:
        cast(_Transport, self.transport).flush()
        super().on_response_complete()


class _Transport:
    """A transport that writes when whoever is at work now has had their turn."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Write what waits."""
        whole, self._parts = b"".join(self._parts), []
        if whole:
            self._transport.write(whole)
