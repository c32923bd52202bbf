"""The official conformance suite: its scenarios, and how it meets a server or a client of ours.

Each scenario runs by itself: in suite mode the suite hides exit codes. A warning counts as a failure.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.strangers.programs import PACKAGES, ROOT

HERE = Path(__file__).parent
_SUITE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

_EVERYWHERE = [
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-embedded-resource",
    "tools-call-audio",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
]
ORDINARY = {
    "2025-11-25": [
        *_EVERYWHERE,
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
    "2026-07-28": [
        *_EVERYWHERE,
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "sep-2164-resource-not-found",
        "caching",
        "http-header-validation",
    ],
}
"""What a server that never asks is tried with. The suite sends `initialize` with 2025-11-25 even when it is told
2025-06-18, so on that revision the same would only run twice."""


LOWLEVEL = [
    "logging-set-level",
    "tools-call-with-logging",
    "json-schema-2020-12",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-sse-polling",
]
"""What only a lowlevel server can serve: the high-level one of mcp 1.x has no handlers for log levels or subscriptions,
makes the schemas of its tools itself, and tools cannot close their stream."""


def each(scenarios: dict[str, list[str]], revisions: Collection[str] | None = None) -> list[tuple[str, str]]:
    """A revision and a scenario for each test, of these revisions only."""
    return [
        (revision, name)
        for revision, names in scenarios.items()
        if revisions is None or revision in revisions
        for name in names
    ]


class Suite:
    """The suite's own command, loaded once for many scenarios."""

    def __init__(self) -> None:
        environment = {
            **os.environ,
            "PATH": f"{PACKAGES / '.bin'}{os.pathsep}{os.environ['PATH']}",
            "NODE_COMPILE_CACHE": str(PACKAGES / ".cache"),
        }
        command = ["node", str(HERE / "runner.mjs"), str(_SUITE)]
        self._node = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def require_success(self, role: list[str], revision: str, scenario: str, folder: Path) -> None:
        """Run one scenario against a server or a client of ours.

        Every check that it made must be a success, at least one must be its own, and so must the exit code.
        """
        code, said = self._run(*role, "--scenario", scenario, "--spec-version", revision, "-o", str(folder))
        files = list(folder.glob("*/checks.json"))
        assert len(files) == 1, f"the scenario did not run:\n{said}"
        checks: list[dict[str, Any]] = json.loads(files[0].read_text(encoding="utf-8"))
        bad = [check for check in checks if check["status"] not in {"SUCCESS", "INFO"}]
        assert not bad, json.dumps(bad, indent=1)
        assert any(check["status"] == "SUCCESS" and check["id"] != "wire-schema-valid" for check in checks)
        assert code == 0, said

    def _run(self, *words: str) -> tuple[int, str]:
        """The exit code and the output."""
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        self._node.stdin.write(json.dumps(words).encode() + b"\n")
        self._node.stdin.flush()
        ready, _, _ = select.select([self._node.stdout], [], [], 90)
        assert ready, f"{' '.join(words)} did not end in 90 seconds"
        code, said = json.loads(self._node.stdout.readline())
        return code, said

    def close(self) -> None:
        """End it."""
        self._node.kill()
        self._node.communicate()


@contextmanager
def serving(module: str, log: Path) -> Iterator[str]:
    """A server in a process of its own, for as long as the block lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-W", "error", "-m", f"tests.strangers.conformance.{module}", str(port)]
    with listening(command, port, log) as url:
        yield url


@contextmanager
def listening(command: list[str], port: int, log: Path) -> Iterator[str]:
    """The address of a command that serves on a port, for as long as the block lasts."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_until_it_listens(process, port, log)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=15)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")
