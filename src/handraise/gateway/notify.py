"""Tell the person on their own screen that something waits, where there is such a thing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def notify(text: str) -> bool:
    """Show a notice by the system's own means; False where there are none. It carries no link and no code."""
    if sys.platform == "darwin":
        return _run(["osascript", "-e", "on run words", "-e", _SCRIPT, "-e", "end run", text])
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    return _run(["notify-send", "--app-name=Handraise", "Handraise", "--", text])


_SCRIPT = 'display notification (item 1 of words) with title "Handraise"'


def _run(command: list[str]) -> bool:
    program = shutil.which(command[0])
    if program is None:
        return False
    try:
        done = subprocess.run(  # noqa: S603 - an argument list of ours; the text is one argument
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
