"""The control socket of a process: a command in another terminal lists what waits, and answers it with a code.

One line of JSON in, one out. Only this user can connect: the sockets are in a directory that nobody else can enter, and
each process has one entry there. The listener tells what waits, and takes an answer that comes with the code. The
client is plain and blocking.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import secrets
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

from handraise.access import AccessCheck
from handraise.desks.codes import AnswerCode, prove
from handraise.desks.endings import describe_ending
from handraise.desks.fill import edited, read_answer
from handraise.desks.language import ENGLISH
from handraise.desks.present import link_of
from handraise.desks.queue import ARMED_AFTER, Queue, Verdict
from handraise.desks.waiting import Decision, DeskAnswer, Waiting, describe
from handraise.disk import replace_file
from handraise.errors import SetupError, WireError
from handraise.policy.places import data_directory
from handraise.processes import SocketOwner, UnixPeer, can_tell, tcp_peer, unix_peer
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion, Person

logger = logging.getLogger(__name__)

DESK: Final = "command"
"""What this desk is called in decisions."""
MOST_LISTED: Final = 100
LONGEST_LINE: Final = 1024 * 1024
_PATIENCE: Final = 10.0
"""Seconds within which a request has to arrive, and its reply to be taken."""
_MOST_VISITORS: Final = 16

Message: TypeAlias = dict[str, Any]


class AnswerListener:
    """Lets commands of the same user see a queue's questions, and answer them with the code.

        async with AnswerListener(queue, code):
            ...

    Any process that holds a queue can open one: a client, a web desk, a gateway. `person` limits it to the questions
    of one person.
    """

    def __init__(
        self,
        queue: Queue,
        code: AnswerCode,
        *,
        person: Person | None = None,
        directory: Path | None = None,
        access: AccessCheck | None = None,
    ) -> None:
        """`access` tells the person's own programs from a client's, which then take no try and no place of theirs."""
        self._queue = queue
        self._code = code
        self._person = person
        self._directory = directory or runtime_directory(os.environ)
        self._entry: Path | None = None
        self._token: str | None = None
        self._server: asyncio.Server | None = None
        self._access = access
        self._visitors: dict[asyncio.Task[None], bool] = {}
        """Each with whether it is the person's own program, as far as that is known."""

    async def __aenter__(self) -> AnswerListener:
        require_private(self._directory)
        self._entry = new_entry(self._directory)
        if self._entry.suffix == SOCKET:
            self._server = await asyncio.start_unix_server(self._visit, self._entry, limit=LONGEST_LINE)
            self._entry.chmod(0o600)
        else:
            self._server = await asyncio.start_server(self._visit, "127.0.0.1", 0, limit=LONGEST_LINE)
            self._token = secrets.token_urlsafe(32)
            port = self._server.sockets[0].getsockname()[1]
            replace_file(self._entry, json.dumps({"port": port, "token": self._token}))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._entry is not None
        self._entry.unlink(missing_ok=True)
        self._server.close()
        for visitor in self._visitors:
            visitor.cancel()
        await asyncio.gather(*self._visitors, return_exceptions=True)
        await self._server.wait_closed()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = asyncio.current_task()
        assert visitor is not None
        self._visitors[visitor] = False
        try:
            connection = writer.get_extra_info("socket")
            own = self._visitors[visitor] = await self._is_own(connection)
            alike = sum(each is own for each in self._visitors.values())
            if alike <= _MOST_VISITORS and self._is_same_user(connection):
                await self._serve(reader, writer, own)
        except (OSError, TimeoutError, ValueError):
            pass  # gone, too slow, or no JSON: nothing was decided
        except Exception:
            logger.exception("the control socket failed")
        finally:
            del self._visitors[visitor]
            writer.close()

    async def _is_own(self, visitor: socket.socket) -> bool:
        """Whether the visitor is a program of the person's; without `access` every program counts as one."""
        if self._access is None:
            return True
        if self._token is None:
            return await asyncio.to_thread(self._access.of_unix_socket, visitor) == "own"
        ends = visitor.getpeername(), visitor.getsockname()
        return await asyncio.to_thread(self._access.of_connection, *ends) == "own"

    def _is_same_user(self, visitor: socket.socket) -> bool:
        """Whether the visitor runs as this user; where the system does not tell about ports, the token shows it."""
        if self._token is None:
            peer: UnixPeer | SocketOwner | None = unix_peer(visitor)
        elif can_tell():
            peer = tcp_peer(visitor.getpeername(), visitor.getsockname())
        else:
            return True
        return peer is not None and peer.user == os.getuid()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: bool) -> None:
        nonce = secrets.token_hex(16)
        writer.write(_line({"nonce": nonce}))
        async with asyncio.timeout(_PATIENCE):
            request = json.loads(await reader.readline())
        reply = await self._reply(request, nonce, own) if self._may_ask(request) else _STRANGER
        writer.write(_line(reply))
        async with asyncio.timeout(_PATIENCE):
            await writer.drain()

    def _may_ask(self, request: object) -> bool:
        """On a port anybody on this computer can connect: there the token shows who can read this user's files."""
        if self._token is None:
            return True
        given = request.get("token") if isinstance(request, dict) else None
        return isinstance(given, str) and hmac.compare_digest(given.encode(), self._token.encode())

    async def _reply(self, request: object, nonce: str, own: bool) -> Message:
        """The reply to the one request of a connection. One that is none gets a sentence and changes nothing."""
        match request:
            case {"do": "pending"}:
                return self._pending()
            case {
                "do": "answer",
                "id": str(question_id),
                "proof": str(proof),
                "answer": dict(given),
                "anyway": bool(anyway),
            }:
                verdict = await self._code.check(proof, nonce, question_id, given, anyway, trusted=own)
                refusal = _WRONG[
                    verdict
                ]  # first, so that nobody without the code learns whether an answer would fit
                return refusal or await self._decide(question_id, given, anyway)
            case _:
                return _no("unreadable", "This request is not known here.")

    def _pending(self) -> Message:
        mine = [waiting for waiting in self._queue.waiting() if self._is_mine(waiting)]
        return {"pending": [describe(waiting) for waiting in mine[:MOST_LISTED]], "total": len(mine)}

    async def _decide(self, question_id: str, given: Message, anyway: bool) -> Message:
        waiting = self._queue.find(question_id)
        if waiting is None or not self._is_mine(waiting):
            return self._gone(question_id)
        answer = _read(waiting, given, anyway)
        if not isinstance(answer, Accepted | Declined | Cancelled):
            return answer
        match await self._put(waiting, answer):
            case "taken":
                ended = self._queue.outcome(question_id)
                unattended = ended is not None and ended[1].unattended
                note = {"note": ENGLISH("tell_client")} if unattended else {}
                return {"taken": answer.action, "link": _to_open(waiting, answer), **note}
            case "needs passkey":
                return _no("needs_passkey", ENGLISH("passkey_at_web_desk", command=self._queue.web_desk))
            case _:
                return self._gone(question_id)

    async def _put(self, waiting: Waiting, answer: DeskAnswer) -> Verdict:
        """Decide. What was written out with its code is no typing ahead: where it comes too soon, it is held back."""
        decision = Decision(answer, desk=DESK, edited=_edited(waiting, answer))
        verdict = self._queue.decide(waiting.id, decision)
        if verdict == "too soon":
            self._queue.show(waiting.id)
            await asyncio.sleep(ARMED_AFTER)
            verdict = self._queue.decide(waiting.id, decision)
        return verdict

    def _gone(self, question_id: str) -> Message:
        ended = self._queue.outcome(question_id)
        if ended is None or not self._is_mine(ended[0]):
            return _no("unknown", "No question with this id waits here.")
        return _no("too_late", _how(*ended))

    def _is_mine(self, waiting: Waiting) -> bool:
        return self._person is None or self._person == waiting.person


def _how(waiting: Waiting, decision: Decision) -> str:
    told = describe_ending(waiting, decision)
    return f"This question is over. {told.heading}. {told.sentence}"


def _no(error: str, sentence: str, problems: list[str] | None = None) -> Message:
    return {"error": error, "sentence": sentence, "problems": problems or []}


def _read(waiting: Waiting, given: Message, anyway: bool) -> DeskAnswer | Message:
    """The answer, checked as at every desk; or why it is none."""
    try:
        answer, filled = read_answer(waiting.question, given)
    except WireError as error:
        return _no("misfit", "This is no answer to the question. Nothing was sent.", [str(error)])
    if filled is None:
        is_consent = isinstance(answer, Accepted) and not waiting.browsing
        if is_consent and not ((link := link_of(waiting)) and link.may_be_opened):
            return _no("danger", "This link is dangerous and cannot be accepted. Decline or cancel it.")
        return answer
    if filled.problems:
        told = [f"{each.field or 'answer'}: {each.message}" for each in filled.problems]
        return _no("misfit", "The answer does not fit the form. Nothing was sent.", told)
    if filled.stopped:
        reasons = [each.reason for each in filled.stopped]
        return _no(
            "secret", "This looks like a secret, which a form must not carry. Nothing was sent.", reasons
        )
    if filled.odd and not anyway:
        reasons = [each.reason for each in filled.odd]
        return _no("personal", "Nothing was sent yet. If this is meant to leave, add --anyway.", reasons)
    return answer


def _to_open(waiting: Waiting, answer: DeskAnswer) -> str | None:
    """The link that the person agreed to open, for them to open."""
    link = link_of(waiting) if isinstance(answer, Accepted) and not waiting.browsing else None
    return None if link is None else link.href


def _edited(waiting: Waiting, answer: DeskAnswer) -> tuple[str, ...]:
    if isinstance(answer, Accepted) and isinstance(waiting.question, FormQuestion):
        return edited(waiting.question.form, answer.data or {})
    return ()


_WRONG: Final[Mapping[str, Message | None]] = {
    "right": None,
    "wrong": _no("wrong_code", "That is not the code that the desk shows. Nothing was answered."),
    "wait": _no("wait", "Too many wrong codes. Wait ten seconds, then try again."),
}
_STRANGER: Message = {"error": "stranger", "sentence": "This process is another user's.", "problems": []}


def _line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


_CLIENT_PATIENCE: Final = 15.0
_LONGEST_REPLY: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that waits in one of the processes."""

    socket: Path
    described: dict[str, Any]

    @property
    def id(self) -> str:
        """The question's id."""
        return str(self.described["id"])


def pending(directory: Path | None = None) -> tuple[Pending, ...]:
    """Everything that waits in any process of this user."""
    found = []
    for place in runtime_directories(os.environ) if directory is None else (directory,):
        for entry in entries(place):
            if (reply := _ask(entry, lambda _: {"do": "pending"})) is not None:
                found += [Pending(entry, each) for each in reply.get("pending", ())]
    return tuple(found)


def send_answer(question: Pending, code: str, answer: Message, *, anyway: bool = False) -> Message | None:
    """Send an answer. Returns the reply, None when the process ended meanwhile."""

    def request(nonce: str) -> Message:
        proof = prove(code, nonce, question.id, answer, anyway)
        return {"do": "answer", "id": question.id, "proof": proof, "answer": answer, "anyway": anyway}

    return _ask(question.socket, request)


def _ask(entry: Path, request: Callable[[str], Message]) -> Message | None:
    """One connection: the listener sends a nonce, takes one request, and replies."""
    try:
        with _connected(entry) as (line, token):
            greeting = json.loads(_read_line(line))
            line.sendall(json.dumps({**request(greeting["nonce"]), **token}).encode() + b"\n")
            reply = json.loads(_read_line(line))
    except ConnectionRefusedError:
        with suppress(OSError):
            entry.unlink()  # its process ended without tidying up
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return reply if isinstance(reply, dict) else None


@contextmanager
def _connected(entry: Path) -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """A connection to a listener, and the token that it wants where it is a port."""
    if entry.suffix == SOCKET:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_CLIENT_PATIENCE)
            line.connect(str(entry))
            yield line, {}
    else:
        told = json.loads(entry.read_text())
        with socket.create_connection(("127.0.0.1", told["port"]), _CLIENT_PATIENCE) as line:
            yield line, {"token": told["token"]}


def _read_line(line: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = line.recv(64 * 1024)
        if not chunk or len(received) > _LONGEST_REPLY:
            break
        received += chunk
    return bytes(received)


SOCKET: Final = ".sock"
PORT: Final = ".port"
"""A file with a port and a token, where there are no Unix sockets, or the directory's name is too long for one."""
_LONGEST: Final = 100
"""Bytes in the path of a Unix socket; the systems allow 104 and more."""


def runtime_directory(environment: Mapping[str, str]) -> Path:
    """Where they are: in the session's own directory, or else beside the user's rules."""
    named = environment.get("XDG_RUNTIME_DIR", "")
    if Path(named).is_absolute() and Path(named).is_dir():
        return Path(named) / "handraise"
    return data_directory(environment) / "run"


def runtime_directories(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where to look for them: a client starts its servers with few variables, so they may have chosen otherwise."""
    found = [data_directory(environment) / "run"]
    if sys.platform != "win32":
        found.append(Path(f"/run/user/{os.getuid()}/handraise"))
    others = [each for each in found if each.is_dir()]
    return tuple(dict.fromkeys([runtime_directory(environment), *others]))


def require_private(directory: Path) -> None:
    """Make the directory, and refuse one that somebody else could enter or has put there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise SetupError(f"{directory}: no place to answer by id ({error.strerror})") from None
    if sys.platform == "win32":
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SetupError(
            f"{directory} must be a directory that is yours alone (chmod 700), so nothing is put there"
        )


def new_entry(directory: Path) -> Path:
    """A name for a new listener, with the ending that says how it is reached."""
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    path = directory / f"{name}{SOCKET}"
    has_sockets = sys.platform != "win32" and len(os.fsencode(path)) <= _LONGEST
    return path if has_sockets else directory / f"{name}{PORT}"


def entries(directory: Path) -> Iterator[Path]:
    """The listeners that are there, or were."""
    try:
        require_private(directory)
        found = sorted(directory.iterdir())
    except OSError:
        return
    yield from (path for path in found if path.suffix in (SOCKET, PORT))
