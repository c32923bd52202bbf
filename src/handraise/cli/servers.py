"""Which server a command talks to: a command to start behind `--`, or a URL."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from handraise.client.tap import Tell
    from handraise.questions import Origin


class WithServer(TyperCommand):
    """A command that takes a server's command behind `--`, and says so where it says how it is used."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@dataclass(frozen=True, slots=True)
class Server:
    """A server that the user named."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None

    @property
    def origin(self) -> Origin:
        """Who asks, in the user's own words."""
        from handraise.questions import Origin

        return Origin(self.name, self.url or shlex.join(self.command))

    @property
    def transport(self) -> Literal["stdio", "http"]:
        """How it is reached."""
        return "stdio" if self.url is None else "http"

    @property
    def host(self) -> str | None:
        """Where it is, when it is not a process of ours."""
        return None if self.url is None else urlsplit(self.url).hostname

    def target(self, tell: Tell | None = None) -> Any:
        """What the SDK's client connects to; `tell` hears every message as it crosses."""
        if self.url is not None:
            if tell is None:
                return self.url
            from mcp.client.streamable_http import streamable_http_client

            return _tapped(streamable_http_client(self.url), tell)
        from mcp import StdioServerParameters, stdio_client

        started = StdioServerParameters(command=self.command[0], args=list(self.command[1:]))
        return started if tell is None else _tapped(stdio_client(started), tell)


def _tapped(transport: Any, tell: Tell) -> Any:
    from handraise.client.tap import tapped

    return tapped(transport, tell)


def chosen_server(command: tuple[str, ...], url: str | None, name: str | None) -> Server:
    """The server of a command line; wrong use when there is none, or two."""
    if url is None and not command:
        raise typer.BadParameter("name a server: put its command behind `--`, or give --url")
    if url is not None and command:
        raise typer.BadParameter("give either --url or a command behind `--`, not both")
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise typer.BadParameter(f"a server's URL begins with http:// or https://, and {url!r} does not")
        return Server(name or urlsplit(url).hostname or url, url=url)
    return Server(name or _short(command), command)


_RUNNERS = ("python", "node", "npx", "uv", "uvx", "deno", "bun", "pipx")


def _short(command: tuple[str, ...]) -> str:
    """A name for a server that was given none: its program, or what a well-known runner runs."""
    program = Path(command[0]).name
    words = [word for word in command[1:] if not word.startswith("-") and word != "run"]
    return Path(words[0]).name if words and program.startswith(_RUNNERS) else program
