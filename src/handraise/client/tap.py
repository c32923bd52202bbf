"""A transport of the SDK's with an ear on it: every message is told as it crosses, and passed on as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from mcp.shared.message import SessionMessage

from handraise.trace import Direction

Tell: TypeAlias = Callable[[Direction, Any], None]
Streams: TypeAlias = tuple[Any, Any]


@asynccontextmanager
async def tapped(transport: AbstractAsyncContextManager[Streams], tell: Tell) -> AsyncIterator[Streams]:
    """The same transport; `tell` hears each message with its direction, as JSON."""
    async with transport as (read, write):
        yield _Reading(read, tell), _Writing(write, tell)


class _Tapped:
    """A stream like the one inside it."""

    def __init__(self, inner: Any, tell: Tell) -> None:
        self._inner = inner
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> _Tapped:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> bool | None:
        left: bool | None = await self._inner.__aexit__(*failure)
        return left

    def _told(self, direction: Direction, item: Any) -> Any:
        if isinstance(item, SessionMessage):
            self._tell(direction, item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        return item


class _Reading(_Tapped):
    async def receive(self) -> Any:
        return self._told("to client", await self._inner.receive())

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> Any:
        return self._told("to client", await self._inner.__anext__())


class _Writing(_Tapped):
    async def send(self, item: Any) -> None:
        self._told("to server", item)
        await self._inner.send(item)
