"""The user of this computer: the person of everything that is not reached over a network."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from functools import cache

from handraise.questions import Person


def person_name(how: str, issuer: str, subject: str) -> str:
    """A person by the name that people know: of a user of this computer it is the login name, not the number."""
    if how == "system" and subject.isdigit() and issuer == socket.gethostname():
        with suppress(ImportError, KeyError, OverflowError):
            import pwd

            return pwd.getpwuid(int(subject)).pw_name
    return subject


@cache
def local_person() -> Person:
    """The user of the operating system that this process runs as."""
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Person(socket.gethostname(), user, "system")
