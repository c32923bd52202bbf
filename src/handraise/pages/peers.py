"""Whose program is at the other end of a connection on this computer.

Unix sockets tell (SO_PEERCRED); TCP does not, but Linux lists every connection with the user who owns it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

Address = tuple[str, int]

_TABLES: Final = ((Path("/proc/net/tcp"), socket.AF_INET), (Path("/proc/net/tcp6"), socket.AF_INET6))


def can_tell_peers() -> bool:
    """Whether this system says whose a connection is.

    Not under WSL: a browser on Windows comes through a relay that belongs to another user.
    """
    try:
        return os.access(_TABLES[0][0], os.R_OK) and "microsoft" not in os.uname().release.lower()
    except AttributeError:  # no uname: Windows
        return False


class Owner(NamedTuple):
    """Whose one end of a connection is."""

    user: int
    inode: int
    """The system's number for the socket."""


def user_of_peer(client: Address, server: Address) -> int | None:
    """The user id behind a connection from `client` to `server`; None when nothing tells."""
    owner = owner_of_peer(client, server)
    return None if owner is None else owner.user


def owner_of_peer(client: Address, server: Address) -> Owner | None:
    """Whose the client's end of a connection from `client` to `server` is; None when nothing tells."""
    for path, family in _TABLES:
        try:
            wanted = (_written(client, family), _written(server, family))
            with path.open() as table:
                found = find_owner(table, *wanted)
        except (OSError, ValueError):
            continue
        if found is not None:
            return found
    return None


def find_owner(table: Iterable[str], client: str, server: str) -> Owner | None:
    """The owner of the row in which `client` talks to `server`."""
    for line in table:
        columns = line.split()
        if columns[1:3] == [client, server] and len(columns) > 9:
            return Owner(int(columns[7]), int(columns[9]))
    return None


def _written(address: Address, family: socket.AddressFamily) -> str:
    """An address as the kernel writes it: words in the byte order of the machine, in hexadecimal."""
    packed = _packed(address[0], family)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"


def _packed(host: str, family: socket.AddressFamily) -> bytes:
    if family is socket.AF_INET6 and ":" not in host:
        host = f"::ffff:{host}"
    return socket.inet_pton(family, host)
