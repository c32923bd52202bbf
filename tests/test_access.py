"""A desk is closed to other users, and to everything that the client started, whatever it knows."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from handraise.access import Access, AccessCheck, Family, family_of, find_family
from handraise.processes import Process, SocketAddress
from tests.another_user import NOBODY, as_another_user, only_root
from tests.command import ROOT
from tests.login_shell import from_login_shell

pytestmark = pytest.mark.shows("W9")

CLIENT = """
import os, subprocess, sys
script = "import os; print(os.getpid(), flush=True); input()"
helpers = [
    subprocess.Popen([*words.split(), sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for words in sys.argv[1:]
]
print(os.getpid(), *(each.stdout.readline().decode().strip() for each in helpers), flush=True)
sys.stdin.read()
for each in helpers:
    each.communicate(b"\\n")
"""
"""A client with helpers, each started by some words: it tells its pid and theirs, and stays."""


@contextmanager
def client(*helpers: str, launcher: tuple[str, ...] = ()) -> Iterator[list[int]]:
    """A client that a person started from their login shell; its pid and those of its helpers."""
    command = [*launcher, sys.executable, "-c", CLIENT, *helpers]
    with from_login_shell(command, dict(os.environ), ROOT) as started:
        yield [int(pid) for pid in started.stdout.readline().split()]


@contextmanager
def connection() -> Iterator[tuple[SocketAddress, SocketAddress]]:
    """A connection of this process to itself: both ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        desk = listening.getsockname()
        with socket.create_connection(desk) as visit:
            yield visit.getsockname(), desk


def test_everything_that_the_client_started_is_refused() -> None:
    with client("env", "nice setsid", 'sh -c $0\\ "$@"') as (top, *helpers):
        for gateway_starter in (top, *helpers):  # whichever of them started the gateway
            access = AccessCheck()
            access.add_client(gateway_starter)
            assert {access.of_process(pid) for pid in (top, *helpers)} == {"client"}
            assert access.of_process(os.getpid()) == "own"


def test_the_family_begins_just_below_the_login_shell() -> None:
    with (
        client("env", launcher=("env", "sh", "-c", '"$@"; true', "-")) as (top, helper),
        client() as (other,),
    ):
        family = family_of(helper)
        assert family is not None
        launcher = parent_of(top)
        assert family.top[0] == launcher
        access = AccessCheck()
        access.add_client(helper)
        assert access.of_process(launcher) == "client"
        assert access.of_process(parent_of(launcher)) == "own"  # the login shell itself
        assert access.of_process(other) == "own"


def test_a_client_that_is_gone_or_was_never_known_lets_nobody_in_without_a_proof() -> None:
    for unknown in (2**22 + 1, 1):  # no such process; the service manager, as the parent of what was detached
        access = AccessCheck()
        access.add_client(unknown)
        assert access.of_process(os.getpid()) == "unknown"
        with connection() as ends:
            assert access.of_connection(*ends) == "unknown"


def test_a_desk_in_another_process_keeps_out_the_families_that_it_is_told_of() -> None:
    with client("env") as (top, helper):
        there = AccessCheck()
        there.add_client(top)
        told = json.loads(json.dumps(there.dump_families()))
        here = AccessCheck()
        here.add_families([])
        assert here.of_process(os.getpid()) == "unknown"  # no client is known: anybody may be a part of one
        here.add_families([[], told])
        assert (here.of_process(helper), here.of_process(os.getpid())) == ("client", "own")
        for hidden in (None, "text", [["1", 2, None]]):  # one of several desks does not tell
            here.add_families([told, hidden])
            assert here.of_process(os.getpid()) == "unknown"
        here.add_families([told])
        with connection() as ends:
            assert here.of_connection(*ends) == "own"
            here.add_families([None])
            assert here.of_connection(*ends) == "unknown"  # what was seen before does not count any more


def lineage(*names: str) -> tuple[Process, ...]:
    """Made-up processes, each the child of the next one. `bash*` is a login shell; `name@group` is in a group."""
    found = []
    for place, described in enumerate(names):
        name, _, group = described.partition("@")
        words = tuple(name.strip("*").split(" "))
        pid = len(names) - place + (0 if names[-1][:4] in ("syst", "init") else 100)
        leads = name.endswith("*")
        terminal_of = pid if leads else 0
        found.append(Process(pid, 7, pid - 1, terminal_of, leads, words[0], words, f"/{group}"))
    return tuple(found)


@pytest.mark.parametrize(
    ("names", "top", "group"),
    [
        (["claude", "bash*", "gnome-terminal-", "systemd", "systemd"], "claude", None),
        (["sh", "node", "claude", "zsh*", "konsole", "systemd"], "claude", None),
        (["sh", "exthost", "code@a", "gnome-shell@b", "systemd"], "code@a", "/a"),
        (["sh", "exthost", "code@a", "bash*@a", "kitty", "systemd"], "code@a", None),
        (["claude", "bash*", "ptyhost", "code", "gnome-shell", "systemd"], "claude", None),
        (["claude*", "kitty", "sway", "systemd"], "claude*", None),
        (["node", "bash -c run*", "claude", "bash*", "sshd", "systemd"], "claude", None),
        (["node", "bash run.sh*", "claude", "fish --init-command x*", "sshd", "systemd"], "claude", None),
        (["node", "unknown-desktop", "Xorg", "init"], "Xorg", None),
        (["python", "pytest", "harness@own", "init@root"], "harness@own", "/own"),
        (["python", "entered"], "entered", None),
    ],
)
def test_the_topmost_process_is_found_below_what_starts_programs_for_the_person(
    names: list[str], top: str, group: str | None
) -> None:
    processes = lineage(*names)
    family = find_family(processes)
    assert family == Family(processes[names.index(top)].key, group)


def test_a_shell_that_shows_no_arguments_is_no_login_shell() -> None:
    client, shell, terminal, system = lineage("claude", "bash*", "kitty", "systemd")
    hidden = replace(shell, arguments=())
    assert find_family((client, hidden, terminal, system)) == Family(shell.key, None)


def test_a_client_that_starts_programs_for_the_person_is_no_client() -> None:
    for name in ("systemd", "screen", "gnome-shell"):
        assert find_family(lineage(name, "systemd")) is None


def test_a_control_group_of_its_own_finds_programs_that_detached_themselves() -> None:
    detached = lineage("python@app/editor.scope/helper", "systemd")
    assert Family((5, 7), "/app/editor.scope").has(detached)
    assert not Family((5, 7), "/app/editor.sc").has(detached)
    assert not Family((5, 7), None).has(detached)
    assert not Family((2, 8), None).has(detached)  # the same pid, another process


def test_a_connection_of_our_own_is_known_and_one_without_an_owner_is_not() -> None:
    access = AccessCheck()
    with connection() as (visitor, desk):
        assert access.of_connection(visitor, desk) == "own"
        assert access.of_connection((visitor[0], 1), desk) == "unknown"
        assert not access.add_client_at((visitor[0], 1), desk)
        assert access.add_client_at(visitor, desk)
        assert access.of_connection(visitor, desk) == "client"


def test_a_second_connection_of_a_client_is_let_in_and_one_of_a_new_program_is_looked_into() -> None:
    """The second program has its own family, which the desk must keep out, too."""
    code = (
        "import socket, sys; visit = socket.socket(); visit.connect(('127.0.0.1', int(sys.argv[1])))\n"
        "print(visit.getsockname()[1], flush=True); sys.stdin.read()"
    )
    access = AccessCheck()
    with connection() as first, connection() as second:
        assert access.add_client_at(*first)
        assert access.add_client_at(*second)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        desk = listening.getsockname()
        command = [sys.executable, "-c", code, str(desk[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            visitor = ("127.0.0.1", int(other.stdout.readline()))
            assert access.add_client_at(visitor, desk)
            assert access.of_connection(visitor, desk) == "client"
            other.communicate()


@only_root
def test_a_connection_of_another_user_is_refused() -> None:
    code = (
        "import os, socket, sys; os.setuid(int(sys.argv[1]))\n"
        "visit = socket.socket(); visit.connect(('127.0.0.1', int(sys.argv[2])))\n"
        "print(visit.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        desk = listening.getsockname()
        command = [sys.executable, "-c", code, str(NOBODY), str(desk[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            visitor = ("127.0.0.1", int(other.stdout.readline()))
            access = AccessCheck()
            assert access.of_connection(visitor, desk) == "another_user"
            assert not access.add_client_at(visitor, desk)
            other.communicate()


@only_root
def test_a_program_that_hides_its_files_is_unknown_and_not_let_in() -> None:
    """As an ordinary user: root sees everything."""
    assert as_another_user(lambda: [seen_of_a_child(hidden=hidden) for hidden in (False, True)]) == [
        "own",
        "unknown",
    ]


def seen_of_a_child(*, hidden: bool) -> Access:
    """What a desk knows of a child of this process that connects to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        desk = listening.getsockname()
        ready, tells = os.pipe()
        leave, stays = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(stays)
            ctypes.CDLL(None).prctl(4, 0 if hidden else 1, 0, 0, 0)  # PR_SET_DUMPABLE
            with socket.create_connection(desk) as visit:
                os.write(tells, str(visit.getsockname()[1]).encode())
                os.read(leave, 1)
            os._exit(0)
        listening.close()
        seen = AccessCheck().of_connection(("127.0.0.1", int(os.read(ready, 10))), desk)
        os.close(stays)
        os.waitpid(child, 0)
        return seen


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
