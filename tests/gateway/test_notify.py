"""A notice on the person's own screen: who asks, and nothing of what."""

from __future__ import annotations

from pathlib import Path

import pytest

from handraise.gateway.notify import notice_command, notify

SCREEN = {"DISPLAY": ":0"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the path, on a system with a screen."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def put(folder: Path, script: str) -> None:
    program = folder / "notify-send"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_systems_own_program_is_told_who_asks_as_one_argument(folder: Path) -> None:
    put(folder, f'printf "%s\\n" "$@" > {folder}/told')
    assert notify("my notes; touch /x `id` $(id) <a href='x'>\u202e")
    *_, title, dashes, text = (folder / "told").read_text().splitlines()
    assert (title, dashes) == ("Handraise", "--")
    asker = "my notes; touch /x `id` $(id) &lt;a href='x'&gt;⟨U+202E⟩"
    assert text == f"{asker} asks you something. Open the desk with: handraise inbox"


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$"])
def test_a_program_that_fails_is_no_harm(
    folder: Path, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    put(folder, f"echo noise; echo noise >&2; {script}")
    assert not notify("notes")
    assert capfd.readouterr() == ("", "")


def test_without_the_program_nothing_is_said(folder: Path) -> None:
    assert not notify("notes")


def test_each_system_has_its_own_way_and_the_text_is_never_part_of_a_script() -> None:
    text = 'x" & (do shell script "id") & "'
    apple = notice_command(text, "darwin", {})
    assert apple is not None
    assert apple[-1] == text
    assert text not in apple[:-1]
    windows = notice_command(text, "win32", {})
    assert windows is not None
    assert all(text not in word for word in windows)
    assert notice_command(text, "linux", {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}) is not None
    assert notice_command(text, "linux", {"WAYLAND_DISPLAY": "w"}) is not None


def test_where_nobody_would_see_it_nothing_is_started() -> None:
    assert notice_command("x", "linux", {}) is None
