"""Put the gateway in front of one server in a client's configuration, or remove it again.

Pure functions: an entry comes in, its new members go out. An entry of an unknown kind is left alone, with a reason.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.gateway.clients.table import KnownClient

_WEB_TYPES: Final = (None, "http", "streamable-http", "streamable_http", "streamableHttp", "remote")
_SECRETS: Final = (
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "oauth",
    "auth",
    "requestInit",
)
"""Members that a client uses for its own requests. The gateway would not have them."""

Members = Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Change:
    """A change to an entry."""

    server: str
    before: str
    after: str
    """The full command or URL, before and after."""
    members: Mapping[str, Members]
    """For each member that goes, the members that replace it."""
    entry: Mapping[str, Any] = field(repr=False)
    """The new entry, or its part with command and URL (see `inner_of`)."""


@dataclass(frozen=True, slots=True)
class Left:
    """An entry that stays as it is, and why."""

    server: str
    why: str


ALREADY: Final = "it goes through the gateway already"
NOT_THROUGH: Final = "it does not go through the gateway"


def inner_of(client: KnownClient, entry: object) -> object:
    """The part of an entry with command and URL."""
    inner = entry.get(client.inner) if client.inner and isinstance(entry, Mapping) else None
    return inner if isinstance(inner, Mapping) else entry


def put_before(
    client: KnownClient, server: str, entry: object, gateway: Sequence[str], *, chosen: bool
) -> Change | Left:
    """Make a server's entry start the gateway, which starts the server. `chosen`: the user named this server."""
    entry = inner_of(client, entry)
    if not isinstance(entry, Mapping):
        return Left(server, "its entry is not an object")
    if through(client, entry) is not None:
        return Left(server, ALREADY)
    ours = [*gateway, "gateway", "--name", server]
    command = command_of(client, entry)
    if command is not None:
        return _changed(client, server, entry, command, [*ours, "--", *command])
    url = entry.get(client.url_key)
    if not isinstance(url, str) or not url or "command" in entry:
        return Left(server, "its entry is of an unknown kind")
    return _put_before_url(client, server, entry, url, [*ours, "--url", url], chosen)


def _put_before_url(
    client: KnownClient, server: str, entry: Mapping[str, Any], url: str, words: list[str], chosen: bool
) -> Change | Left:
    if entry.get("type", entry.get("transport")) not in _WEB_TYPES:
        return Left(server, "it is not reached over streamable HTTP")
    if any(name in entry for name in _SECRETS):
        return Left(server, "it needs headers; write them in a file for `handraise gateway --config`")
    if not chosen:
        return Left(server, "the client may sign in to it by itself; name it with --server if it does not")
    members: dict[str, Members] = {client.url_key: _starting(client, words)}
    if "type" in entry:
        members["type"] = [("type", _LOCAL[client.one_list])]
    return Change(server, url, shlex.join(words), members, _replaced(entry, members))


def take_away(client: KnownClient, server: str, entry: object) -> Change | Left:
    """Make a server's entry start or call the server without the gateway."""
    entry = inner_of(client, entry)
    behind = through(client, entry)
    if behind is None or not isinstance(entry, Mapping):
        return Left(server, NOT_THROUGH)
    now = command_of(client, entry) or []
    if isinstance(behind, list):
        return _changed(client, server, entry, now, behind)
    members: dict[str, Members] = {"command": [(client.url_key, behind)]}
    if "args" in entry:
        members["args"] = []
    if "type" in entry:
        members["type"] = [("type", "remote" if client.one_list else "http")]
    return Change(server, shlex.join(now), behind, members, _replaced(entry, members))


def through(client: KnownClient, entry: object) -> list[str] | str | None:
    """The command or the URL that an entry reaches through the gateway; None when it does not."""
    options = gateway_words(client, entry)
    if options is None:
        return None
    if "--" in options:
        return options[options.index("--") + 1 :]
    return options[options.index("--url") + 1] if "--url" in options[:-1] else None


def gateway_words(client: KnownClient, entry: object) -> list[str] | None:
    """The arguments of the gateway that an entry starts; None when it starts none."""
    words = command_of(client, entry)
    if not words or "gateway" not in words[:4]:
        return None
    at = words.index("gateway")
    ours = words[at - 1].replace("\\", "/").rpartition("/")[2].startswith("handraise")
    return words[at + 1 :] if ours else None


_LOCAL: Final = {True: "local", False: "stdio"}


def _changed(
    client: KnownClient, server: str, entry: Mapping[str, Any], before: list[str], after: list[str]
) -> Change:
    """The change to another command."""
    members: dict[str, Members]
    if client.one_list:
        members = {"command": [("command", after)]}
    elif "args" in entry:
        members = {"command": [("command", after[0])], "args": [("args", after[1:])]}
    else:
        members = {"command": _starting(client, after)}
    return Change(server, shlex.join(before), shlex.join(after), members, _replaced(entry, members))


def _starting(client: KnownClient, words: list[str]) -> Members:
    return [("command", words)] if client.one_list else [("command", words[0]), ("args", words[1:])]


def command_of(client: KnownClient, entry: object) -> list[str] | None:
    """The command line of an entry; None when it has none, or of an unknown kind."""
    entry = inner_of(client, entry)
    if not isinstance(entry, Mapping):
        return None
    command, rest = entry.get("command"), entry.get("args", [])
    words = command if client.one_list else [command, *rest] if isinstance(rest, list) else None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return None
    return words if words[0] else None


def _replaced(entry: Mapping[str, Any], members: Mapping[str, Members]) -> dict[str, Any]:
    after: dict[str, Any] = {}
    for name, value in entry.items():
        after.update(members.get(name, [(name, value)]))
    return after
