"""The command itself, between real processes over real pipes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import StdioServerParameters
from tests.command import HANDRAISE, ROOT
from tests.forking import fork_at_terminal
from tests.gateway.peers import connect
from tests.server.peers import REVISIONS, Person, accept, text_of

from handraise.revisions import Revision

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}, "url": {}}}},
}

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"got": message}}), flush=True)
"""


@contextmanager
def started(script: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A gateway in front of a server that is a few lines of Python."""
    command = [*HANDRAISE, "gateway", *options, "--", sys.executable, "-c", script]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[bytes], *messages: Any) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.shows("W3")
def test_what_is_no_question_passes_unchanged() -> None:
    strange = {
        "jsonrpc": "2.0",
        "id": "x-1",
        "method": "vendor/odd",
        "params": {"a": [1, {"é": None}]},
        "extra": 1.50,
    }
    with started(ECHO) as process:
        send(process, HELLO, strange)
        receive(process)
        assert receive(process)["result"]["got"] == strange


def test_lines_in_pieces_and_long_ones_arrive_whole() -> None:
    long = {"jsonrpc": "2.0", "id": 2, "method": "long", "params": {"text": "ü" * 2_000_000}}
    with started(ECHO) as process:
        assert process.stdin is not None
        raw = json.dumps(HELLO).encode() + b"\n"
        for start in range(0, len(raw), 7):
            process.stdin.write(raw[start : start + 7])
            process.stdin.flush()
        receive(process)
        send(process, long)
        assert receive(process)["result"]["got"] == long


def test_a_slow_client_slows_the_server_down_and_not_us() -> None:
    """The server writes sixty megabytes at once; the gateway may not take them all before they are read."""
    flood = """
import json, sys
json.loads(sys.stdin.readline())
line = json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": {"t": "x" * 60000}})
for number in range(1000):
    print(line, flush=True)
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
sys.stdin.readline()
"""
    with started(flood) as process:
        send(process, HELLO)
        receive(process)
        held = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
        assert int(held) * os.sysconf("SC_PAGE_SIZE") < 60_000_000
        for _ in range(999):
            receive(process)
        assert receive(process)["id"] == 1


def test_standard_error_and_the_exit_status_are_the_servers() -> None:
    with started(
        "import sys; print('oh no', file=sys.stderr); sys.stdin.readline(); sys.exit(42)"
    ) as process:
        send(process, HELLO)
        assert process.wait(10) == 42
        assert process.stderr is not None
        assert process.stderr.read() == b"oh no\n"


def test_the_end_of_the_input_ends_the_server_in_good_order() -> None:
    with started(ECHO + "print('bye', file=sys.stderr)") as process:
        send(process, HELLO)
        assert process.stdin is not None
        process.stdin.close()
        assert receive(process)["id"] == 1
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b"bye\n"


def test_a_gateway_without_any_input_ends_at_once_and_says_nothing() -> None:
    done = subprocess.run(
        [*HANDRAISE, "gateway", "--", sys.executable, "-c", ECHO],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_signals_reach_the_server(number: signal.Signals) -> None:
    server = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: sys.exit(9))
print('{{"jsonrpc": "2.0", "method": "notifications/ready"}}', flush=True)
while True:
    time.sleep(0.01)
"""
    with started(server) as process:
        send(process, HELLO)
        receive(process)
        process.send_signal(number)
        assert process.wait(10) == 9


def test_ctrl_c_at_the_terminal_of_an_http_gateway_ends_it_without_noise_of_the_server() -> None:
    command = [*HANDRAISE, "gateway", "--http", "127.0.0.1:0", "--", sys.executable, "-c", ECHO]
    child, terminal = fork_at_terminal(lambda: os.execvp(command[0], command))
    shown = ""
    while (found := re.search(r"http://127\.0\.0\.1:\d+/mcp", shown)) is None:
        assert select.select([terminal], [], [], 30)[0], shown
        shown += os.read(terminal, 4096).decode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    assert b"got" in httpx.post(found[0], json=HELLO, headers=headers, timeout=30).content
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the terminal is gone with the command
        while select.select([terminal], [], [], 30)[0] and (came := os.read(terminal, 4096)):
            shown += came.decode()
    os.close(terminal)
    os.waitpid(child, 0)
    assert "Traceback" not in shown
    assert "KeyboardInterrupt" not in shown


@pytest.mark.parametrize("command", ["gateway", "call"])
def test_a_server_gets_our_environment_and_what_was_added(command: str, tmp_path: Path) -> None:
    file = tmp_path / "seen"
    script = f"import os; open({str(file)!r}, 'w').write(os.environ['OURS'] + os.environ['ADDED'])"
    words = [*HANDRAISE, command, "--env", "ADDED=b=c", "--", sys.executable, "-c", script]
    subprocess.run(
        words, cwd=ROOT, env={**os.environ, "OURS": "a"}, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert file.read_text() == "ab=c"


@pytest.mark.shows("W8")
def test_a_server_gets_no_key_of_the_gateway_that_was_not_added(tmp_path: Path) -> None:
    """With the vault's key it could open the accounts that people connected to other servers."""
    file = tmp_path / "seen"
    keys = ("CLIENT_SECRET", "DESK_SECRET", "STORE_KEYS", "VAULT_KEY")
    script = f"import os; open({str(file)!r}, 'w').write(' '.join(sorted(os.environ)))"
    words = [*HANDRAISE, "gateway", "--env", "HANDRAISE_STORE_KEYS=own", "--", sys.executable, "-c", script]
    given = {**os.environ, "OURS": "a", **{f"HANDRAISE_{key}": "ab" * 32 for key in keys}}
    given["HANDRAISE_LEDGER"] = "postgresql://ann:hunter2@db.example/ledger"
    subprocess.run(words, cwd=ROOT, env=given, stdin=subprocess.DEVNULL, capture_output=True)
    seen = file.read_text().split()
    assert "OURS" in seen
    assert [key for key in keys if f"HANDRAISE_{key}" in seen] == ["STORE_KEYS"]
    assert "HANDRAISE_LEDGER" not in seen  # with it, it could change what the ledger says


def test_a_command_that_cannot_be_started_is_named() -> None:
    done = subprocess.run(
        [*HANDRAISE, "gateway", "--", "/no/such/server"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 2
    assert b"/no/such/server cannot be started" in done.stderr


def test_nothing_is_loaded_that_a_gateway_over_standard_streams_does_not_need() -> None:
    heavy = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "httpx2"}
    probe = f"import sys; import handraise.gateway.serve; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b"[]\n"


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_the_sdks_client_is_served_through_the_command(revision: Revision, tmp_path: Path) -> None:
    target = StdioServerParameters(
        command=HANDRAISE[0],
        args=[*HANDRAISE[1:], "gateway", "--", sys.executable, "-m", "tests.gateway.notes", "stdio"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    async with connect(target, revision, Person(accept(answer="old"))) as client:
        assert text_of(await client.call_tool("echo", {"text": "plain"})) == "plain"
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_command_serves_over_http_what_it_reaches_over_http(tmp_path: Path) -> None:
    """`--http` in front of a process, and `--url` in front of that."""
    notes = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
    around = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    with subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [*HANDRAISE, "gateway", "--http", "127.0.0.1:0", "--", *notes],
        cwd=ROOT,
        env=around,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            running, clients, servers, questions = (process.stderr.readline() for _ in range(4))
            assert (running, servers) == (
                "The gateway is running; Ctrl+C ends it.\n",
                "  servers    tests.gateway.notes\n",
            )
            assert questions.endswith("at the desk: handraise inbox\n")
            target = StdioServerParameters(
                command=HANDRAISE[0],
                args=[*HANDRAISE[1:], "gateway", "--url", clients.split()[-1]],
                cwd=ROOT,
                env=around,
            )
            person = Person(accept(answer="old"))
            async with connect(target, Revision.JULY_2026, person) as client:
                assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"
        finally:
            process.terminate()
