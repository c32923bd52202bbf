"""The servers behind a gateway, as the user named them: on the command line, or in the usual `mcpServers` object."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from handraise.errors import SetupError


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
        return urlsplit(self.url).hostname


@dataclass(slots=True, eq=False)
class Source:
    """A server that is connected, and what it said of itself so far."""

    upstream: Upstream
    claimed: Mapping[str, Any] = field(default_factory=dict)
    """Its own name and version: a claim."""
    revision: str = ""
    """The revision that is spoken with it."""
    resumes: bool = False
    """It said that it goes on with calls after it was started anew, because it keeps them in a store of its own."""

    asks_in_rounds: bool = False
    """It speaks 2026-07-28, on which a server makes no requests, to a client of the revisions before."""

    @property
    def can_go_on(self) -> bool:
        """Whether another gateway can go on with its calls: it is no process of ours, or it keeps them."""
        return self.upstream.url is not None or self.resumes


_RUNNERS: Final = ("python", "node", "npx", "uv", "uvx", "deno", "bun", "pipx")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=\S*")
_WRAPPERS: Final = ("env", "sh", "bash", "dash", "zsh", "exec", "nice", "nohup", "timeout", "sudo")


def short_name(command: Sequence[str]) -> str:
    """A name for a server that was given none: its program, or what a well-known runner or a shell runs."""
    words = [
        word for word in command if word and not word.startswith("-") and not _ASSIGNMENT.fullmatch(word)
    ]
    program = _last_part(words[0]) if words else "server"
    if program in _WRAPPERS:
        inner = shlex.split(words[1], comments=True) if len(words) == 2 and " " in words[1] else words[1:]
        return short_name(inner) if inner else "server"
    rest = [word for word in words[1:] if word != "run"]
    return _last_part(rest[0]) if rest and program.startswith(_RUNNERS) else program


def _last_part(word: str) -> str:
    return word.replace("\\", "/").rstrip("/").rpartition("/")[2] or word


_MAX_BYTES: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}")
_LIKE: Final = '{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "some-server"]}}}'
_OAUTH: Final = frozenset({"clientId", "clientSecret", "scopes", "callbackPort"})


def load_upstreams(path: Path, environment: Mapping[str, str] | None = None) -> list[Upstream]:
    """The servers of a file; SetupError with every problem when it cannot be used."""
    try:
        raw = path.read_bytes()[: _MAX_BYTES + 1]
        body = json.loads(raw)
    except FileNotFoundError:
        raise SetupError(
            f"{path}: there is no such file. Write one like {_LIKE}, or name one server: "
            "its command behind `--`, or --url"
        ) from None
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise SetupError(f"{path}: this is not JSON: {error}") from None
    return parse_upstreams(body, str(path), os.environ if environment is None else environment)


def parse_upstreams(body: object, source: str, environment: Mapping[str, str]) -> list[Upstream]:
    """The servers of a configuration, `${NAME}` in it replaced from the environment."""
    servers = body.get("mcpServers", body.get("servers")) if isinstance(body, dict) else None
    if not isinstance(servers, dict) or not servers:
        raise SetupError(
            f"{source}: there is no `mcpServers` object with a server in it; it looks like {_LIKE}"
        )
    problems: list[str] = []
    found = [
        _server(name, entry, environment, problems) for name, entry in servers.items() if not _is_off(entry)
    ]
    if problems:
        raise SetupError("\n".join(f"{source}: {problem}" for problem in problems))
    return [upstream for upstream in found if upstream is not None]


def _server(name: str, entry: object, environment: Mapping[str, str], problems: list[str]) -> Upstream | None:
    if not isinstance(entry, dict):
        problems.append(f"{name}: this is an object with `command` or `url`")
        return None
    known = _replaced(entry, environment, name, problems)
    command, url = known.get("command"), known.get("url", known.get("serverUrl"))
    if (isinstance(command, str) and bool(command)) == (isinstance(url, str) and bool(url)):
        problems.append(f"{name}: give either `command` or `url`")
        return None
    arguments = known.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        problems.append(f"{name}: `args` is a list of words")
        return None
    directory = known.get("cwd")
    return Upstream(
        name,
        (str(command), *arguments) if command else (),
        str(url) if url else None,
        _words(known, "env", name, problems),
        _words(known, "headers", name, problems),
        directory if isinstance(directory, str) else None,
        _own_client(known, name, problems),
    )


def _own_client(entry: Mapping[str, Any], name: str, problems: list[str]) -> OwnClient | None:
    """The gateway's own registration at the server's authorization server."""
    if (given := entry.get("oauth")) is None:
        return None
    known: dict[str, Any] = given if isinstance(given, dict) else {}
    scopes: list[Any] = known.get("scopes", []) if isinstance(known.get("scopes", []), list) else [None]
    match known.get("clientId"), known.get("clientSecret"), known.get("callbackPort", 0):
        case str(id), (str() | None) as secret, int(port) if (
            id and known.keys() <= _OAUTH and all(isinstance(scope, str) for scope in scopes)
        ):
            return OwnClient(id, secret, tuple(scopes), port)
    problems.append(
        f"{name}: `oauth` has a word `clientId`, and may have `clientSecret`, a list of `scopes` and a `callbackPort`"
    )
    return None


def _words(entry: Mapping[str, Any], key: str, name: str, problems: list[str]) -> dict[str, str]:
    given = entry.get(key) or {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        problems.append(f"{name}: `{key}` has a word for each name")
        return {}
    return given


def _replaced(value: Any, environment: Mapping[str, str], name: str, problems: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, environment, name, problems) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, environment, name, problems) for each in value]
    if not isinstance(value, str):
        return value

    def replace(found: re.Match[str]) -> str:
        known = environment.get(found[1], found[2])
        if known is None:
            problems.append(f"{name}: {found[1]} is not set in the environment")
        return known or ""

    return _VARIABLE.sub(replace, value)


def _is_off(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)
