"""`handraise gateway doctor` as a person meets it."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.clients.samples import GOOSE
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.desks.codes import desk_code_file, new_desk_code
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.peers import Peer
from handraise.gateway.state import habits_file

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

BOTH = """
import json, sys
era = None
for line in sys.stdin:
    asked = json.loads(line)
    era = era or asked["method"]  # like the official SDK's: a connection stays with the era that began it
    told = {"error": {"code": -32022, "message": "not on this connection"}}
    if asked["method"] == era == "initialize":
        told = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "new"}}}
    elif asked["method"] == era == "server/discover":
        told = {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA", "HANDRAISE_CONFIG", "HANDRAISE_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
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
    behind = [sys.executable, "-c", BOTH]
    configured(
        home,
        {
            "old": {"command": sys.executable, "args": ["-c", LEGACY]},
            "new": {"command": "/x/handraise", "args": ["gateway", "--name", "n", "--", *behind]},
            "gone": {"command": "/no/such/server"},
            "odd": {"settings": {}},
            "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit('no key is set')"]},
        },
    )
    (client,) = json.loads(run("--json"))["clients"]
    old, new, gone, odd, broken = client["servers"]
    assert (old["speaks"], old["through_gateway"]) == (["2025-06-18"], False)
    assert "nobody can be asked" in old["then"]
    assert (new["speaks"], new["through_gateway"]) == (["2026-07-28", "2025-11-25"], True)
    assert new["offers"] == ["prompts", "tools"]
    assert "handraise inbox" in new["then"]
    assert "cannot be started" in gone["problem"]
    assert "kind" in odd["problem"]
    assert broken["problem"] == "it exited before it answered, and said last: no key is set"


def test_a_person_reads_what_a_server_can_do_with_nothing_hidden(home: Path) -> None:
    configured(home, {"old": {"command": sys.executable, "args": ["-c", LEGACY]}})
    shown = run("--client", "gemini-cli")
    assert "speaks 2025-06-18; calls itself old⟨U+202E⟩ one" in shown
    assert "offers nothing" in shown


def test_a_server_that_says_nothing_is_not_waited_for_without_end(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.clients.forecast.PATIENCE", 0.2)
    configured(home, {"mute": {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}})
    assert "did not answer" in run()


def test_it_is_told_which_options_count_and_who_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "handraise.toml"
    file.write_text("[gateway]\nhold = 20\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(file))
    monkeypatch.setenv("HANDRAISE_GATEWAY_DESK", "always")
    monkeypatch.setenv("HANDRAISE_STORE", "postgresql://ann:hunter2@db.example.com/x?password=hunter2")
    shown = run()
    assert f"hold 20 ({file})" in " ".join(shown.split())
    assert "desk     always  (HANDRAISE_GATEWAY_DESK)" in shown
    assert "browser  false  (default)" in shown
    assert "postgresql://ann:…@db.example.com/x?password=…" in shown
    assert "hunter2" not in shown + run("--json")


def test_a_file_that_cannot_be_used_is_told_with_its_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "handraise.toml").write_text("[gateway]\nhold = -1\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(home / "handraise.toml"))
    done = CliRunner().invoke(app, ["gateway", "doctor"])
    assert done.exit_code == 2
    assert "handraise.toml:2: gateway.hold" in done.output


def test_the_flags_of_an_entry_say_what_will_happen(home: Path) -> None:
    ours = {"command": "handraise", "args": ["gateway", "--desk", "always", "--hold", "7", "--", "x"]}
    none = {"command": "handraise", "args": ["gateway", "--desk", "none", "--", "x"]}
    configured(home, {"a": ours, "b": none, "c": {"command": "x"}})
    servers = json.loads(run("--no-probe", "--json"))["clients"][0]["servers"]
    assert "held for 7 seconds" in servers[0]["then"]
    assert "also where Gemini CLI could ask" in servers[0]["then"]
    assert servers[1]["then"].endswith("the server is told that nobody can be asked.")
    assert servers[2]["then"].endswith("Put the gateway in front of it.")
    assert all(len(line) <= 80 for line in run("--no-probe").splitlines() if " " in line.strip())


def test_the_servers_of_a_project_and_of_goose_are_told_too(home: Path) -> None:
    (home / ".mcp.json").write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    (home / ".config/goose").mkdir(parents=True)
    (home / ".config/goose/config.yaml").write_text(GOOSE)
    told = {each["client"]: each for each in json.loads(run("--no-probe", "--json"))["clients"]}
    assert [each["server"] for each in told["claude-code"]["servers"]] == ["mine"]
    assert [each["server"] for each in told["goose"]["servers"]] == ["developer", "notes", "web", "folded"]


def test_nothing_is_started_without_probing(home: Path) -> None:
    trace = home / "started"
    configured(home, {"x": {"command": "touch", "args": [str(trace)]}})
    run("--no-probe")
    assert not trace.exists()


@pytest.mark.parametrize("made", [False, True])
def test_it_says_how_the_desk_knows_its_person(
    home: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    told = CliRunner().invoke(app, ["gateway", "doctor", "--no-probe"]).output
    assert "to none that a client started" in told
    monkeypatch.setattr("handraise.processes.can_tell", lambda: False)
    if made:
        new_desk_code(desk_code_file(os.environ))
    told = CliRunner().invoke(app, ["gateway", "doctor", "--no-probe"]).output
    assert "opens with your desk code." in " ".join(told.split())
    assert ("handraise desk code" in told) is not made


@pytest.mark.shows("W3c")
def test_it_says_what_clients_were_seen_doing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    habits = ClientHabits(habits_file(os.environ))
    for habit in ("answered", "too_fast", "too_fast"):
        habits.note(Peer("2025-11-25", {}, {"name": "cowork\u202e", "version": "2"}), habit)
    habits.save()
    shown = run()
    assert "cowork⟨U+202E⟩ 2: answered 1, answered 2 too fast for a person" in shown
    assert "its questions come to your desk, too" in " ".join(shown.split())
    seen = json.loads(run("--json"))["seen"]["cowork\u202e 2"]
    assert (seen["answered"], seen["too_fast"], seen["last"]) == (1, 2, "too_fast")


def test_the_flags_of_a_configured_gateway_are_read_as_the_command_itself_reads_them(home: Path) -> None:
    words = ["gateway", "--hold=7", "--desk", "always", "--env", "A=b", "--name", "x", "--", "server"]
    configured(home, {"x": {"command": "/usr/bin/handraise", "args": words}})
    shown = " ".join(run("--no-probe").split())
    assert "You are asked at your desk" in shown
    assert "held for 7 seconds" in shown


def test_the_server_of_an_url_is_asked_where_the_client_asks_it(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        free = listening.getsockname()[1]  # taken, and nobody answers there
        through = ["gateway", "--url", f"http://127.0.0.1:{free}/mcp"]
        (home / ".mcp.json").write_text(
            json.dumps(
                {
                    "mcpServers": {
                        "direct": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"x": "y"}},
                        "behind": {"command": "handraise", "args": through},
                        "odd": {"type": "http", "url": 7},
                    }
                }
            )
        )
        servers = json.loads(run("--no-probe", "--json"))["clients"][0]["servers"]
    assert {each["server"]: (each["through_gateway"], each["problem"]) for each in servers} == {
        "direct": (False, None),
        "behind": (True, None),
        "odd": (False, "its entry is not of a kind that we know"),
    }
