"""`handraise call` and `handraise tools`: a small real client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.conftest import Handraise
from tests.desks.questions import form_question
from tests.waiting import until

from handraise.cli.call import StatusOutput
from handraise.cli.common import chosen_server
from handraise.desks import Queue

KITCHEN = ["--", "python", "tests/server/kitchen.py", "stdio"]

pytestmark = pytest.mark.slow


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(*lines: dict[str, Any]) -> str:
        file = tmp_path / "script.json"
        file.write_text(json.dumps(lines))
        return f"script:{file}"

    return write


def test_tools_are_listed_with_what_they_are_for(handraise: Handraise) -> None:
    listed = handraise("tools", *KITCHEN)
    assert listed.returncode == 0
    assert "quiet          Never asks." in listed.stdout
    assert handraise("call", *KITCHEN).stdout == listed.stdout
    as_json = handraise("tools", "--json", *KITCHEN)
    assert as_json.returncode == 0
    assert any(tool["name"] == "quiet" for tool in json.loads(as_json.stdout))


def test_output_that_nobody_reads_any_more_is_not_blamed_on_the_server() -> None:
    handraise = Path(sys.executable).with_name("handraise")
    with subprocess.Popen(
        [handraise, "tools", "--", sys.executable, *KITCHEN[2:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        told = running.stderr.read()
    assert (running.returncode, b"the server" in told) == (1, False)


@pytest.mark.parametrize("revision", ["legacy", "2026-07-28", "auto"])
def test_a_tool_is_called_and_what_it_asks_is_answered(
    handraise: Handraise, script: Any, revision: str
) -> None:
    answers = script({"action": "accept", "content": {"answer": "hm"}, "repeat": True})
    words = ["call", "chain", '{"run": "cli", "length": 2}', "--desk", answers, "--revision", revision]
    called = handraise(*words, *KITCHEN)
    assert (called.returncode, called.stdout) == (0, "hm, hm\n")
    as_json = handraise(*words, "--json", *KITCHEN)
    result = json.loads(as_json.stdout)
    assert as_json.returncode == 0
    assert result["content"][0]["text"] == "hm, hm"


def test_progress_is_shown_beside_the_result(handraise: Handraise, script: Any) -> None:
    answers = script({"action": "accept", "content": {"answer": "y"}, "repeat": True})
    called = handraise("call", "with_progress", '{"run": "cli"}', "--desk", answers, *KITCHEN)
    assert "… 2/3 between" in called.stderr
    assert "…" not in called.stdout


@pytest.mark.shows("B1")
@pytest.mark.parametrize("revision", ["legacy", "2026-07-28"])
def test_a_folder_that_was_named_is_known_to_the_server(
    handraise: Handraise, script: Any, tmp_path: Path, revision: str
) -> None:
    answers = script({"action": "accept", "content": {"answer": f"file://{tmp_path}"}})
    words = ["call", "where", '{"run": "cli"}', "--desk", answers, "--revision", revision]
    called = handraise(*words, "--root", str(tmp_path), *KITCHEN)
    assert called.returncode == 0
    assert f"file://{tmp_path}" in called.stdout
    refused = handraise(*words, "--root", str(tmp_path / "gone"), *KITCHEN)
    assert refused.returncode == 2
    assert "does not exist" in refused.stderr


@pytest.mark.shows("B1")
def test_folders_of_the_configuration_are_known_to_the_server_that_they_are_named_for(
    handraise: Handraise, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(f'[servers.kitchen]\nroots = ["{tmp_path}"]\n')
    monkeypatch.setenv("HANDRAISE_CONFIG", str(config))
    answers = script({"action": "accept", "content": {"answer": f"file://{tmp_path}"}})
    words = ["call", "where", '{"run": "cli"}', "--desk", answers]
    assert handraise(*words, "--name", "kitchen", *KITCHEN).returncode == 0
    other = handraise(*words, "--name", "other", *KITCHEN)
    assert other.returncode == 1
    assert str(tmp_path) not in other.stdout


def test_a_tool_that_fails_is_told_by_the_exit_status(handraise: Handraise, script: Any) -> None:
    called = handraise(
        "call", "structured", '{"run": "x"}', "--desk", script({"action": "decline"}), *KITCHEN
    )
    assert called.returncode == 1
    assert called.stdout == ""
    assert "Then not." in called.stderr


FAILING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    told = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    said = {"error": {"code": -32000, "message": "no\\u202eway\\u009b2J"}}
    if "id" in asked:
        said = {"result": told} if asked["method"] == "initialize" else said
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


@pytest.mark.shows("D7")
def test_a_servers_error_does_nothing_to_the_terminal(handraise: Handraise, tmp_path: Path) -> None:
    server = tmp_path / "failing.py"
    server.write_text(FAILING)
    called = handraise("call", "any", "--revision", "legacy", "--", "python", str(server))
    assert called.returncode == 1
    assert "the server answered with an error: no⟨U+202E⟩way⟨U+009B⟩2J" in called.stderr


def test_a_question_without_a_line_in_the_script_ends_the_command(handraise: Handraise, script: Any) -> None:
    called = handraise("call", "structured", '{"run": "x"}', "--desk", script(), *KITCHEN)
    assert called.returncode == 1
    assert "no line of the script answers" in called.stderr
    assert "Traceback" not in called.stderr
    assert "\x1b" not in called.stderr


def test_without_a_desk_the_server_is_told_that_nobody_can_be_asked(handraise: Handraise) -> None:
    called = handraise("call", "structured", '{"run": "x"}', "--desk", "none", *KITCHEN)
    assert called.returncode == 1
    assert "their client cannot" in called.stderr


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["call", "x", "{", "--", "true"], 2, "not JSON"),
        (["call", "x", "[1]", "--", "true"], 2, "JSON object"),
        (["call", "x"], 2, "name a server"),
        (["call", "x", "--url", "http://127.0.0.1:1/mcp", "--", "true"], 2, "not both"),
        (["call", "x", "--desk", "sofa", "--", "true"], 2, "the desk is"),
        (["call", "x", "--desk", "web", "--", "true"], 2, "on a terminal only"),
        (["call", "x", "--revision", "1999", "--", "true"], 2, "the revision is"),
        (["call", "x", "--url", "127.0.0.1:1/mcp"], 2, "begins with http://"),
        (
            ["call", "x", "--desk", "none", "--", "/nonexistent/server"],
            3,
            "/nonexistent/server: No such file",
        ),
        (["call", "x", "--desk", "none", "--url", "http://127.0.0.1:1/mcp"], 3, "nobody listens there"),
        (["tools", "--", "true"], 3, "hung up before it answered"),
        (
            # It is there until it was written to: a pipe that breaks before ends what the client reads, too.
            ["tools", "--", "sh", "-c", "printf 'hello\\033[2J\\n'; read line"],
            3,
            "no message of the protocol: hello",
        ),
    ],
)
def test_wrong_use_is_explained_in_a_sentence(
    handraise: Handraise, words: list[str], status: int, told: str
) -> None:
    called = handraise(*words)
    assert called.returncode == status
    assert told in called.stderr
    assert "Traceback" not in called.stderr


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "-m", "notes.server", "stdio"), "notes.server"),
        (("python3.12", "servers/notes.py"), "notes.py"),
        (("uv", "run", "notes"), "notes"),
        (("/usr/bin/notes-server", "--quiet"), "notes-server"),
    ],
)
def test_a_server_without_a_name_is_called_after_its_program(command: tuple[str, ...], name: str) -> None:
    assert chosen_server(command, None, None).name == name
    assert chosen_server(command, None, "mine").name == "mine"


def test_a_server_is_named_once() -> None:
    with pytest.raises(typer.BadParameter):
        chosen_server((), None, None)


@pytest.mark.parametrize("full_screen", [False, True], ids=["beside the desk", "below the desk"])
async def test_a_trace_and_progress_do_not_write_over_a_desk_that_uses_the_whole_screen(
    capsys: pytest.CaptureFixture[str], full_screen: bool
) -> None:
    queue = Queue()
    beside = StatusOutput(full_screen=full_screen)
    traced, told = "\u2192 tools/list  (id 1)\n", "\u2026 1/3 half\u27e8U+0007\u27e9way\n"
    async with beside.holding(queue):
        await beside.progress(2, None, None)
        assert capsys.readouterr().err == "\u2026 2\n", "no question is on the screen"
        asked = asyncio.ensure_future(queue.put(form_question()))
        await until(queue.waiting)
        beside.trace(False)("to server", {"id": 1, "method": "tools/list"})
        await beside.progress(1, 3, "half\x07way")
        during = capsys.readouterr().err
        asked.cancel()
    afterwards = capsys.readouterr().err
    if full_screen:
        assert (during, afterwards.endswith(traced)) == ("", True)
    else:
        assert (during.endswith(traced + told), afterwards) == (True, "")
