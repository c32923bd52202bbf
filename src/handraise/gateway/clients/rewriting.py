"""Rewrite a client's file so that its servers go through the gateway, or no longer do. The old file is kept.

An entry of an unknown kind is left alone, with a reason.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sysconfig
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from handraise.disk import create_file, make_directory
from handraise.errors import SetupError
from handraise.gateway.clients.table import KnownClient
from handraise.gateway.clients.texts import (
    Members,
    parse_jsonc,
    parse_toml,
    read_yaml,
    rewrite_jsonc,
    rewrite_toml,
    yaml_lines,
)
from handraise.policy.places import data_directory

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
        return _with_command(client, server, entry, command, [*ours, "--", *command])
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
        return _with_command(client, server, entry, now, behind)
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


def _with_command(
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


_MOST_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned changes to a file."""

    path: Path
    changes: Sequence[Change]
    left: Sequence[Left]
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For a file that we do not rewrite: the lines that the person must write for each server."""


def servers_in(client: KnownClient, text: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The path to the servers in a client's file, and their entries; both empty when there are none."""
    if client.syntax == "by hand":
        return client.servers[0], read_yaml(client, text)
    whole = parse_toml(text) if client.syntax == "toml" else parse_jsonc(text)
    for place in client.servers:
        found: Any = whole
        for name in place:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict) and not isinstance(found.get("type"), str):
            return place, found
    return (), {}


def has_any(client: KnownClient, path: Path, servers: Collection[str]) -> bool:
    """Whether one of these servers is in a file; without names, whether any server is."""
    names = servers_in(client, _read(path).decode())[1]
    return any(name in servers for name in names) if servers else bool(names)


def plan(
    client: KnownClient,
    path: Path,
    *,
    servers: Collection[str] = (),
    undo: bool = False,
    gateway: Sequence[str] = (),
    backups: Path | None = None,
) -> Plan:
    """Plan the changes to a file. SetupError when it cannot be read, or a named server is not in it.

    `backups`: the directory of old files, from which an undo can restore the exact text.
    """
    if not path.exists():
        raise SetupError(
            f"{path}: there is no such file. Add a server in {client.title} first; or, if its configuration is "
            "elsewhere, say where with --file"
        )
    path = path.resolve()  # a symbolic link stays a link
    before = _read(path)
    place, entries = servers_in(client, text := before.decode("utf-8"))
    if missing := [name for name in servers if name not in entries]:
        raise SetupError(
            f"{path}: there is no server {missing[0]!r} in it; there is {', '.join(entries) or 'none'}"
        )
    found = [
        take_away(client, name, entry)
        if undo
        else put_before(client, name, entry, gateway or own_command(), chosen=name in servers)
        for name, entry in entries.items()
        if not servers or name in servers
    ]
    changes = [each for each in found if isinstance(each, Change)]
    left = [each for each in found if isinstance(each, Left)]
    if client.syntax == "by hand":
        told = {change.server: yaml_lines(client, change.members) for change in changes}
        return Plan(path, changes, left, before, before, told)
    original = _original(client, path, before, changes, backups) if undo and backups else None
    after = original or _changed(client, path, text, place, changes).encode()
    return Plan(path, changes, left, before, after)


def _changed(
    client: KnownClient, path: Path, text: str, place: Sequence[str], changes: Sequence[Change]
) -> str:
    """The changed text. It is parsed again: it must contain the intended entries and nothing else."""
    members = {change.server: change.members for change in changes}
    if client.syntax == "toml":
        after = rewrite_toml(text, place, members)
    else:
        after = rewrite_jsonc(text, place, members, client.inner)
    try:
        now = servers_in(client, after)[1]
    except SetupError:
        now = {}
    if now != _meant(client, text, changes):
        raise SetupError(
            f"{path}: this file is written in a way that cannot be changed safely; nothing was changed"
        )
    return after


def _meant(client: KnownClient, text: str, changes: Sequence[Change]) -> dict[str, Any]:
    """The intended entries."""
    meant = dict(servers_in(client, text)[1])
    for change in changes:
        was = meant[change.server]
        within = client.inner is not None and inner_of(client, was) is not was
        meant[change.server] = {**was, client.inner: change.entry} if within else change.entry
    return meant


def _original(
    client: KnownClient, path: Path, before: bytes, changes: Sequence[Change], backups: Path
) -> bytes | None:
    """The old file, if nobody changed it since we wrote it, and the undo covers all that we changed then."""
    now = _behind_us(client, before)
    for kept in sorted(backups.glob(f"*.{_digest(path, before)}.backup"), reverse=True):
        original = _read(kept)
        if now - _behind_us(client, original) == {change.server for change in changes}:
            return original
    return None


def _behind_us(client: KnownClient, raw: bytes) -> set[str]:
    """The servers in a file that go through the gateway."""
    entries = servers_in(client, raw.decode())[1]
    return {name for name, entry in entries.items() if through(client, entry) is not None}


def _digest(path: Path, written: bytes) -> str:
    """Part of a backup's name: it identifies the path and the text that replaced the old one."""
    return hashlib.sha256(str(path).encode() + b"\0" + written).hexdigest()[:32]


def backup_directory() -> Path:
    """The directory of old files. They are never kept beside a file, which may be in a repository."""
    return data_directory(os.environ) / "backups"


def write(plan: Plan, now: datetime, backups: Path) -> Path:
    """Write the planned file; returns the path of the backup. SetupError when the file changed meanwhile.

    Entries often contain tokens. The file keeps its mode; only its owner can read the backup.
    """
    if _read(plan.path) != plan.before:
        raise SetupError(f"{plan.path}: somebody changed it meanwhile; nothing was written, so look again")
    make_directory(backups)
    digest = _digest(plan.path, plan.after)
    backup = backups / f"{plan.path.name}.{now:%Y%m%d-%H%M%S-%f}.{digest}.backup"
    if not create_file(backup, plan.before):
        raise SetupError(f"{backup} is there already; nothing was written")
    handle, fresh = tempfile.mkstemp(prefix=f".{plan.path.name}.", dir=plan.path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(plan.after)
        shutil.copymode(plan.path, fresh)
        os.replace(fresh, plan.path)
    except OSError as error:
        Path(fresh).unlink(missing_ok=True)
        raise SetupError(f"{plan.path}: {error.strerror}; it is as it was") from None
    return backup


def own_command() -> list[str]:
    """Our own command with its full path: a client that was started from a desktop may have another PATH."""
    for folder in (
        Path(sysconfig.get_path("scripts")),
        *map(Path, os.environ.get("PATH", "").split(os.pathsep)),
    ):
        found = shutil.which("handraise", path=str(folder))
        if found is not None:
            return [str(Path(found).absolute())]
    raise SetupError("the command `handraise` is not found; install Handraise so that it is on your PATH")


def _read(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        raw.decode("utf-8")
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SetupError(f"{path}: this is not UTF-8") from None
    if len(raw) > _MOST_BYTES:
        raise SetupError(f"{path}: this is too long for a configuration")
    return raw
