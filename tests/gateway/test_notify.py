"""A notice on the person's own screen: who asks, and nothing of what."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from handraise.gateway.local_desk import Command, notice_command, notify


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
    assert text == f"You are asked by {asker}. Open the desk with: handraise inbox"


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$"])
def test_a_program_that_fails_is_no_harm(
    folder: Path, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    put(folder, f"echo noise; echo noise >&2; {script}")
    assert not notify("notes")
    assert capfd.readouterr() == ("", "")


def test_without_the_program_nothing_is_said(folder: Path) -> None:
    assert not notify("notes")


HOSTILE = {
    "plain": ("my notes", "my notes"),
    "an option": ("-e do shell script", "-e do shell script"),
    "AppleScript": ('x" & (do shell script "id") & "', 'x" & (do shell script "id") & "'),
    "PowerShell": ("x';Start-Process calc;'$(id)`n", "x';Start-Process calc;'$(id)`n"),
    "lines and bidi": ("a\nb\u202e\x1b]0;t\x07", "a⟨U+000A⟩b⟨U+202E⟩⟨U+001B⟩]0;t⟨U+0007⟩"),
    "long": ("n" * 500, "n" * 100 + "⟨+400 characters⟩"),
}
WORDS = "You are asked by {}. Open the desk with: handraise inbox"


@pytest.mark.parametrize(("server", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_on_macos_the_text_is_the_one_argument_of_a_constant_script(server: str, shown: str) -> None:
    assert notice_command(server, "darwin", {}) == Command(
        (
            "osascript",
            *("-e", "on run words"),
            *("-e", 'display notification (item 1 of words) with title "Handraise"'),
            *("-e", "end run"),
            WORDS.format(shown),
        )
    )


@pytest.mark.parametrize(("server", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_on_windows_the_text_is_in_the_environment_of_a_constant_script(server: str, shown: str) -> None:
    toast = "Windows.UI.Notifications.Toast"
    program = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe"
    script = (
        f"[void][{toast}NotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime];"
        f"$n=[{toast}NotificationManager];"
        f"$x=$n::GetTemplateContent([{toast}TemplateType]::ToastText02);"
        "$t=$x.GetElementsByTagName('text');"
        "$t[0].InnerText='Handraise';$t[1].InnerText=$env:HANDRAISE_NOTICE;"
        f"$n::CreateToastNotifier('{program}').Show([{toast}Notification]::new($x))"
    )
    assert notice_command(server, "win32", {}) == Command(
        ("powershell", "-NoProfile", "-NonInteractive", "-Command", script),
        {"HANDRAISE_NOTICE": WORDS.format(shown)},
    )


@pytest.mark.parametrize("name", ["DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DISPLAY"])
@pytest.mark.parametrize(("server", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_on_linux_the_text_is_an_argument_behind_all_options(server: str, shown: str, name: str) -> None:
    assert notice_command(server, "linux", {name: "x"}) == Command(
        ("notify-send", "--app-name=Handraise", "Handraise", "--", escape(WORDS.format(shown), quote=False))
    )


def test_where_nobody_would_see_it_nothing_is_started() -> None:
    assert notice_command("x", "linux", {}) is None
