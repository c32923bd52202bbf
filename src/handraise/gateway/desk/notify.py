"""Tell the person on their own screen that something waits, where there is such a thing."""

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
"""As whom Windows shows it: a program that has no entry in the Start menu may show nothing, and this one has."""
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
    """What shows a notice on one system."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs beside the environment of this process."""


def notify(server: str) -> bool:
    """Show by the system's own means that a server asks; False where there are none, or they fail."""
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
    """What shows on this system's screen that a server asks; None where nobody would see it.

    The notice names who asks and nothing of what: it carries no link, no code and no word of the server's. The attack:
    a name that is read as an option, as markup or as a part of a script. So the text begins with a word of ours, and
    is an argument of its own; Windows, where arguments become one line again, has it in the environment.
    """
    text = f"You are asked by {for_line(server, limit=100)}. Open the desk with: handraise inbox"
    match platform:
        case "darwin":
            return Command(("osascript", *(word for line in _APPLE for word in ("-e", line)), text))
        case "win32":
            words = ("powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS)
            return Command(words, {"HANDRAISE_NOTICE": text})
        case _ if environment.get("DBUS_SESSION_BUS_ADDRESS") or _has_screen(environment):
            plain = escape(text, quote=False)  # a notice may be read as markup, with links in it
            return Command(("notify-send", "--app-name=Handraise", "Handraise", "--", plain))
        case _:
            return None


def _has_screen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
