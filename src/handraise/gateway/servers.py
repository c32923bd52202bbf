"""The servers behind a gateway: started or called, bridged to the client's era, several as one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Final

from handraise.errors import SetupError
from handraise.gateway.lines import LineWriter, message_reader
from handraise.gateway.links import DirectLink, Link
from handraise.gateway.messages import SERVER_FAULT, Message, error_response
from handraise.gateway.reading import Unreadable
from handraise.gateway.upstreams import Source, Upstream
from handraise.policy.places import database_of

if TYPE_CHECKING:
    from handraise.gateway.accounts.accounts import Accounts
    from handraise.gateway.accounts.own_account import OwnAccount
    from handraise.questions import Person


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


class ProcessLink(DirectLink):
    """The link to a server process."""

    def __init__(self, source: Source, process: subprocess.Popen[bytes]) -> None:
        super().__init__(source)
        self.process = process
        self.reader = message_reader(self.deliver, self._refuse, self._ended)
        self.writer = LineWriter()
        self._over = asyncio.Event()

    async def open(self) -> None:
        """Start to listen."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        await self.writer.open(self.process.stdin)
        await self.reader.open(self.process.stdout)

    def send(self, message: Message) -> None:
        if not self.writer.is_blocked:
            self.writer.write(message.raw)
        elif message.is_request:
            refusal = error_response(message.id, SERVER_FAULT, "The server does not read what it gets.")
            asyncio.get_running_loop().call_soon(self.deliver, refusal)
        elif message.method is None:  # the attack: it asks without end and reads no answer
            logger.warning("%s reads no answers; one was dropped", self.source.upstream.name)

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


async def open_direct(
    upstream: Upstream,
    own: OwnAccount | None = None,
    *,
    errors: IO[bytes] | None = None,
    process: subprocess.Popen[bytes] | None = None,
    own_group: bool = False,
) -> Link:
    """A link to one server, without a bridge.

    `own`: the person's account there. `errors`: a file for standard error. `process`: one that was started before.
    `own_group`: keep a Ctrl+C at our terminal away from a new process.
    """
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http.client import HttpLink  # a gateway in front of a process needs no HTTP

        return HttpLink(source, own)
    link = ProcessLink(source, process or start(upstream, errors, own_group=own_group))
    await link.open()
    return link


class ServerSet:
    """All servers of one gateway. Every connected client gets its own processes."""

    def __init__(self, *upstreams: Upstream) -> None:
        self.upstreams = upstreams
        self.processes: list[ProcessLink] = []
        """The links to processes from `start`."""
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start the processes for the first client, so that they load while the gateway does."""
        try:
            for upstream in self.upstreams:
                if upstream.url is None:
                    self._started[upstream.name] = start(upstream)
        except Exception:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the started processes that no client uses."""
        for process in self._started.values():
            process.kill()
            process.communicate()
        self._started.clear()

    async def connect(self, accounts: Accounts | None = None, person: Person | None = None) -> Link:
        """One link to all servers, with the person's accounts there."""
        # Imported here: the processes load meanwhile.
        from handraise.gateway.eras import EraLink
        from handraise.gateway.router import ServerRouter

        links: dict[str, Link] = {}
        try:
            for upstream in self.upstreams:
                own = None if accounts is None else accounts.own(upstream, person)
                process = self._started.pop(upstream.name, None)
                direct = await open_direct(upstream, own, process=process, own_group=True)
                if process is not None and isinstance(direct, ProcessLink):
                    self.processes.append(direct)
                links[upstream.name] = EraLink(direct)
        except SetupError:  # otherwise each try would leave the other servers running
            await asyncio.gather(*(link.aclose() for link in links.values()))
            raise
        return links[self.upstreams[0].name] if len(links) == 1 else ServerRouter(links)
