"""Linux tells whose connection it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from tests.pages.root import only_root

from handraise.pages.peers import Owner, can_tell_peers, find_owner, user_of_peer

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 3 1
"""


def test_the_row_is_the_clients_not_the_servers() -> None:
    lines = TABLE.splitlines()
    assert find_owner(lines, "0100007F:C350", "0100007F:1F90") == Owner(1001, 2)
    assert find_owner(lines, "0100007F:C351", "0100007F:1F90") is None


@pytest.mark.shows("L10")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_of_our_own_is_known_as_ours(host: str) -> None:
    assert can_tell_peers(), "these tests run on Linux"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()[:2]) as connected:
            client, server = connected.getsockname()[:2], connected.getpeername()[:2]
            assert user_of_peer(client, server) == os.getuid()
            assert user_of_peer((client[0], 1), server) is None
            assert user_of_peer(("nonsense", 1), server) is None


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
            assert user_of_peer(("127.0.0.1", port), listening.getsockname()) == 65534
            other.stdin.close()
