"""Programs as they run on a person's computer: each terminal has a login shell, and programs are started from it.

The gateway's desk tells the client's programs from the person's own by where they come from. In a test everything
descends from the test itself. So a test starts the client from a login shell; the test and everything else that it
starts then count as the person's own.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.forking import fork_at_terminal

_HIGH = 100


@dataclass
class Started:
    """A program that was started from a login shell, with pipes to and from it."""

    shell: int
    """The process of the shell."""
    stdin: TextIO
    stdout: TextIO
    status: int | None = None

    def wait(self, seconds: float = 20) -> int:
        """Wait until the program and its shell have ended; the program's exit status."""
        end = time.monotonic() + seconds
        while self.status is None:
            ended, status = os.waitpid(self.shell, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if ended else None
            assert time.monotonic() < end, "it did not end in time"
            time.sleep(0.02)
        return self.status


@contextmanager
def from_login_shell(
    command: Sequence[str], environment: dict[str, str], folder: Path, errors: Path | None = None
) -> Iterator[Started]:
    """Start a program from a login shell at a terminal of its own. It is to end when its input does."""
    to_program, from_program = os.pipe(), os.pipe()

    def start() -> None:
        os.chdir(folder)
        log = os.open(errors or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for wanted, made in zip(
            (3, 4, 5), [_moved(to_program[0]), _moved(from_program[1]), _moved(log)], strict=True
        ):
            os.dup2(made, wanted)
        os.execve("/bin/sh", ["sh"], environment)

    shell, terminal = fork_at_terminal(start)
    os.close(to_program[0])
    os.close(from_program[1])
    drained = threading.Thread(target=_drain, args=(terminal,), daemon=True)
    drained.start()
    os.write(terminal, f"{shlex.join(command)} <&3 >&4 2>&5 3<&- 4>&- 5>&-; exit\n".encode())
    with os.fdopen(to_program[1], "w") as stdin, os.fdopen(from_program[0]) as stdout:
        started = Started(shell, stdin, stdout)
        try:
            yield started
            stdin.close()
            started.wait()
        except BaseException:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(shell, signal.SIGHUP)
                os.waitpid(shell, 0)
            raise
        finally:
            os.close(terminal)


def _moved(descriptor: int) -> int:
    """The same file under a high number, out of the way of those that the shell passes on."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, _HIGH)


def _drain(terminal: int) -> None:
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass
