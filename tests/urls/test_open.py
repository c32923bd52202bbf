"""A link is opened without a shell, only when it may be, and nobody is told so when it was not."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path

import pytest

import handraise.urls
from handraise.urls import HINDRANCES, NotOpened, Opened, inspect_url, open_url

URL = "https://mcp.example.com/connect?eid=1"


@pytest.fixture
def opener(tmp_path: Path) -> Path:
    """A real `xdg-open` and `open` that write down their arguments, one a line."""
    program = tmp_path / "xdg-open"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RECORD"\nexit "${EXIT:-0}"\n')
    program.chmod(0o755)
    shutil.copy(program, tmp_path / "open")
    return program


@pytest.fixture
def environment(tmp_path: Path, opener: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path), "DISPLAY": ":0", "RECORD": str(tmp_path / "record")}


def opened(environment: dict[str, str]) -> list[str]:
    record = Path(environment["RECORD"])
    return record.read_text().splitlines() if record.exists() else []


@pytest.mark.shows("L5")
@pytest.mark.parametrize("platform", ["linux", "darwin", "freebsd14"])
def test_the_normalised_link_is_handed_to_the_system(environment: dict[str, str], platform: str) -> None:
    inspection = inspect_url("HTTPS://MCP.example.com:443/a/../connect?eid=1", server_host="mcp.example.com")
    assert open_url(inspection, environment=environment, platform=platform) == Opened(URL)
    assert opened(environment) == [URL]


@pytest.mark.shows("L5")
def test_no_shell_ever_sees_the_link(environment: dict[str, str], tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    url = f"https://mcp.example.com/?a=$(touch%20{trap});`touch%20{trap}`&b|touch {trap}&--help"
    inspection = inspect_url(url, server_host="mcp.example.com")
    assert isinstance(open_url(inspection, environment=environment, platform="linux"), Opened)
    assert opened(environment) == [inspection.href]
    assert not trap.exists()


@pytest.mark.shows("L5")
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://github.com@evil.example/", "x"]
)
def test_what_is_a_danger_is_not_opened_nor_offered_for_printing(
    environment: dict[str, str], url: str
) -> None:
    result = open_url(inspect_url(url), environment=environment, platform="linux")
    assert result == NotOpened("danger", None)
    assert opened(environment) == []


@pytest.mark.parametrize(
    ("change", "platform", "reason"),
    [
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux", "ssh"),
        ({"SSH_TTY": "/dev/pts/0"}, "darwin", "ssh"),
        ({"SSH_TTY": "/dev/pts/0"}, "win32", "ssh"),
        ({"DISPLAY": ""}, "linux", "no_display"),
        ({"PATH": "/nowhere"}, "linux", "no_opener"),
        ({"EXIT": "3"}, "linux", "failed"),
        ({"EXIT": "1"}, "darwin", "failed"),
    ],
)
def test_when_it_cannot_be_opened_it_says_so_and_gives_the_link_to_print(
    environment: dict[str, str], change: dict[str, str], platform: str, reason: str
) -> None:
    result = open_url(inspect_url(URL), environment=environment | change, platform=platform)
    assert isinstance(result, NotOpened)
    assert (result.reason, result.href) == (reason, URL)
    assert result.sentence == HINDRANCES[result.reason]


def test_wayland_is_a_screen_too(environment: dict[str, str]) -> None:
    del environment["DISPLAY"]
    environment["WAYLAND_DISPLAY"] = "wayland-0"
    assert open_url(inspect_url(URL), environment=environment, platform="linux") == Opened(URL)


def test_an_opener_that_cannot_be_run_has_not_opened_anything(
    environment: dict[str, str], opener: Path
) -> None:
    opener.write_text("#!/nowhere/at/all\n")
    result = open_url(inspect_url(URL), environment=environment, platform="linux")
    assert result == NotOpened("failed", URL)


def test_an_opener_that_does_not_answer_in_time_is_left_running_and_nothing_is_claimed(
    environment: dict[str, str], opener: Path, tmp_path: Path
) -> None:
    gate, done = tmp_path / "gate", tmp_path / "done"
    os.mkfifo(gate)
    os.mkfifo(done)
    opener.write_text(f"#!/bin/sh\nread line < {gate}\necho finished > {done}\n")
    result = open_url(inspect_url(URL), environment=environment, platform="linux", patience=0.05)
    assert result == NotOpened("unconfirmed", URL)
    gate.write_text("go on\n")
    assert done.read_text() == "finished\n"


def test_windows_is_asked_by_its_own_call(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    assert open_url(inspect_url(URL), environment={}, platform="win32") == NotOpened("no_opener", URL)
    monkeypatch.setattr(os, "startfile", started.append, raising=False)
    assert open_url(inspect_url(URL), environment={}, platform="win32") == Opened(URL)
    assert started == [URL]


def test_windows_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(href: str) -> None:
        raise OSError("no application is associated")

    monkeypatch.setattr(os, "startfile", fail, raising=False)
    assert open_url(inspect_url(URL), environment={}, platform="win32") == NotOpened("failed", URL)


@pytest.mark.shows("L5")
def test_nothing_but_opening_touches_the_system_and_nothing_fetches() -> None:
    package = Path(handraise.urls.__file__).parent
    outside = {
        "subprocess",
        "os",
        "shutil",
        "threading",
        "socket",
        "http",
        "httpx",
        "urllib.request",
        "webbrowser",
    }
    users = {
        module.name
        for module in package.glob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
        if name in outside
    }
    assert users == {"open.py"}
