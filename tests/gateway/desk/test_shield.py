"""The desk is closed to what the client started, whatever it knows."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from handraise.gateway.desk.shield import Shield

VISIT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as visit:
    print(visit.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@pytest.mark.shows("W9")
def test_a_connection_is_refused_when_the_client_started_who_is_at_its_other_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        desk = listening.getsockname()
        command = [sys.executable, "-c", VISIT, str(desk[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
            assert shell.stdout is not None
            visitor = ("127.0.0.1", int(shell.stdout.readline()))
            assert not Shield(shell.pid).lets_sign_in(visitor, desk)
            assert not Shield(os.getpid()).lets_sign_in(visitor, desk)  # we are the client, and started it
            assert Shield(None).lets_sign_in(visitor, desk)
            with subprocess.Popen([sys.executable, "-c", ""]) as other:
                assert Shield(other.pid).lets_sign_in(visitor, desk)
            assert Shield(shell.pid).lets_sign_in(("127.0.0.1", 1), desk)  # nobody is known to be there
            shell.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such switch")
def test_our_memory_is_for_nobody_else() -> None:
    code = (
        "import ctypes; from handraise.gateway.desk.shield import keep_memory_private as keep; "
        "now = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0); before = now(); keep(); print(before, now())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"1 0\n"
