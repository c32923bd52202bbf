"""Between a client and its server nothing changes but that somebody watches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from handraise.errors import SetupError
from handraise.trace import Trace
from handraise.trace.relay import relay

ECHO = "import sys; [(sys.stdout.buffer.write(line), sys.stdout.flush()) for line in sys.stdin.buffer]; sys.exit(7)"


def through(command: list[str], given: bytes) -> tuple[int, bytes, str]:
    """What comes out of a relay at which a client writes `given` and then hangs up."""
    written: list[str] = []
    from_client, to_relay = os.pipe()
    reading, writing = os.pipe()

    def client() -> None:
        with os.fdopen(to_relay, "wb") as end:
            end.write(given)

    came = bytearray()

    def listen() -> None:
        with os.fdopen(reading, "rb") as end:
            came.extend(end.read())

    threads = [threading.Thread(target=client), threading.Thread(target=listen)]
    for thread in threads:
        thread.start()
    try:
        status = relay(command, Trace(written.append), client=(from_client, writing))
    finally:
        os.close(writing)
        for thread in threads:
            thread.join(10)
        os.close(from_client)
    return status, bytes(came), "".join(written)


def test_bytes_pass_unchanged_and_the_exit_status_is_the_servers() -> None:
    given = b'{"jsonrpc": "2.0",  "method":"ping"}\r\n' + bytes(range(256)) * 2000 + b"\nno end of line"
    status, came, traced = through([sys.executable, "-c", ECHO], given)
    assert came == given
    assert status == 7
    assert traced.startswith("    0.")
    assert "→ ping" in traced
    assert "← ping" in traced


def test_a_server_that_a_signal_ended_is_told_as_a_shell_does() -> None:
    status, _, _ = through([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], b"")
    assert status == 137


def test_a_server_that_cannot_be_started_is_said_to_be_so() -> None:
    with pytest.raises(SetupError, match="cannot be started"):
        relay(["/nonexistent/server"], Trace(print))


@pytest.mark.slow
def test_a_trace_that_nobody_reads_holds_nothing_up() -> None:
    """Some clients never read a server's standard error."""
    given = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}\n' % (b"x" * 500) * 2000
    program = [sys.executable, "-c", "from handraise.cli import main; main()", "trace", "--"]
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [*program, sys.executable, "-c", ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=writing,
        )
        came, _ = process.communicate(given, timeout=30)
    finally:
        os.close(reading)
        os.close(writing)
    assert came == given
    assert process.returncode == 7
