"""Tell the person on their own screen that something waits, where there is such a thing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html import escape
from typing import Final

from handraise.display import for_line

_APPLE: Final = ("on run words", 'display notification (item 1 of words) with title "Handraise"', "end run")
_WINDOWS: Final = (
    "[void][Windows.UI.Notifications.ToastNotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime];"
    "$n=[Windows.UI.Notifications.ToastNotificationManager];"
    "$x=$n::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02);"
    "$t=$x.GetElementsByTagName('text');"
    "$t[0].InnerText='Handraise';$t[1].InnerText=$env:HANDRAISE_NOTICE;"
    "$n::CreateToastNotifier('Handraise').Show([Windows.UI.Notifications.ToastNotification]::new($x))"
)
"""The text comes in the environment, so that it is never read as a part of the script."""


def notify(server: str) -> bool:
    """Show by the system's own means that a server asks; False where there are none, or they fail.

    The notice names who asks and nothing of what: it carries no link, no code and no word of the server's.
    """
    text = f"{for_line(server, limit=100)} asks you something. Open the desk with: handraise inbox"
    command = notice_command(text, sys.platform, os.environ)
    program = None if command is None else shutil.which(command[0])
    if command is None or program is None:
        return False
    try:
        done = subprocess.run(  # noqa: S603 - an argument list of ours; the text is one argument
            [program, *command[1:]],
            env={**os.environ, "HANDRAISE_NOTICE": text},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def notice_command(text: str, platform: str, environment: Mapping[str, str]) -> list[str] | None:
    """What shows a text on this system's screen; None where nobody would see it."""
    match platform:
        case "darwin":
            return ["osascript", *(word for line in _APPLE for word in ("-e", line)), text]
        case "win32":
            return ["powershell", "-NoProfile", "-NonInteractive", "-Command", _WINDOWS]
        case _ if environment.get("DBUS_SESSION_BUS_ADDRESS") or _has_screen(environment):
            plain = escape(text, quote=False)  # a notice may be read as markup, with links in it
            return ["notify-send", "--app-name=Handraise", "Handraise", "--", plain]
        case _:
            return None


def _has_screen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
