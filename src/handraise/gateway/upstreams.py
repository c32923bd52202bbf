"""The servers behind a gateway, as the user named them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class OwnClient:
    """What a server's authorization server knows this gateway as."""

    id: str
    secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()
    """What to ask people for, in place of what the server wants."""
    port: int = 0
    """Where on this computer people come back to; any free port when 0."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server: a command to start or a URL to call, under the name that its user gave it."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the gateway's own. It often holds secrets."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request to a URL. They often hold secrets."""
    directory: str | None = None
    oauth: OwnClient | None = None
    """The gateway's own registration, where it was not to register by itself."""
    itself: bool = False
    """Whether it is no server but the gateway, which asks in words of its own."""

    @property
    def target(self) -> str:
        """What is started or called, for the person to see."""
        if self.url is not None:
            return self.url
        import shlex

        return shlex.join(self.command)

    @property
    def transport(self) -> Literal["stdio", "http"]:
        """How it is reached."""
        return "stdio" if self.url is None else "http"

    @property
    def host(self) -> str | None:
        """Where it is, when it is not a process of ours."""
        if self.url is None:
            return None
        from urllib.parse import urlsplit

        return urlsplit(self.url).hostname


@dataclass(slots=True, eq=False)
class Source:
    """A server that is connected, and what it said of itself so far."""

    upstream: Upstream
    claimed: Mapping[str, Any] = field(default_factory=dict)
    """Its own name and version: a claim."""
    revision: str = ""
    """The revision that is spoken with it."""


_RUNNERS = ("python", "node", "npx", "uv", "uvx", "deno", "bun", "pipx")


def short_name(command: tuple[str, ...]) -> str:
    """A name for a server that was given none: its program, or what a well-known runner runs."""
    program = command[0].replace("\\", "/").rpartition("/")[2]
    words = [word for word in command[1:] if not word.startswith("-") and word != "run"]
    named = words[0] if words and program.startswith(_RUNNERS) else program
    return named.replace("\\", "/").rpartition("/")[2] or named
