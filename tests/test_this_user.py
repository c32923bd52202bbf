"""The user of this computer."""

from __future__ import annotations

import os
import socket

from handraise.questions import Person
from handraise.this_user import local_person


def test_the_local_person_is_the_user_whom_the_system_knows() -> None:
    assert local_person() == Person(socket.gethostname(), str(os.getuid()), "system")
