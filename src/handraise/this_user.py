"""Who uses this computer: the person of everything that is not reached over a network."""

from __future__ import annotations

import getpass
import os
import socket
from functools import cache

from handraise.questions import Person


@cache
def local_person() -> Person:
    """The user of the operating system that this process runs as."""
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Person(socket.gethostname(), user, "system")
