"""The private socket of a gateway's desk, and the client side for commands of the same user."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from handraise.access import REFUSALS, Access, AccessCheck
from handraise.desks import Queue
from handraise.desks.codes import DeskCodeCheck, prove_desk_code
from handraise.desks.control import require_private, runtime_directories, runtime_directory
from handraise.desks.remote import reply_to
from handraise.errors import SetupError

logger = logging.getLogger(__name__)

SUFFIX: Final = ".desk"
_PATIENCE: Final = 10.0
_LONGEST_LINE: Final = 1024 * 1024
_MOST_VISITORS: Final = 16
UNKNOWN: Final = {"refused": "The desk does not know this request."}
WRONG_CODE: Final = "That is not your desk code. After five wrong ones, wait ten seconds before each try."


class DeskSocket:
    """Serves a gateway's desk to commands of its person."""

    def __init__(
        self,
        queue: Queue,
        sign_in_file: Callable[[str | None], Awaitable[Path]],
        *,
        access: AccessCheck,
        code: DeskCodeCheck,
    ) -> None:
        """`sign_in_file` makes a private file that signs a browser in, and opens the question with this id."""
        self._queue = queue
        self._sign_in_file = sign_in_file
        self._access = access
        self._code = code
        self._passes: set[str] = set()
        self._visitors = {True: 0, False: 0}
        """How many of the person's own programs are here, and how many others."""
        self._directory = runtime_directory(os.environ)
        self._entry = self._directory / f"{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> DeskSocket:
        require_private(self._directory)
        if sys.platform != "win32":
            self._server = await asyncio.start_unix_server(self._visit, self._entry, limit=_LONGEST_LINE)
            self._entry.chmod(0o600)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entry.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request. The attack: a client's program opens connections until none is left for the person."""
        connection = writer.get_extra_info("socket")
        access: Access = await asyncio.to_thread(self._access.of_unix_socket, connection)
        own = access == "own"
        self._visitors[own] += 1
        try:
            if self._visitors[own] > _MOST_VISITORS:
                return
            async with asyncio.timeout(_PATIENCE):
                reply = await self._reply(json.loads(await reader.readline()), access)
                writer.write(json.dumps(reply).encode() + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # the visitor left, was too slow, or sent no JSON
        except Exception:
            logger.exception("the desk's socket failed")
        finally:
            self._visitors[own] -= 1
            writer.close()

    async def _reply(self, asked: object, access: Access) -> dict[str, Any]:
        if not isinstance(asked, dict):
            return dict(UNKNOWN)
        match asked:
            case {"do": str()} if access == "another_user":
                return {"refused": REFUSALS[access]}
            case {"do": "look"}:
                waiting = self._queue.waiting()
                servers = sorted({each.origin.name for each in waiting})
                return {
                    "waiting": len(waiting),
                    "servers": servers,
                    "clients": self._access.dump_families(),
                }
            case {"do": "prove", "challenge": str(challenge), "signature": str(signature)}:
                return await asyncio.to_thread(self._pass_for, challenge, signature)
            case {"do": "sign in"}:
                # An unknown visitor gets the page too. The page asks unknown browsers for the desk code.
                refusal = None if access == "unknown" else self._refusal(access, asked)
                if refusal is not None:
                    return refusal
                question = asked.get("id")
                file = await self._sign_in_file(question if isinstance(question, str) else None)
                return {"file": str(file)}
            case {"do": str()}:
                if (refusal := self._refusal(access, asked)) is not None:
                    return refusal
                told = reply_to(self._queue, asked)
                return dict(UNKNOWN) if told is None else {**told, "clients": self._access.dump_families()}
            case _:
                return dict(UNKNOWN)

    def _refusal(self, access: Access, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Why a visitor may not read or decide; None when they may."""
        if access == "own":
            return None
        if access != "unknown":
            return {"refused": REFUSALS[access]}
        given = asked.get("pass")
        if isinstance(given, str) and given in self._passes:
            return None
        try:
            code = self._code.load()
        except SetupError as error:
            return {"refused": str(error)}
        if code is None:
            return {"refused": REFUSALS["unknown"]}
        return {"refused": REFUSALS["unknown"], "prove": self._code.challenge(), "salt": code.salt}

    def _pass_for(self, challenge: str, signature: str) -> dict[str, Any]:
        """A pass for a visitor who proves the desk code for this socket."""
        try:
            right = self._code.accepts_proof(bytes.fromhex(signature), challenge, self._entry.name)
        except (SetupError, ValueError):
            right = False
        if not right:
            return {"refused": WRONG_CODE}
        made = secrets.token_urlsafe(32)
        self._passes.add(made)
        return {"pass": made}


_LONGEST_REPLY: Final = 32 * 1024 * 1024


def desk_sockets() -> Iterator[Path]:
    """The sockets of desks, some of which may be gone."""
    for directory in runtime_directories(os.environ):
        with suppress(OSError, SetupError):
            require_private(directory)
            yield from sorted(path for path in directory.iterdir() if path.suffix == SUFFIX)


def ask_desk(path: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The desk's reply to a request; None when the desk is gone."""
    try:
        with socket.socket(socket.AF_UNIX) as visit, visit.makefile("rwb") as stream:
            visit.settimeout(_PATIENCE)
            visit.connect(str(path))
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            reply = json.loads(stream.readline(_LONGEST_REPLY))
    except ConnectionRefusedError:
        with suppress(OSError):
            path.unlink()  # its process ended without cleaning up
        return None
    except (OSError, ValueError):
        return None
    return reply if isinstance(reply, dict) else None


class DeskConnection:
    """Sends requests to desks, and proves the desk code if a desk wants it. The person types the code once."""

    def __init__(self, ask_code: Callable[[], str]) -> None:
        self._ask_code = ask_code
        self._typed: str | None = None
        self._passes: dict[Path, str] = {}

    def ask_desk(self, path: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The desk's reply to a request; None when the desk is gone."""
        reply = self._with_pass(path, request)
        match reply:
            case {"prove": str(challenge), "salt": str(salt)}:
                refused = self._prove(path, challenge, salt)
                return refused or self._with_pass(path, request)
            case _:
                return reply

    def _with_pass(self, path: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
        known = self._passes.get(path)
        return ask_desk(path, request if known is None else {**request, "pass": known})

    def _prove(self, path: Path, challenge: str, salt: str) -> dict[str, Any] | None:
        """Get a pass. Returns the desk's refusal, or None."""
        if self._typed is None:
            self._typed = self._ask_code()
        signature = prove_desk_code(self._typed, salt, challenge, path.name).hex()
        reply = ask_desk(path, {"do": "prove", "challenge": challenge, "signature": signature}) or {}
        if not isinstance(reply.get("pass"), str):
            self._typed = None
            return reply
        self._passes[path] = reply["pass"]
        return None
