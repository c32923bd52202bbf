"""The user of this computer."""

from __future__ import annotations

import os
import pwd
import socket

from handraise.questions import Person
from handraise.this_user import local_person, person_name


def test_the_local_person_is_the_user_whom_the_system_knows() -> None:
    assert local_person() == Person(socket.gethostname(), str(os.getuid()), "system")


def test_a_user_of_this_computer_is_called_by_the_login_name_and_not_by_number() -> None:
    here = local_person()
    assert person_name(here.how, here.issuer, here.subject) == pwd.getpwuid(os.getuid()).pw_name


def test_anybody_else_is_called_by_the_subject() -> None:
    assert person_name("token", "https://id.example", "0") == "0"
    assert person_name("system", "another-computer", "0") == "0"
    assert person_name("system", socket.gethostname(), "4294967294") == "4294967294"
