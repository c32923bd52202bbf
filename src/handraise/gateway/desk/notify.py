"""Show a notice on the person's screen that a question waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

from handraise.display import for_line

_APPLE: Final = ("on run words", 'display notification (item 1 of words) with title "Handraise"', "end run")
_POWERSHELL: Final = r"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe"
"""The program in whose name Windows shows it. It must be in the Start menu."""
_WINDOWS: Final = (
    "[void][Windows.UI.Notifications.ToastNotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime];"
    "$n=[Windows.UI.Notifications.ToastNotificationManager];"
    "$x=$n::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02);"
    "$t=$x.GetElementsByTagName('text');"
    "$t[0].InnerText='Handraise';$t[1].InnerText=$env:HANDRAISE_NOTICE;"
    f"$n::CreateToastNotifier('{_POWERSHELL}').Show([Windows.UI.Notifications.ToastNotification]::new($x))"
)


@dataclass(frozen=True, slots=True)
class Command:
    """The command that shows a notice on one system."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of this process."""


def notify(server: str) -> bool:
    """Show that a server asks; False when the system has no notices, or on failure."""
    command = notice_command(server, sys.platform, os.environ)
    program = None if command is None else shutil.which(command.words[0])
    if command is None or program is None:
        return False
    try:
        done = subprocess.run(  # noqa: S603 - an argument list of ours; the text is one argument, or none
            [program, *command.words[1:]],
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def notice_command(server: str, platform: str, environment: Mapping[str, str]) -> Command | None:
    """The command that shows on this system that a server asks; None where nobody would see it.

    The notice says who asks. It carries no link, no code and no text of the server. The attack: a name that is read as
    an option, as markup or as part of a script. So the text begins with our own word and is one argument; on Windows,
    which joins arguments into one line, it is in the environment.
    """
    text = f"You are asked by {for_line(server, limit=100)}. Open the desk with: handraise inbox"
    match platform:
        case "darwin":
            return Command(("osascript", *(word for line in _APPLE for word in ("-e", line)), text))
        case "win32":
            words = ("powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS)
            return Command(words, {"HANDRAISE_NOTICE": text})
        case _ if environment.get("DBUS_SESSION_BUS_ADDRESS") or _has_screen(environment):
            plain = escape(text, quote=False)  # a notice may be shown as markup, with links
            return Command(("notify-send", "--app-name=Handraise", "Handraise", "--", plain))
        case _:
            return None


def _has_screen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
