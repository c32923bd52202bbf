"""Linux tells whose connection it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from handraise.processes import (
    SocketOwner,
    ancestors,
    can_tell,
    find_owner,
    holders_of,
    read_process,
    tcp_peer,
)
from tests.another_user import only_root

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 3 1
   3: 0100007F:C352 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 0 1
"""


def test_the_row_is_the_clients_not_the_servers() -> None:
    lines = TABLE.splitlines()
    assert find_owner(lines, "0100007F:C350", "0100007F:1F90") == SocketOwner(1001, 2)
    assert find_owner(lines, "0100007F:C351", "0100007F:1F90") is None


def test_a_connection_that_its_client_closed_is_nobodys_and_not_roots() -> None:
    assert find_owner(TABLE.splitlines(), "0100007F:C352", "0100007F:1F90") is None


@pytest.mark.shows("L10")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_of_our_own_is_known_as_ours(host: str) -> None:
    assert can_tell(), "these tests run on Linux"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()[:2]) as connected:
            client, server = connected.getsockname()[:2], connected.getpeername()[:2]
            owner = tcp_peer(client, server)
            assert owner is not None
            assert owner.user == os.getuid()
            assert os.getpid() in holders_of(owner.inode)
            assert tcp_peer((client[0], 1), server) is None
            assert tcp_peer(("nonsense", 1), server) is None


def test_a_process_that_opens_and_closes_files_all_the_time_is_found() -> None:
    """A browser does. A file that is gone between listing and reading says nothing about the others."""
    busy = (
        "import os, socket, sys, threading\n"
        "first = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "held = os.dup2(first.fileno(), 500); first.close()\n"
        "def churn():\n"
        "    while True: [os.close(each) for each in [os.open('/dev/null', 0) for _ in range(200)]]\n"
        "threading.Thread(target=churn, daemon=True).start()\n"
        "print(os.fstat(held).st_ino, flush=True); sys.stdin.read()"
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = [sys.executable, "-c", busy, str(listening.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as browser:
            assert browser.stdout is not None
            inode = int(browser.stdout.readline())
            assert all(holders_of(inode) == {browser.pid} for _ in range(50))
            browser.communicate()


@pytest.mark.shows("L10")
@only_root
def test_a_connection_of_another_user_is_known_as_theirs() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        code = (
            "import os, socket, sys; os.setuid(65534)\n"
            f"one = socket.socket(); one.connect(('127.0.0.1', {listening.getsockname()[1]}))\n"
            "print(one.getsockname()[1], flush=True); sys.stdin.read()"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with other:
            assert other.stdout is not None
            assert other.stdin is not None
            port = int(other.stdout.readline())
            owner = tcp_peer(("127.0.0.1", port), listening.getsockname())
            assert owner is not None
            assert owner.user == 65534
            other.stdin.close()


def test_our_memory_is_for_nobody_else() -> None:
    code = (
        "import ctypes; from handraise.processes import keep_memory_private as keep; "
        "now = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0); before = now(); keep(); print(before, now())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"1 0\n"


def test_a_process_tells_its_parent_its_terminal_and_its_arguments() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()", "a b)("],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()  # while it is being started, it has no arguments yet
        process = read_process(child.pid)
        assert process is not None
        assert (process.parent, process.session, process.has_terminal) == (os.getpid(), child.pid, False)
        assert process.arguments[-1] == "a b)("
        lineage = ancestors(child.pid)
        assert lineage is not None
        assert [each.pid for each in lineage[:2]] == [child.pid, os.getpid()]
        assert lineage[-1].parent == 0
        child.communicate(b"\n")
    assert read_process(child.pid) is None
    assert ancestors(child.pid) is None
