"""Connections to servers, as plain as the event loop has them.

Head and body of a request go out in one write: each write wakes the server, and half a request is of no use to it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2


class Wires(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                return Wire(*await asyncio.open_connection(host, port))
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error


class Wire(httpcore2.AsyncNetworkStream):
    """One connection. It writes when the reply is waited for, which is when the request is whole."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parts: list[bytes] = []

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            if self._parts:
                whole, self._parts = b"".join(self._parts), []
                self._writer.write(whole)
                await self._writer.drain()
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._parts.append(buffer)

    async def aclose(self) -> None:
        self._writer.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # asked of a connection that rests: readable means that it is over
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info(info)
