"""Programs that we did not write, in front of the gateway and behind it, in both eras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.stranger, pytest.mark.shows("W1", "W3")]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGES = HERE.parent / "node_modules"
EVERYTHING = PACKAGES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
HANDRAISE = [sys.executable, "-c", "from handraise.cli import main; main()"]
NOTES = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
ERAS = ["legacy", "2026-07-28"]


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """A home of its own, so that no policy, ledger or connection of the user's takes part; a short one, for sockets."""
    with tempfile.TemporaryDirectory(prefix="hr", ignore_cleanup_errors=True) as home:
        yield _environment(home)


def _environment(home: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{PACKAGES / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "NODE_COMPILE_CACHE": str(PACKAGES / ".cache"),
        "PYTHONPATH": str(ROOT),
        "HOME": home,
        "XDG_RUNTIME_DIR": home,
        "MCP_STORAGE_DIR": home,
    }


def through_gateway(server: list[str], *options: str) -> list[str]:
    return [*HANDRAISE, "gateway", *options, "--", *server]


def run(command: list[str], environment: dict[str, str], *, good: bool = True) -> str:
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
    )
    assert not good or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def typescript(
    era: str, tool: str, arguments: Any, answer: Any, server: list[str], environment: dict[str, str]
) -> Any:
    words = [era, tool, json.dumps(arguments), answer if answer == "none" else json.dumps(answer)]
    return json.loads(run(["node", str(HERE / "client.mjs"), *words, "--", *server], environment))


@pytest.mark.parametrize("era", ERAS)
def test_the_typescript_client_is_asked_through_the_gateway(era: str, environment: dict[str, str]) -> None:
    server = through_gateway(NOTES)
    seen = typescript(era, "delete", {"title": "a"}, {"answer": "old"}, server, environment)
    assert seen["asked"] == ["Why delete a?"]
    assert seen["result"]["content"][0]["text"] == "deleted a: old"
    assert "handraise_resume" not in seen["tools"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.shows("W2")
def test_a_typescript_client_that_cannot_ask_gets_its_call_parked(
    era: str, environment: dict[str, str]
) -> None:
    server = through_gateway(NOTES, "--hold", "0")
    seen = typescript(era, "delete", {"title": "a"}, "none", server, environment)
    assert "handraise_resume" in seen["tools"]
    assert "waits for the user" in seen["result"]["content"][0]["text"]
    assert not seen["asked"]


@pytest.mark.parametrize("era", ERAS)
def test_the_everything_server_gives_the_same_through_the_gateway(
    era: str, environment: dict[str, str]
) -> None:
    everything = ["node", str(EVERYTHING), "stdio"]
    direct = typescript("legacy", "echo", {"message": "hello"}, {}, everything, environment)
    seen = typescript(era, "echo", {"message": "hello"}, {}, through_gateway(everything), environment)
    assert seen["tools"] == direct["tools"]
    assert seen["result"]["content"] == direct["result"]["content"]


@pytest.mark.parametrize("era", ERAS)
def test_the_everything_server_asks_through_the_gateway(era: str, environment: dict[str, str]) -> None:
    server = through_gateway(["node", str(EVERYTHING), "stdio"])
    seen = typescript(
        era, "trigger-elicitation-request", {}, {"name": "Ann", "check": True}, server, environment
    )
    assert len(seen["asked"]) == 1
    assert "Ann" in json.dumps(seen["result"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspectors_mcpdo_is_asked_through_the_gateway(era: str, environment: dict[str, str]) -> None:
    def mcpdo(*words: str, good: bool = True) -> str:
        return run(["mcpdo", "--format", "json", *words], environment, good=good)

    try:
        mcpdo(
            "connect",
            "--connection",
            "notes",
            "--era",
            era,
            "--transport",
            "stdio",
            "--",
            *through_gateway(NOTES),
        )
        asked = mcpdo("--connection", "notes", "tools/call", "delete", "title:=a", good=False)
        assert "Why delete a?" in asked
        id = _found(json.loads(asked), "elicitationId")
        done = mcpdo("--connection", "notes", "elicitation/respond", id, "answer:=old")
        assert "deleted a: old" in done
    finally:
        mcpdo("daemon", "stop", good=False)


def _found(told: Any, name: str) -> Any:
    """The value of that name, wherever it is."""
    if isinstance(told, dict):
        if name in told:
            return told[name]
        told = list(told.values())
    if isinstance(told, list):
        for each in told:
            if (value := _found(each, name)) is not None:
                return value
    return None
