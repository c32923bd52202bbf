"""Trace a server over standard input and output. Bytes pass unchanged."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from handraise.errors import SetupError
from handraise.trace.messages import Direction, Trace

_CHUNK: Final = 64 * 1024
_MAX_WAITING: Final = 4096
"""Pieces that may wait to be traced. If nobody reads the trace, the rest is dropped."""
_LOOK: Final = 1.0
"""Seconds between checks: a signal just before a wait does not interrupt it."""
_LAST_WORDS: Final = 2.0
"""Seconds to read a server's last output."""


def relay(command: Sequence[str], trace: Trace, *, client: tuple[int, int] = (0, 1)) -> int:
    """Start a server and pass everything between it and the client; returns its exit status.

    `client` are the descriptors on which the client writes and reads. A signal that ends us ends the server.
    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - the user's own
    except OSError as error:
        raise SetupError(
            f"{command[0]} cannot be started: {error.strerror}. "
            "Write the server's command after `--`, as you would type it"
        ) from error
    assert server.stdin is not None
    assert server.stdout is not None
    _pass_on_signals(server)
    tracing = _Tracing(trace)
    _start(lambda: _pump(client[0], server.stdin, "to server", tracing), "questions")
    answers = _start(lambda: _pump(server.stdout, client[1], "to client", tracing), "answers")
    ending = _start(lambda: server.wait(), "server")
    while ending.is_alive():
        ending.join(_LOOK)
    status = server.wait()
    answers.join(_LAST_WORDS)
    tracing.end()
    if not answers.is_alive():
        server.stdout.close()
    return status if status >= 0 else 128 - status


class _Tracing:
    """Traces in its own thread, so that a blocked terminal does not delay a call."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._chunks: queue.Queue[tuple[Direction, bytes, float] | None] = queue.Queue(_MAX_WAITING)
        self._lost = False
        self._thread = _start(self._run, "trace")

    def heard(self, direction: Direction, chunk: bytes) -> None:
        """Add bytes to the trace before they are passed on, so that no answer comes before its request."""
        if not self._lost:
            try:
                self._chunks.put_nowait((direction, chunk, self._trace.now()))
            except queue.Full:
                self._lost = True

    def end(self) -> None:
        """Wait up to two seconds for the last lines."""
        with suppress(queue.Full):
            self._chunks.put_nowait(None)
            self._thread.join(_LAST_WORDS)

    def _run(self) -> None:
        while (noted := self._chunks.get()) is not None:
            self._trace.feed(*noted)


def _pump(source: Any, sink: Any, direction: Direction, tracing: _Tracing) -> None:
    read, write = _number(source), _number(sink)
    with suppress(OSError):  # the other end is gone, which the end of the server tells
        while chunk := os.read(read, _CHUNK):
            tracing.heard(direction, chunk)
            left = memoryview(chunk)
            while left:
                left = left[os.write(write, left) :]
    if not isinstance(sink, int):
        with suppress(OSError):
            sink.close()


def _number(end: Any) -> int:
    return end if isinstance(end, int) else int(end.fileno())


def _start(run: Callable[[], object], name: str) -> threading.Thread:
    thread = threading.Thread(target=run, daemon=True, name=f"handraise {name}")
    thread.start()
    return thread


def _pass_on_signals(server: subprocess.Popen[bytes]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in filter(None, (signal.SIGTERM, getattr(signal, "SIGHUP", None))):
        signal.signal(number, lambda received, _frame: server.send_signal(received))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the server as well
