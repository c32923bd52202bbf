"""The official conformance suite meets servers that Handraise is installed in.

Each scenario runs by itself: in suite mode the suite hides exit codes. A warning counts as a failure.
The suite sends `initialize` with 2025-11-25 even when it is told 2025-06-18, so the ordinary scenarios would
only run twice the same way there.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.stranger

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "node_modules"
SUITE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

ASKING = {
    "2025-06-18": [
        "tools-call-elicitation",
        "tools-call-sampling",
    ],
    "2025-11-25": [
        "tools-call-elicitation",
        "tools-call-sampling",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
    ],
    "2026-07-28": [
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-request-state",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-missing-input-response",
        "input-required-result-non-tool-request",
        "input-required-result-result-type",
        "input-required-result-unsupported-methods",
        "input-required-result-tampered-state",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
        "server-stateless",
        "tools-list",
        "prompts-list",
    ],
}

_EVERYWHERE = [
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-audio",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
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


def _each(scenarios: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(revision, name) for revision, names in scenarios.items() for name in names]


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("asking") / "log"
    with _serving("server.py", log) as url:
        yield url
    said = log.read_text(encoding="utf-8")
    assert "Traceback" not in said, said  # a tool that crashes also gives content, and the suite may like it


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _serving("ordinary.py", tmp_path_factory.mktemp("ordinary") / "log") as url:
        yield url


@pytest.mark.parametrize(("revision", "scenario"), _each(ASKING))
def test_the_suite_is_content_with_a_server_that_asks(
    revision: str, scenario: str, asking: str, tmp_path: Path
) -> None:
    require_success(["server", "--url", asking], scenario, revision, tmp_path)


@pytest.mark.parametrize(("revision", "scenario"), _each(ORDINARY))
def test_the_suite_does_not_notice_handraise_in_a_server_that_never_asks(
    revision: str, scenario: str, ordinary: str, tmp_path: Path
) -> None:
    require_success(["server", "--url", ordinary], scenario, revision, tmp_path)


def require_success(role: list[str], scenario: str, revision: str, folder: Path) -> None:
    """Run one scenario against a server or a client.

    Every check that it made must be a success, and at least one must be its own.
    """
    environment = {
        **os.environ,
        "PATH": f"{PACKAGES / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "NODE_COMPILE_CACHE": str(PACKAGES / ".cache"),
    }
    options = ["--scenario", scenario, "--spec-version", revision, "-o", str(folder)]
    command = ["node", str(SUITE), *role, *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90)
    files = list(folder.glob("*/checks.json"))
    assert len(files) == 1, f"the scenario did not run:\n{done.stdout}{done.stderr}"
    checks = json.loads(files[0].read_text(encoding="utf-8"))
    bad = [check for check in checks if check["status"] not in {"SUCCESS", "INFO"}]
    assert not bad, json.dumps(bad, indent=1)
    assert any(check["status"] == "SUCCESS" and check["id"] != "wire-schema-valid" for check in checks)
    assert done.returncode == 0, done.stdout


@contextmanager
def _serving(script: str, log: Path) -> Iterator[str]:
    """A server in a process of its own, for as long as the block lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", str(HERE / script), str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
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
    pytest.fail(f"the server did not start:\n{log.read_text(encoding='utf-8')}")
