"""`handraise trace` and `handraise call --trace`: what crosses the wire, for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.cli.conftest import ROOT, Handraise, around
from tests.cli.test_call import KITCHEN
from tests.server.peers import Person, accept, text_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_knows_nothing_of_it_works_through_it(
    mode: str, programs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "trace.jsonl"
    arguments = ["trace", "--json", "--output", str(output), *KITCHEN]
    started = StdioServerParameters(command="handraise", args=arguments, cwd=ROOT, env=around(programs))
    person: Any = Person(accept(answer="yes, do"))
    async with Client(started, mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool("chain", {"run": "t", "length": 1})
    assert text_of(result) == "yes, do"
    told: list[Any] = [json.loads(line) for line in output.read_text().splitlines()]
    asked = "elicitation/create" if mode == "legacy" else "input required"
    assert any(asked in (each["method"], each["kind"]) for each in told)
    assert {each["revision"] for each in told if each["method"] == "tools/call"} == {
        "2025-11-25" if mode == "legacy" else mode
    }
    assert output.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("revision", ["legacy", "2026-07-28"])
def test_a_call_shows_its_own_trace_beside_the_result(
    handraise: Handraise, revision: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"action": "accept", "content": {"answer": "hm"}}]))
    words = ["call", "chain", '{"run": "cli", "length": 1}', "--desk", f"script:{script}", "--trace"]
    called = handraise(*words, "--revision", revision, *KITCHEN)
    assert (called.returncode, called.stdout) == (0, "hm\n")
    assert "s → tools/call" in called.stderr
    assert '"content": {"answer": "hm"}' in called.stderr
    assert "\x1b" not in called.stderr


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["trace"], 2, "name a server"),
        (["trace", "--output", "/dev/null/file", "--", "true"], 2, "cannot be written"),
        (["trace", "--", "/nonexistent/server"], 3, "cannot be started"),
        (["trace", "--", sys.executable, "-c", "raise SystemExit(5)"], 5, ""),
    ],
)
def test_wrong_use_is_explained_and_the_servers_exit_status_kept(
    handraise: Handraise, words: list[str], status: int, told: str
) -> None:
    called = handraise(*words)
    assert called.returncode == status
    assert told in called.stderr
    assert "Traceback" not in called.stderr


def test_the_end_of_the_relay_is_the_end_of_the_server() -> None:
    """A client that gives up ends what it started, which is the relay."""
    waits = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from handraise.cli import main; main()",
            "trace",
            "--",
            sys.executable,
            "-c",
            waits,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    assert process.stdout is not None
    server = int(process.stdout.readline())
    process.terminate()
    assert process.wait(20) == 128 + 15
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
    process.communicate()
