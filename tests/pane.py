"""A program in a pane of tmux: the screen that a person sees there, and the keys that they press."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class Pane:
    """One program in a pane."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def tmux(self, *command: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, *command], capture_output=True, text=True, check=True
        )
        return done.stdout

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p", "-t", "t").split("\n")[:-1]

    def sees(self, *texts: str, seconds: float = 20) -> str:
        """The screen, as soon as all of this is on it."""
        return self.until(lambda screen: all(text in screen for text in texts), seconds, str(texts))

    def until(self, look: Callable[[str], object], seconds: float = 20, what: str = "it") -> str:
        """The screen, as soon as it is as wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = "\n".join(self.screen())
            if look(screen):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{what} not on the screen:\n{screen}")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "t", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "t", "-l", text)

    def paste(self, text: str, *, marked: bool = False) -> None:
        """Paste a text, Tabs and all. Most terminals mark what was pasted; without that it arrives as keys."""
        self.tmux("set-buffer", text)
        self.tmux("paste-buffer", "-t", "t", *(["-p"] if marked else []))

    def click(self, text: str) -> None:
        """Press and let go the left button of a mouse, as a terminal reports it."""
        row = next(n for n, line in enumerate(self.screen(), 1) if text in line)
        column = self.screen()[row - 1].index(text) + 2
        for end in "Mm":
            codes = [f"{ord(character):x}" for character in f"\x1b[<0;{column};{row}{end}"]
            self.tmux("send-keys", "-t", "t", "-H", *codes)


@contextmanager
def pane(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    size: tuple[int, int] = (80, 24),
) -> Iterator[Pane]:
    """A program in a pane of its own server, which a login shell starts. The pane stays when the program has ended."""
    made = Pane(f"handraise-{os.getpid()}-{time.monotonic_ns()}")
    width, height = map(str, size)
    clean = (
        []
        if environment is None
        else ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    )
    program = f"{shlex.join([*clean, *command])}; exec sleep 60"
    made.tmux("new-session", "-d", "-x", width, "-y", height, "-s", "t", "-c", str(folder), program)
    try:
        yield made
    finally:
        made.tmux("kill-server")
