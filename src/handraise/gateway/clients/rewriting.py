"""A client's file, rewritten so that its servers go through the gateway, or no more. Nothing is lost on the way."""

from __future__ import annotations

import os
import shutil
import sysconfig
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from handraise.disk import create_file
from handraise.errors import SetupError
from handraise.gateway.clients import goose, jsonc, toml_text
from handraise.gateway.clients.entries import Change, Left, put_before, take_away
from handraise.gateway.clients.table import KnownClient

_MOST_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """What would become of a file."""

    path: Path
    changes: Sequence[Change]
    left: Sequence[Left]
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For each server the lines that the person writes themselves, in a file that is not rewritten."""


def servers_in(client: KnownClient, text: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Where a client's servers stand in its file, and their entries; nowhere and none when there are none."""
    if client.syntax == "by hand":
        return client.servers[0], goose.read_extensions(text)
    whole = toml_text.parse(text) if client.syntax == "toml" else jsonc.parse(text).value
    for place in client.servers:
        found: Any = whole
        for name in place:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict) and not isinstance(found.get("type"), str):
            return place, found
    return (), {}


def has_any(client: KnownClient, path: Path, servers: Collection[str]) -> bool:
    """Whether one of these servers is in a file."""
    return any(name in servers for name in servers_in(client, _read(path).decode())[1])


def plan(
    client: KnownClient,
    path: Path,
    *,
    servers: Collection[str] = (),
    undo: bool = False,
    gateway: Sequence[str] = (),
) -> Plan:
    """What to change in a file. SetupError when it cannot be read, or a server that was named is not in it."""
    if not path.exists():
        raise SetupError(
            f"{path}: there is no such file. Add a server in {client.title} first; or, if its configuration is "
            "elsewhere, say where with --file"
        )
    path = path.resolve()  # a link to where the file really is stays a link
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
        told = {change.server: goose.lines_to_write(change) for change in changes}
        return Plan(path, changes, left, before, before, told)
    after = _changed(client, path, text, place, changes)
    return Plan(path, changes, left, before, after.encode())


def _changed(
    client: KnownClient, path: Path, text: str, place: Sequence[str], changes: Sequence[Change]
) -> str:
    """The text after the changes, read once more: it must say what was meant, and nothing else."""
    rewrite = toml_text.rewrite if client.syntax == "toml" else jsonc.rewrite
    after = rewrite(text, place, {change.server: change.members for change in changes})
    meant = dict(servers_in(client, text)[1]) | {change.server: change.entry for change in changes}
    try:
        now = servers_in(client, after)[1]
    except SetupError:
        now = {}
    if now != meant:
        raise SetupError(
            f"{path}: this file is written in a way that cannot be changed safely; nothing was changed"
        )
    return after


def write(plan: Plan, now: datetime) -> Path:
    """Do it; where the file as it was is kept. SetupError when somebody else changed it meanwhile.

    Entries often hold tokens. The file is the client's, and keeps its mode; the copy is for its owner alone.
    """
    if _read(plan.path) != plan.before:
        raise SetupError(f"{plan.path}: somebody changed it meanwhile; nothing was written, so look again")
    backup = plan.path.with_name(f"{plan.path.name}.{now:%Y%m%d-%H%M%S-%f}.backup")
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
    """Our own command with its full path, because a client that was started from a desktop may know no other."""
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
