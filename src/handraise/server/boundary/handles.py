"""An open file that is a lease: it works as long as its root does."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Literal, Self

import anyio.to_thread

from handraise.server.boundary.rootset import RootPath

Check = Callable[[RootPath], Awaitable[None]]
"""Raises `OutsideBoundary` when the file is no longer inside."""

_CHUNK = 1 << 20


class Handle:
    """An open file inside the boundary. Every use first checks that it is still inside."""

    def __init__(self, descriptor: int, place: RootPath, check: Check) -> None:
        self._descriptor: int | None = descriptor
        self._place = place
        self._check = check

    async def read(self, size: int = -1) -> bytes:
        """The next bytes; without a size, the rest."""
        descriptor = await self._held()
        if size >= 0:
            return await anyio.to_thread.run_sync(os.read, descriptor, size)
        chunks = []
        while chunk := await anyio.to_thread.run_sync(os.read, descriptor, _CHUNK):
            chunks.append(chunk)
            await self._held()
        return b"".join(chunks)

    async def write(self, data: bytes) -> None:
        """Write all of this."""
        left = memoryview(data)
        while left:
            descriptor = await self._held()
            left = left[await anyio.to_thread.run_sync(os.write, descriptor, left[:_CHUNK]) :]

    async def seek(self, offset: int, whence: Literal[0, 1, 2] = os.SEEK_SET) -> int:
        """Go to another place in the file."""
        return os.lseek(await self._held(), offset, whence)

    @property
    def closed(self) -> bool:
        """Whether it was closed, by its user or because its root went."""
        return self._descriptor is None

    async def aclose(self) -> None:
        """Close it; again does nothing."""
        self._close()

    async def _held(self) -> int:
        if self._descriptor is None:
            raise ValueError("the file is closed")
        try:
            await self._check(self._place)
        except BaseException:
            self._close()
            raise
        if self._descriptor is None:
            raise ValueError("the file is closed")
        return self._descriptor

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    def __del__(self) -> None:
        self._close()
