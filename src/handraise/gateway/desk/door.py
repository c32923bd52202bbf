"""The private socket of a gateway's desk. There `handraise inbox` gets a sign-in page, or answers questions.

The attack: a model with a shell runs as the same user and can call `handraise inbox` as well as the person can. So the
socket looks at the process that connects, see `handraise.access`. Where the system does not tell, a visitor
proves the desk code once and gets a pass for its further requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from handraise.access import REFUSALS, Access, AccessCheck
from handraise.desks import Queue
from handraise.desks.counter.place import counter_directory, require_private
from handraise.desks.desk_code import DeskCodeCheck
from handraise.desks.distant import reply_to
from handraise.errors import SetupError

logger = logging.getLogger(__name__)

DOOR: Final = ".desk"
_PATIENCE: Final = 10.0
_LONGEST_LINE: Final = 1024 * 1024
UNKNOWN: Final = {"refused": "The desk does not know this request."}
WRONG_CODE: Final = "That is not your desk code. After five wrong ones, wait ten seconds before each try."


class Door:
    """Serves one gateway's desk to commands of its person."""

    def __init__(
        self,
        queue: Queue,
        sign_in_file: Callable[[], Awaitable[Path]],
        *,
        access: AccessCheck,
        code: DeskCodeCheck | None = None,
        directory: Path | None = None,
    ) -> None:
        """`sign_in_file` makes a private file that leads a browser to the desk."""
        self._queue = queue
        self._sign_in_file = sign_in_file
        self._access = access
        self._code = code or DeskCodeCheck()
        self._passes: set[str] = set()
        self._directory = directory or counter_directory(os.environ)
        self._entry = self._directory / f"{os.getpid()}-{secrets.token_hex(4)}{DOOR}"
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Door:
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
        try:
            async with asyncio.timeout(_PATIENCE):
                asked = json.loads(await reader.readline())
                reply = await self._reply(asked, writer.get_extra_info("socket"))
                writer.write(json.dumps(reply).encode() + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # the visitor left, was too slow, or sent no JSON
        except Exception:
            logger.exception("the desk's socket failed")
        finally:
            writer.close()

    async def _reply(self, asked: object, visitor: socket.socket) -> dict[str, Any]:
        access = await asyncio.to_thread(self._access.of_unix_socket, visitor)
        if not isinstance(asked, dict):
            return dict(UNKNOWN)
        match asked:
            case {"do": str()} if access == "another_user":
                return {"refused": REFUSALS[access]}
            case {"do": "look"}:
                waiting = self._queue.waiting()
                return {"waiting": len(waiting), "servers": sorted({each.origin.name for each in waiting})}
            case {"do": "prove", "challenge": str(challenge), "signature": str(signature)}:
                return await asyncio.to_thread(self._pass_for, challenge, signature)
            case {"do": "sign in"}:
                # An unknown visitor gets the page too: it asks every unknown browser for the desk code.
                refusal = None if access == "unknown" else self._refusal(access, asked)
                return refusal or {"file": str(await self._sign_in_file())}
            case {"do": str()}:
                return self._refusal(access, asked) or reply_to(self._queue, asked) or dict(UNKNOWN)
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
        """A pass for a visitor who proved the desk code for this very socket."""
        try:
            right = self._code.accepts_proof(bytes.fromhex(signature), challenge, self._entry.name)
        except (SetupError, ValueError):
            right = False
        if not right:
            return {"refused": WRONG_CODE}
        made = secrets.token_urlsafe(32)
        self._passes.add(made)
        return {"pass": made}
