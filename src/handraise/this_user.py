"""The user of this computer, who is the person of everything local."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from functools import cache

from handraise.questions import Person


def person_name(how: str, issuer: str, subject: str) -> str:
    """A person's readable name: for a user of this computer, the login name."""
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
