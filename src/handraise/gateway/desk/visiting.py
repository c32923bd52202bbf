"""The other side of a gateway's door: find the gateways of this user, and ask something of one. Plain and blocking."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from handraise.desks.counter.place import counter_directories, require_private
from handraise.errors import SetupError
from handraise.gateway.desk.door import DOOR

_PATIENCE: Final = 10.0
_LONGEST_REPLY: Final = 32 * 1024 * 1024


def doors() -> Iterator[Path]:
    """The doors that are there, or were."""
    for directory in counter_directories(os.environ):
        with suppress(OSError, SetupError):
            require_private(directory)
            yield from sorted(path for path in directory.iterdir() if path.suffix == DOOR)


def knock(door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reply to a request; None when nobody is there any more."""
    try:
        with socket.socket(socket.AF_UNIX) as visit, visit.makefile("rwb") as stream:
            visit.settimeout(_PATIENCE)
            visit.connect(str(door))
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            reply = json.loads(stream.readline(_LONGEST_REPLY))
    except ConnectionRefusedError:
        with suppress(OSError):
            door.unlink()  # its process ended without tidying up
        return None
    except (OSError, ValueError):
        return None
    return reply if isinstance(reply, dict) else None
