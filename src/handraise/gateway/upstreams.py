"""The configured servers of a gateway: from the command line, or the usual `mcpServers` object."""

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
    """The gateway's registration at a server's authorization server."""

    id: str
    secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()
    """Scopes to ask for instead of those that the server wants."""
    port: int = 0
    """The local port for the redirect; 0 for any free port."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server: a command to start or a URL to call, with the name that its user chose."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the gateway's environment. Often contains secrets."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request to a URL. Often contain secrets."""
    directory: str | None = None
    oauth: OwnClient | None = None
    """The gateway's registration, if the user configured one."""
    itself: bool = False
    """Whether this is the gateway itself, which asks people to connect accounts."""

    @property
    def target(self) -> str:
        """The URL or the command, as the person sees it."""
        return shlex.join(self.command) if self.url is None else self.url

    @property
    def transport(self) -> Literal["stdio", "http"]:
        return "stdio" if self.url is None else "http"

    @property
    def host(self) -> str | None:
        """The host of a URL; None for a command."""
        return None if self.url is None else urlsplit(self.url).hostname


@dataclass(slots=True, eq=False)
class Source:
    """A connected server, and what it said about itself."""

    upstream: Upstream
    claimed: Mapping[str, Any] = field(default_factory=dict)
    """The name and version that it claims."""
    revision: str = ""
    resumes: bool = False
    """It says that it continues calls after a restart, because it has a store."""
    asks_in_rounds: bool = False
    """It speaks 2026-07-28, where servers make no requests, while its client is legacy."""

    @property
    def can_go_on(self) -> bool:
        """Whether another gateway can continue its calls: it is not our process, or it has a store."""
        return self.upstream.url is not None or self.resumes


_RUNNERS: Final = ("python", "node", "npx", "uv", "uvx", "deno", "bun", "pipx")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=\S*")
_WRAPPERS: Final = ("env", "sh", "bash", "dash", "zsh", "exec", "nice", "nohup", "timeout", "sudo")


def short_name(command: Sequence[str]) -> str:
    """A name for a server without one: its program, or the program that a known runner or a shell starts."""
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


def load_upstreams(path: Path) -> list[Upstream]:
    """The servers in a file; SetupError lists every problem in it."""
    try:
        raw = path.read_bytes()[: _MAX_BYTES + 1]
        body = json.loads(raw)
    except FileNotFoundError:
        raise SetupError(
            f"{path}: there is no such file. Write one like {_LIKE}, or name one server: "
            "its command after `--`, or --url"
        ) from None
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise SetupError(f"{path}: this is not JSON: {error}") from None
    return parse_upstreams(body, str(path), os.environ)


def parse_upstreams(body: object, source: str, environment: Mapping[str, str]) -> list[Upstream]:
    """The servers in a configuration. `${NAME}` is replaced from the environment."""
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
        problems.append(f"{name}: write an object with `command` or `url`")
        return None
    known = _replaced(entry, environment, name, problems)
    command, url = known.get("command"), known.get("url", known.get("serverUrl"))
    if (isinstance(command, str) and bool(command)) == (isinstance(url, str) and bool(url)):
        problems.append(f"{name}: give either `command` or `url`")
        return None
    arguments = known.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        problems.append(f"{name}: `args` must be a list of strings")
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
        f"{name}: `oauth` needs a string `clientId`, and may have `clientSecret`, a list of `scopes`, a `callbackPort`"
    )
    return None


def _words(entry: Mapping[str, Any], key: str, name: str, problems: list[str]) -> dict[str, str]:
    given = entry.get(key) or {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        problems.append(f"{name}: `{key}` must be an object with string values")
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
