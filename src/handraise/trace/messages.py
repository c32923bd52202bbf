"""Classify messages (direction, request, revision), show them, and trace a server over its standard streams."""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from handraise.display import for_line
from handraise.errors import SetupError
from handraise.trace.masks import Masks

Direction = Literal["to server", "to client"]
"""The direction of a message."""
MessageKind = Literal["request", "result", "input required", "error", "notice", "unreadable"]

_VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
_MAX_OPEN: Final = 10_000

ASKING: Final = frozenset(
    {
        "initialize",
        "server/discover",
        "tools/call",
        "prompts/get",
        "resources/read",
        "elicitation/create",
        "roots/list",
        "sampling/createMessage",
        "notifications/elicitation/complete",
        "notifications/cancelled",
        "notifications/roots/list_changed",
    }
)
"""The methods that have to do with asking: the others are traced by name only, unless all is wanted."""


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """One message, safe to show."""

    at: float
    """Seconds since the trace began."""
    direction: Direction
    kind: MessageKind
    method: str
    """The kind of question that is asked or answered; empty if unknown."""
    id: str | int | None
    revision: str | None
    """As far as it is known by then."""
    message: Mapping[str, Any] | None
    """With its secrets masked; None for what could not be read."""
    detail: str = ""
    """The code of an error, or the number of questions."""

    @property
    def about_asking(self) -> bool:
        """Whether the message has to do with asking somebody."""
        return self.method in ASKING or self.kind == "unreadable" or not self.method


class TraceReader:
    """Reads the messages of one connection, both ways, in the order in which they cross."""

    def __init__(self) -> None:
        self._masks = Masks()
        self._open: dict[tuple[Direction, str | int], str] = {}
        self._revision: str | None = None

    def read(self, direction: Direction, message: Any, at: float) -> TracedMessage:
        """Say what a message is."""
        if not isinstance(message, dict):
            return TracedMessage(at, direction, "unreadable", "", None, self._revision, None)
        method, name = message.get("method"), _id(message.get("id"))
        if isinstance(method, str):
            self._learn(_at(message, "params", "_meta").get(_VERSION_META))
            if name is None:
                return self._traced(at, direction, "notice", method, None, message)
            if len(self._open) < _MAX_OPEN:
                self._open[direction, name] = method
            return self._traced(at, direction, "request", method, name, message)
        answered = self._open.pop((_other(direction), name), "") if name is not None else ""
        if answered == "initialize":
            self._learn(_at(message, "result").get("protocolVersion"))
        kind, detail = _outcome(message)
        return self._traced(at, direction, kind, answered, name, message, detail)

    def _traced(
        self,
        at: float,
        direction: Direction,
        kind: MessageKind,
        method: str,
        name: str | int | None,
        message: Mapping[str, Any],
        detail: str = "",
    ) -> TracedMessage:
        masked = self._masks.mask(message)
        return TracedMessage(at, direction, kind, method, name, self._revision, masked, detail)

    def _learn(self, version: object) -> None:
        if isinstance(version, str):
            self._revision = version


def _outcome(message: Mapping[str, Any]) -> tuple[MessageKind, str]:
    if "error" in message:
        return "error", f" {_at(message, 'error').get('code', '')}"
    result = _at(message, "result")
    if result.get("resultType") == "input_required":
        asked = len(_at(result, "inputRequests"))
        return "input required", f", {asked} question" + ("" if asked == 1 else "s")
    return "result", ""


def _at(message: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = message
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _id(value: object) -> str | int | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _other(direction: Direction) -> Direction:
    return "to client" if direction == "to server" else "to server"


_ARROWS: Final[dict[Direction, str]] = {"to server": "→", "to client": "←"}
_LINE: Final = 4000
_WIDTH: Final = 80

_BOLD, _CYAN, _GREEN, _YELLOW, _RED, _PLAIN = (f"\x1b[{code}m" for code in ("1", "36", "32", "33", "31", "0"))
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"(?P<name>(?=:))?')


def show_text(traced: TracedMessage, *, colour: bool = False, full: bool = False) -> Iterator[str]:
    """The lines of a message: its kind, then its text if it is about asking, or if `full` is set."""
    headline = for_line(_headline(traced))
    yield f"{_BOLD}{_RED if traced.kind == 'error' else ''}{headline}{_PLAIN}" if colour else headline
    if traced.message is not None and (full or traced.about_asking):
        for depth, line in _laid_out(traced.message, 2):
            inert = "  " * depth + for_line(line, limit=_LINE)
            yield _TOKEN.sub(_coloured, inert) if colour else inert
        yield ""


def show_json(traced: TracedMessage) -> str:
    """A message as one line of JSON, in ASCII: nothing in it can play tricks on a terminal."""
    return json.dumps(
        {
            "at": round(traced.at, 6),
            "direction": traced.direction,
            "kind": traced.kind,
            "method": traced.method or None,
            "id": traced.id,
            "revision": traced.revision,
            "message": traced.message,
        }
    )


def _headline(traced: TracedMessage) -> str:
    what = traced.method or "(no request is known for it)"
    if traced.kind == "unreadable":
        what = "a line that is no JSON-RPC message"
    elif traced.kind not in ("request", "notice"):
        what += f": {traced.kind}{traced.detail}"
    known = [] if traced.id is None else [f"id {traced.id}"]
    known += [] if traced.revision is None else [traced.revision]
    return f"{traced.at:9.3f} s {_ARROWS[traced.direction]} {what}" + (
        f"  ({', '.join(known)})" if known else ""
    )


def _laid_out(value: Any, depth: int, name: str = "", comma: str = "") -> Iterator[tuple[int, str]]:
    """JSON as people write it, each line with its depth. What is short stays on one line."""
    whole = f"{name}{json.dumps(value, ensure_ascii=False)}{comma}"
    if not value or not isinstance(value, dict | list) or 2 * depth + len(whole) <= _WIDTH:
        yield depth, whole
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        members = [(f"{json.dumps(key, ensure_ascii=False)}: ", each) for key, each in value.items()]
    else:
        members = [("", each) for each in value]
    yield depth, f"{name}{opening}"
    for number, (called, each) in enumerate(members, 1):
        yield from _laid_out(each, depth + 1, called, "," if number < len(members) else "")
    yield depth, f"{closing}{comma}"


def _coloured(token: re.Match[str]) -> str:
    """Colour names, values and masked values differently. The line is inert: all its escapes are ours."""
    if token["name"] is not None:
        colour = _CYAN
    else:
        colour = _YELLOW if "[masked: " in token[0] else _GREEN
    return f"{colour}{token[0]}{_PLAIN}"


logger = logging.getLogger(__name__)

MAX_LINE: Final = 4 * 1024 * 1024
"""Bytes of a message; a longer one is passed on and not shown."""


class Trace:
    """Writes down messages, from any thread."""

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        as_json: bool = False,
        colour: bool = False,
        full: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write: Callable[[str], object] | None = write
        self._as_json = as_json
        self._colour = colour
        self._full = full
        self._clock = clock
        self._began = clock()
        self._reader = TraceReader()
        self._rest: dict[Direction, bytearray] = {"to server": bytearray(), "to client": bytearray()}
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the trace began."""
        return self._clock() - self._began

    def message(self, direction: Direction, message: Any, at: float | None = None) -> None:
        """Add a message, at this time by default."""
        at = self.now() if at is None else at
        with self._lock:
            if self._write is None:
                return
            try:
                self._write(self._shown(direction, message, at))
            except (OSError, ValueError):
                # The disk is full or the terminal is gone: the traced program goes on.
                self._write = None
                logger.warning("the trace cannot be written any more")

    def feed(self, direction: Direction, chunk: bytes, at: float | None = None) -> None:
        """Feed bytes of a stream of lines, in pieces of any size."""
        rest = self._rest[direction]
        rest += chunk
        *lines, tail = rest.split(b"\n") if b"\n" in chunk else (rest,)
        self._rest[direction] = bytearray(tail[: MAX_LINE + 1])
        for line in lines:
            if line.strip():
                self.message(direction, _parsed(bytes(line)), at)

    def _shown(self, direction: Direction, message: Any, at: float) -> str:
        try:
            traced = self._reader.read(direction, message, at)
        except Exception:  # noqa: BLE001 - the trace survives any message of the other side
            traced = self._reader.read(direction, None, at)
        if self._as_json:
            return show_json(traced) + "\n"
        return "".join(f"{line}\n" for line in show_text(traced, colour=self._colour, full=self._full))


def _parsed(line: bytes) -> Any:
    """The message of a line; None when it cannot be read. Its text is not shown: it could be anything."""
    if len(line) > MAX_LINE:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


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
