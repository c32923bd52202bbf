"""Rewrite a client's file so that its servers go through the gateway, or no longer do. The old file is kept."""

from __future__ import annotations

import hashlib
import os
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
from handraise.gateway.clients.entries import Change, Left, inner_of, put_before, take_away, through
from handraise.gateway.clients.table import KnownClient
from handraise.gateway.clients.texts import (
    parse_jsonc,
    parse_toml,
    read_yaml,
    rewrite_jsonc,
    rewrite_toml,
    yaml_lines,
)
from handraise.policy.places import data_directory

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
        told = {change.server: yaml_lines(client, change) for change in changes}
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
