"""The two ends of a relay: the link to a server, and the port back to a client; and tasks that end with their owner."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol

from handraise.gateway.messages import SERVER_FAULT, Message, error_response
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)


class Destination(NamedTuple):
    """The server that a client's message goes to, and the message with the server's own names."""

    source: Source
    message: Message
    listed: Mapping[str, Any] | None = None
    """The tool as this server listed it; None if the link keeps no lists."""


class Link(ABC):
    """The connection to a server. Its owner sets the two callbacks before it sends anything."""

    def __init__(self) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        """Called with the server that is gone, and whether it was the last."""

    @abstractmethod
    def source_of(self, message: Message) -> Source:
        """The server that a client's message goes to, as far as it is known."""

    @abstractmethod
    async def locate(self, message: Message) -> Destination | None:
        """Find where a message goes; ask the servers if necessary. None when no server has its target."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        """Ask a round from another process again; False when the caller must do it."""
        return False

    @abstractmethod
    async def aclose(self) -> None:
        """Disconnect the server."""


class DirectLink(Link):
    """Base of links to one server."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def deliver(self, message: Message) -> None:
        """Pass on a message from the server. A failure here affects this message only."""
        message.source = self.source
        try:
            self.on_message(message)
        except Exception:
            logger.exception("a message of %s could not be handled", self.source.upstream.name)
            if message.is_request:
                self.send(
                    error_response(message.id, SERVER_FAULT, "The gateway could not handle this request.")
                )

    def source_of(self, message: Message) -> Source:
        return self.source

    async def locate(self, message: Message) -> Destination | None:
        return Destination(self.source, message)


class Bridge(Link):
    """Base of links that translate for another link."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        link.on_closed = lambda source, last: self.on_closed(source, last)

    def source_of(self, message: Message) -> Source:
        return self._link.source_of(message)

    async def locate(self, message: Message) -> Destination | None:
        return await self._link.locate(message)

    async def aclose(self) -> None:
        await self._link.aclose()


class Port(Protocol):
    """The connection back to a client, or the response to one of its requests."""

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...


class TaskSet:
    """The tasks of one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def run(
        self, work: Coroutine[Any, Any, None], also: set[asyncio.Task[Any]] | None = None
    ) -> asyncio.Task[None]:
        """Start a task. While it runs, it is in the set `also` too."""
        task = asyncio.ensure_future(work)
        for tasks in (self._tasks,) if also is None else (self._tasks, also):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for all tasks."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel all tasks."""
        for task in list(self._tasks):
            task.cancel()
        await self.finish()
