"""Where the documents' commands are typed: a home of its own, a shell, and terminals with somebody in front of them."""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.docs.snippets import ROOT

from handraise.desks import ARMED_AFTER

_PATIENCE = 30.0


class Shell:
    """A home, which is also the folder that commands run in. What a browser is told to open is written to `opened`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        for name in ("bin", "run"):
            (folder / name).mkdir(mode=0o700)
        (folder / "examples").symlink_to(ROOT / "examples")
        self.add_program("xdg-open", f'printf "%s\\n" "$1" >> {folder}/opened')
        self.environment = {
            "PATH": os.pathsep.join(
                [str(folder / "bin"), str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]]
            ),
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "DISPLAY": ":99",
            "PYTHONWARNINGS": "error",
            "NO_COLOR": "1",
            "COLUMNS": "80",
        }

    def add_files(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def add_program(self, name: str, script: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, without a terminal and without input."""
        return subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            input="",
            capture_output=True,
            text=True,
            timeout=60,
        )

    def at_a_terminal(self, command: str) -> Terminal:
        return Terminal(command, self)


class Terminal:
    """A command in a terminal of its own, which shows plain lines. It is ended with the block that it is used in."""

    def __init__(self, command: str, shell: Shell) -> None:
        self._screen, theirs = pty.openpty()
        self._process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=shell.folder,
            env={**shell.environment, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,  # a terminal that is nobody's yet, for the command to have
        )
        os.close(theirs)
        self._seen = 0
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self.end()
        os.close(self._screen)

    def wait_for(self, words: str) -> str:
        """Read until this is shown; what was shown since the last time."""
        while words not in self.shown[self._seen :]:
            assert self._read(), f"it ended without {words!r}, and showed:\n{self.shown}"
        before, self._seen = self._seen, len(self.shown)
        return self.shown[before:]

    def type(self, words: str) -> None:
        time.sleep(ARMED_AFTER)  # no event tells that the moment is over in which typing ahead is no consent
        os.write(self._screen, words.encode() + b"\n")

    def interrupt(self) -> None:
        os.write(self._screen, b"\x03")

    def end(self) -> int:
        """Read to the end; the status."""
        while self._read():
            pass
        return self._process.wait(_PATIENCE)

    def _read(self) -> bool:
        assert select.select([self._screen], [], [], _PATIENCE)[0], f"nothing more came:\n{self.shown}"
        try:
            chunk = os.read(self._screen, 4096)
        except OSError:  # whoever had the terminal is gone
            return False
        self.shown += chunk.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)


def free_port() -> int:
    """A port that nobody uses now, for a program that takes only a number."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
