"""For `handraise gateway doctor`: which revisions a server speaks, and what will happen when it asks."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any, Final

from handraise.errors import SetupError
from handraise.gateway.clients.table import KnownClient
from handraise.gateway.links import Link
from handraise.gateway.messages import Message, request
from handraise.gateway.options import Options
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    JUNE,
    MODERN,
    NOVEMBER,
    VERSION_KEY,
    capabilities_in,
    server_info_in,
)
from handraise.gateway.servers import open_direct
from handraise.gateway.upstreams import Upstream

PATIENCE: Final = 10.0
_MOST_ERRORS: Final = 1024 * 1024
_ASKABLE: Final[dict[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
_US: Final = {"name": "handraise-doctor", "version": "1"}

_DISCOVER: Final = request(
    "discover",
    "server/discover",
    {"_meta": {VERSION_KEY: MODERN, CLIENT_KEY: _US, CAPABILITIES_KEY: _ASKABLE}},
)
_GREET: Final = request(
    "hello", "initialize", {"protocolVersion": NOVEMBER, "capabilities": _ASKABLE, "clientInfo": _US}
)


@dataclass(frozen=True, slots=True)
class Probed:
    """The result of probing a server."""

    revisions: tuple[str, ...] = ()
    """The newest first. Of the legacy revisions a server names only one, the newest that it shares with us."""
    calls_itself: str | None = None
    offers: tuple[str, ...] = ()
    """Its capabilities: tools, prompts, resources and so on."""
    problem: str | None = None
    """Why the probe failed."""


async def probe(upstream: Upstream) -> Probed:
    """Ask a server for its revisions. No tool is called. A problem may quote the last line of its standard error.

    A server that speaks 2026-07-28 is started twice, because it may keep to the era that a connection began with.
    """
    modern = await _probe(upstream, _DISCOVER, _GREET)
    if MODERN not in modern.revisions:
        return modern
    legacy = await _probe(upstream, _GREET)
    also = tuple(each for each in legacy.revisions if each not in modern.revisions)
    return replace(modern, revisions=(*modern.revisions, *also))


async def _probe(upstream: Upstream, *greetings: Message) -> Probed:
    """Greet a server with the first of these requests that it accepts."""
    with tempfile.TemporaryFile() as errors:
        try:
            link = await open_direct(upstream, errors=errors)
        except SetupError as error:
            return Probed(problem=str(error))
        try:
            async with asyncio.timeout(PATIENCE):
                return await _ask(link, greetings)
        except TimeoutError:
            return Probed(problem=f"it did not answer within {PATIENCE:g} seconds")
        except EOFError:
            await link.aclose()
            return Probed(problem=f"it exited before it answered{_last_line(errors)}")
        finally:
            await link.aclose()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(_MOST_ERRORS).decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f", and said last: {said[-1]}" if said else ""


async def _ask(link: Link, greetings: tuple[Message, ...]) -> Probed:
    answers: asyncio.Queue[Message | None] = asyncio.Queue()
    link.on_message = answers.put_nowait
    link.on_closed = lambda source, last: answers.put_nowait(None)
    for greeting in greetings:
        link.send(greeting)
        while (answer := await answers.get()) is not None:
            if answer.method is None and answer.id == greeting.id:
                break
        if answer is None:
            raise EOFError
        if (told := answer.result) is not None:
            name = server_info_in(told).get("name")
            offers = tuple(sorted(capabilities_in(told)))
            return Probed(_revisions(told), name if isinstance(name, str) else None, offers)
    return Probed(problem="it refused both ways to begin")


def _revisions(told: Mapping[str, Any]) -> tuple[str, ...]:
    """The revisions that a server names in its result of `server/discover` or `initialize`."""
    supported = told.get("supportedVersions", [told.get("protocolVersion")])
    return tuple(map(str, supported)) if isinstance(supported, list) else ()


_ITSELF = {
    "forms and links": "{title} asks you in its own dialog.",
    "forms": "{title} asks you forms in its own dialog; for links {otherwise}",
    "nothing": "{title} cannot ask you: {otherwise}",
}
_FORMS_ONLY = "{title} asks you in its own dialog; the server knows forms only."
_LOST = "the server is told that nobody can be asked."
_OTHER_ERA = "A {title} of the revisions before {modern} cannot use this server without the gateway in front."


def forecast(client: KnownClient, options: Options | None, revisions: Collection[str] = ()) -> str:
    """One or two sentences about what happens when the server asks.

    `options`: those of the gateway in front; None without a gateway. `revisions`: the server's, if known.
    """
    if options is None and set(revisions) == {MODERN}:
        return (
            f"{_question(client, options, revisions)} {_OTHER_ERA.format(title=client.title, modern=MODERN)}"
        )
    return _question(client, options, revisions)


def _question(client: KnownClient, options: Options | None, revisions: Collection[str]) -> str:
    if options is not None and options.desk == "always":
        return f"You are asked at your desk, also where {client.title} could ask: {_at_desk(options)}"
    if options is None:
        otherwise = f"{_LOST} Put the gateway in front of it."
    else:
        otherwise = _LOST if options.desk == "none" else _at_desk(options)
    if set(revisions) == {JUNE} and client.asks != "nothing":
        return _FORMS_ONLY.format(title=client.title)
    return _ITSELF[client.asks].format(title=client.title, otherwise=otherwise)


def _at_desk(options: Options) -> str:
    how = "your browser opens it" if options.browser else "`handraise inbox` opens it"
    return f"the call is held for {options.hold:g} seconds, then parked; you answer at your desk ({how})."
