"""What a server speaks: asked directly, within a bound, and let go again."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from typing import IO, Any, Final

from handraise.errors import SetupError
from handraise.gateway.links import Link
from handraise.gateway.messages import Message, request
from handraise.gateway.peers import CAPABILITIES_KEY, CLIENT_KEY, MODERN, NOVEMBER, VERSION_KEY
from handraise.gateway.process import ProcessLink
from handraise.gateway.spawn import start
from handraise.gateway.upstreams import Source, Upstream

PATIENCE: Final = 10.0
_MOST_ERRORS: Final = 1024 * 1024
_ASKABLE: Final[dict[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
_US: Final = {"name": "handraise-doctor", "version": "1"}


@dataclass(frozen=True, slots=True)
class Probed:
    """What a server said."""

    revisions: tuple[str, ...] = ()
    calls_itself: str | None = None
    problem: str | None = None
    """Why nothing is known of it."""


async def probe(upstream: Upstream, patience: float = PATIENCE) -> Probed:
    """Ask a server for its revisions. No tool of it is called; of its standard error, the last line may be told."""
    with tempfile.TemporaryFile() as errors:
        try:
            link = await _open(upstream, errors)
        except SetupError as error:
            return Probed(problem=str(error))
        try:
            async with asyncio.timeout(patience):
                return await _ask(link)
        except TimeoutError:
            return Probed(problem=f"it did not answer within {patience:g} seconds")
        except EOFError:
            await link.aclose()
            return Probed(problem=f"it ended before it answered{_last_line(errors)}")
        finally:
            await link.aclose()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(_MOST_ERRORS).decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f", and said last: {said[-1]}" if said else ""


async def _open(upstream: Upstream, errors: IO[bytes]) -> Link:
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http_link import HttpLink

        return HttpLink(source)
    link = ProcessLink(source, start(upstream, errors))
    await link.open()
    return link


async def _ask(link: Link) -> Probed:
    answers: asyncio.Queue[Message | None] = asyncio.Queue()
    link.on_message = answers.put_nowait
    link.on_closed = lambda source, last: answers.put_nowait(None)
    meta = {VERSION_KEY: MODERN, CLIENT_KEY: _US, CAPABILITIES_KEY: _ASKABLE}
    modern = await _answer(link, answers, request("discover", "server/discover", {"_meta": meta}))
    if modern is None:
        raise EOFError
    if (told := modern.result) is not None:
        return Probed(tuple(map(str, told.get("supportedVersions") or ())), _name(told))
    hello = {"protocolVersion": NOVEMBER, "capabilities": _ASKABLE, "clientInfo": _US}
    legacy = await _answer(link, answers, request("hello", "initialize", hello))
    if legacy is None or (told := legacy.result) is None:
        return Probed(problem="it refused both ways to begin")
    return Probed((str(told.get("protocolVersion")),), _name(told))


async def _answer(link: Link, answers: asyncio.Queue[Message | None], asked: Message) -> Message | None:
    link.send(asked)
    while (message := await answers.get()) is not None:
        if message.method is None and message.id == asked.id:
            return message
    return None


def _name(told: dict[str, Any]) -> str | None:
    meta = told.get("_meta")
    info = told.get("serverInfo") or (meta or {}).get("io.modelcontextprotocol/serverInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
