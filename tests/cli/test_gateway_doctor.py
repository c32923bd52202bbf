"""`handraise gateway doctor` as a person meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from handraise.cli.app import app

ROOT = Path(__file__).parents[2]
LEGACY = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        info = {"name": "old\\u202e one", "version": "1"}
        told = {"result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}}
    else:
        told = {"error": {"code": -32601, "message": "?"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def configured(home: Path, servers: dict[str, Any]) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": servers}))


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["gateway", "doctor", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_without_clients_it_says_so(home: Path) -> None:
    assert "No client" in run()


def test_servers_are_asked_what_they_speak(home: Path) -> None:
    modern = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
    wrapped = {"command": "/x/handraise", "args": ["gateway", "--name", "n", "--", *modern]}
    configured(
        home,
        {
            "old": {"command": sys.executable, "args": ["-c", LEGACY]},
            "new": {**wrapped, "env": {"PYTHONPATH": str(ROOT)}, "cwd": str(ROOT)},
            "gone": {"command": "/no/such/server"},
            "odd": {"settings": {}},
        },
    )
    (client,) = json.loads(run("--json"))
    old, new, gone, odd = client["servers"]
    assert (old["speaks"], old["through_gateway"]) == (["2025-06-18"], False)
    assert "nobody can be asked" in old["then"]
    assert ("2026-07-28" in new["speaks"], new["through_gateway"]) == (True, True)
    assert "handraise inbox" in new["then"]
    assert "cannot be started" in gone["problem"]
    assert "kind" in odd["problem"]
    shown = run("--client", "gemini-cli")
    assert "old⟨U+202E⟩ one" in shown


def test_a_server_that_says_nothing_is_not_waited_for_without_end(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.clients.probing.probe.__defaults__", (0.2,))
    configured(home, {"mute": {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}})
    assert "did not answer" in run()


def test_nothing_is_started_without_probing(home: Path) -> None:
    trace = home / "started"
    configured(home, {"x": {"command": "touch", "args": [str(trace)]}})
    run("--no-probe")
    assert not trace.exists()
