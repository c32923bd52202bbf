"""Facts about the programs on this computer, as Linux tells them in /proc.

Find the user of a connection, the process that holds it, and that process's parents. If the system hides
something, every function here returns None. Callers must treat None as a no.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

SocketAddress = tuple[str, int]

_PROC: Final = Path("/proc")
_TABLES: Final = ((_PROC / "net/tcp", socket.AF_INET), (_PROC / "net/tcp6", socket.AF_INET6))
_MOST_ANCESTORS: Final = 256
_SET_DUMPABLE: Final = 4
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_XUCRED: Final = "2ih16i"
"""The peer credentials of macOS: a version, the user, and groups."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `pid` and `started` together name it for good: a pid alone is used again."""

    pid: int
    started: int
    """Clock ticks between the system's start and the process's."""
    parent: int
    session: int
    """The pid of the leader of its session."""
    has_terminal: bool
    name: str
    """The program's name, at most 15 characters of it."""
    arguments: tuple[str, ...]
    group: str | None
    """Its control group (version 2), as a path."""

    @property
    def key(self) -> tuple[int, int]:
        """Unique among all processes, including earlier and later ones."""
        return (self.pid, self.started)


class UnixPeer(NamedTuple):
    """The process at the other end of a Unix socket."""

    pid: int
    user: int


class SocketOwner(NamedTuple):
    """The owner of one end of a TCP connection."""

    user: int
    inode: int
    """The system's number for the socket."""


def can_tell() -> bool:
    """Whether this system says whose a connection is and where a process comes from.

    False on macOS and Windows, where /proc is hidden, and under WSL: there a browser on Windows comes through a relay
    that belongs to another user.
    """
    if sys.platform != "linux" or "microsoft" in os.uname().release.lower():
        return False
    return os.access(_TABLES[0][0], os.R_OK) and read_process(1) is not None


def read_process(pid: int) -> Process | None:
    """The process with this pid; None when there is none, or the system hides it."""
    folder = _PROC / str(pid)
    try:
        name, _, rest = (folder / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
        columns = rest.split()
        arguments = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        return Process(
            pid=pid,
            parent=int(columns[1]),
            session=int(columns[3]),
            has_terminal=columns[4] != "0",
            started=int(columns[19]),
            name=name,
            arguments=tuple(arguments),
            group=_control_group(folder),
        )
    except (OSError, ValueError, IndexError):
        return None


def ancestors(pid: int) -> tuple[Process, ...] | None:
    """A process, its parent, and so on up to the first process of the system; None when one of them is hidden."""
    found: list[Process] = []
    while pid > 0:
        process = read_process(pid)
        if process is None or len(found) == _MOST_ANCESTORS:
            return None
        found.append(process)
        pid = process.parent
    return tuple(found) or None


def unix_peer(connection: socket.socket) -> UnixPeer | None:
    """The process at the other end of a Unix socket."""
    if connection.family != getattr(socket, "AF_UNIX", None):
        return None
    if sys.platform == "darwin":
        raw = connection.getsockopt(0, _LOCAL_PEERCRED, struct.calcsize(_XUCRED))
        return UnixPeer(connection.getsockopt(0, _LOCAL_PEERPID), struct.unpack(_XUCRED, raw)[1])
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, _ = struct.unpack("3i", raw)
    return UnixPeer(pid, user)


def tcp_peer(client: SocketAddress, server: SocketAddress) -> SocketOwner | None:
    """The owner of the client's end of a connection from `client` to `server`."""
    for path, family in _TABLES:
        try:
            wanted = (_as_the_kernel_writes(client, family), _as_the_kernel_writes(server, family))
            with path.open() as table:
                found = find_owner(table, *wanted)
        except (OSError, ValueError):
            continue
        if found is not None:
            return found
    return None


def find_owner(table: Iterable[str], client: str, server: str) -> SocketOwner | None:
    """The owner of the row in which `client` talks to `server`.

    A connection that its client closed has inode 0 and user 0: it has no owner.
    """
    for line in table:
        if client not in line:  # thousands of rows are of other connections
            continue
        columns = line.split()
        if columns[1:3] == [client, server] and len(columns) > 9 and columns[9] != "0":
            return SocketOwner(int(columns[7]), int(columns[9]))
    return None


def holders_of(inode: int) -> frozenset[int]:
    """The processes that hold a socket. A process that hides its files from this user is not found."""
    return frozenset(pid for pid in map(int, filter(str.isdigit, os.listdir(_PROC))) if holds(pid, inode))


def holds(pid: int, inode: int) -> bool:
    """Whether a process holds a socket. False when it hides its files from this user."""
    # Plain strings: a system has thousands of open files, and a `Path` for each takes four times as long.
    folder, wanted = f"{_PROC}/{pid}/fd", f"socket:[{inode}]"
    try:
        files = os.listdir(folder)
    except OSError:  # it ended, or this user may not look
        return False
    return any(_target(f"{folder}/{file}") == wanted for file in files)


def _target(link: str) -> str | None:
    """Where a link leads; None when it is gone. A browser closes files all the time."""
    try:
        return os.readlink(link)
    except OSError:
        return None


def keep_memory_private() -> None:
    """Prevent other programs of this user from reading our memory or tracing us, if the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _control_group(folder: Path) -> str | None:
    for line in (folder / "cgroup").read_text(errors="replace").splitlines():
        if line.startswith("0::"):
            return line[3:]
    return None


def _as_the_kernel_writes(address: SocketAddress, family: socket.AddressFamily) -> str:
    """An address as in /proc/net/tcp: words in the byte order of the machine, in hexadecimal."""
    packed = _packed(address[0], family)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"


def _packed(host: str, family: socket.AddressFamily) -> bytes:
    if family is socket.AF_INET6 and ":" not in host:
        host = f"::ffff:{host}"
    return socket.inet_pton(family, host)
