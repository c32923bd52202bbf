"""Standard streams: the client at ours, and a server process that we start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Final

from handraise.errors import SetupError
from handraise.gateway.lines import LineReader, LineWriter
from handraise.gateway.links import DirectLink
from handraise.gateway.messages import (
    SERVER_FAULT,
    Message,
    Unreadable,
    error_response,
    parse_message,
    too_long,
)
from handraise.gateway.upstreams import Source, Upstream
from handraise.policy.places import database_of

logger = logging.getLogger(__name__)

_NOT_REMOTE: Final = {"SHLVL": "1"}
"""Without it, `bash -c` takes a socket as standard input for a remote login, and runs ~/.bashrc first."""
_OWN_SECRETS: Final = frozenset(
    {"HANDRAISE_CLIENT_SECRET", "HANDRAISE_DESK_SECRET", "HANDRAISE_STORE_KEYS", "HANDRAISE_VAULT_KEY"}
)
"""Keys of this gateway. A server that had them could open accounts that people connected to other servers."""


def start(
    upstream: Upstream, errors: IO[bytes] | None = None, *, own_group: bool = False
) -> subprocess.Popen[bytes]:
    """Start the server's process. Its standard error goes to ours, or to the file `errors`.

    `own_group`: a Ctrl+C at our terminal does not reach it. It ends when we close its input.

    The attack: any process of the same user can open another process's pipe as /proc/PID/fd/0 and write an answer into
    it, past desk, policy and ledger. So standard input and output are socket pairs, which cannot be opened that way.
    """
    if os.name != "posix":  # no /proc, and a socket cannot be a standard stream
        return _started(upstream, subprocess.PIPE, subprocess.PIPE, errors, None)
    with ExitStack() as pairs:
        (our_input, stdin), (our_output, stdout) = socket.socketpair(), socket.socketpair()
        for each in (our_input, stdin, our_output, stdout):
            pairs.enter_context(each)
        process = _started(upstream, stdin.fileno(), stdout.fileno(), errors, 0 if own_group else None)
        process.stdin = os.fdopen(our_input.detach(), "wb", 0)
        process.stdout = os.fdopen(our_output.detach(), "rb", 0)
    return process


def _started(
    upstream: Upstream, stdin: int, stdout: int, errors: IO[bytes] | None, group: int | None
) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if not _is_own_secret(name, value)}
    try:
        return subprocess.Popen(  # noqa: S603 - the command is the user's own, an argument list
            upstream.command,
            stdin=stdin,
            stdout=stdout,
            stderr=errors,
            env={**_NOT_REMOTE, **inherited, **upstream.environment},
            cwd=upstream.directory,
            process_group=group,
        )
    except OSError as error:
        raise SetupError(
            f"{upstream.name}: {upstream.command[0]} cannot be started: {error.strerror}"
        ) from None


def _is_own_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key of this gateway, or the address of its store or ledger with a password."""
    own_database = name.startswith("HANDRAISE_") and database_of(value) is not None
    return name in _OWN_SECRETS or own_database


GRACE: Final = 5.0
"""Seconds that a server has to end after its input is closed, and again after SIGTERM."""


_MOST_NOISE: Final = 300
"""Bytes that are shown of a line that is not a message."""


def inert(noise: bytes) -> str:
    """Unreadable bytes for a terminal, with all escape sequences disarmed."""
    more = " …" if len(noise) > _MOST_NOISE else ""
    return ascii(noise[:_MOST_NOISE].decode("utf-8", "replace"))[1:-1] + more


def _message_reader(
    took: Callable[[Message], None], refuse: Callable[[Unreadable, bytes], None], ended: Callable[[], None]
) -> LineReader:
    """A reader that parses every line. `refuse` gets an unreadable line, or the start of one that is too long."""

    def parse(line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse_message(line)
        except Unreadable as error:
            refuse(error, line)
        else:
            took(message)

    return LineReader(parse, ended, lambda start: refuse(too_long(start), start))


class ProcessLink(DirectLink):
    """The link to a server process."""

    def __init__(self, source: Source, process: subprocess.Popen[bytes]) -> None:
        super().__init__(source)
        self.process = process
        self.reader = _message_reader(self.deliver, self._refuse, self._ended)
        self.writer = LineWriter()
        self._over = asyncio.Event()

    async def open(self) -> None:
        """Start to listen."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        await self.writer.open(self.process.stdin)
        await self.reader.open(self.process.stdout)

    def send(self, message: Message) -> None:
        if (
            message.method is None or not self.writer.is_blocked
        ):  # answers are bounded by the server's requests
            self.writer.write(message.raw)
        elif message.is_request:
            refusal = error_response(message.id, SERVER_FAULT, "The server does not read what it gets.")
            asyncio.get_running_loop().call_soon(self.deliver, refusal)

    def _refuse(self, error: Unreadable, line: bytes) -> None:
        """Print an unreadable line on standard error. If it answers or makes a request, send an error."""
        name = inert(self.source.upstream.name.encode())
        print(f"handraise: {name} wrote no message ({error}): {inert(line)}", file=sys.stderr, flush=True)
        if error.is_response:
            self.deliver(error.replacement())
        elif error.is_request:
            self.send(error.refusal())

    def _ended(self) -> None:
        self._over.set()
        self.on_closed(self.source, True)

    async def aclose(self) -> None:
        """Close its input, wait, then tell it to end, then end it."""
        await self.writer.close()
        for last_resort in (self.process.terminate, self.process.kill):
            if await self._exited():
                break
            with contextlib.suppress(ProcessLookupError):
                last_resort()
        await asyncio.to_thread(self.process.wait)
        with contextlib.suppress(TimeoutError):  # a child process of it may keep the pipe open
            await asyncio.wait_for(self._over.wait(), 1.0)  # for its last output
        self.reader.close()

    def send_signal(self, number: int) -> None:
        """Pass a signal to the process."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def status(self) -> int:
        """The exit status; 128 plus the number if a signal ended the process, as in shells."""
        code = await asyncio.to_thread(self.process.wait)
        return code if code >= 0 else 128 - code

    async def _exited(self) -> bool:
        try:
            await asyncio.to_thread(self.process.wait, GRACE)
        except subprocess.TimeoutExpired:
            return False
        return True


class StdioPort:
    """Messages to and from the client that started us."""

    def __init__(self) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.writer = LineWriter()
        self.ended = asyncio.Event()
        self.reader = _message_reader(self._deliver, self._refuse, self.ended.set)

    async def open(self) -> None:
        """Start to listen, on copies of the streams: the originals stay open."""
        await self.writer.open(os.fdopen(os.dup(1), "wb", 0))
        await self.reader.open(os.fdopen(os.dup(0), "rb", 0))

    def send(self, message: Message) -> None:
        if message.method is not None and self.writer.is_blocked:
            logger.warning("the client reads nothing: %s was dropped", message.method)
            return  # servers at URLs cannot be told to wait
        self.writer.write(message.raw)

    def _deliver(self, message: Message) -> None:
        """Pass on a message from the client. A failure here affects this message only."""
        try:
            self.on_message(message)
        except Exception:
            logger.exception("a message of the client could not be handled")
            if message.is_request:
                self.send(
                    error_response(message.id, SERVER_FAULT, "The gateway could not handle this request.")
                )

    def _refuse(self, error: Unreadable, line: bytes) -> None:
        """Send the client an error. If the message was a response, the server gets an error too."""
        logger.warning("a message of the client was not passed on: %s", error)
        self.send(error.refusal())
        if error.is_response:
            self._deliver(error.replacement())

    async def aclose(self) -> None:
        """Write the rest. Make the streams blocking again, because our parent may share them."""
        await self.writer.close()
        self.reader.close()
        for number in (0, 1):
            os.set_blocking(number, True)
