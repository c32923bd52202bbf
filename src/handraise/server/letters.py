"""A message to a session as a letter: for nodes that share a store and cannot reach each other otherwise."""

from __future__ import annotations

import json
import logging
import secrets
from typing import TYPE_CHECKING, Any

from handraise.conversation.sessions import Letter

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope

logger = logging.getLogger(__name__)

_LONGEST = 1024 * 1024
_WANTED = 60.0
"""Seconds after which a letter that nobody fetched is of no use to anybody."""


async def write_letter(scope: Scope, receive: Receive, *, node: str, now: float) -> Letter | None:
    """The letter with a message that wants no reply: an answer, or a notification. None for anything else."""
    if scope["method"] != "POST" or (body := await _read(receive)) is None or not _wants_no_reply(body):
        return None
    message = {
        "path": scope["path"],
        "query": scope.get("query_string", b"").decode("latin-1"),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]],
        "body": body.decode(),
    }
    return Letter(secrets.token_hex(16), node, message, now + _WANTED)


async def deliver(app: ASGIApp, letter: Letter) -> None:
    """Give the message to the application as if it had come here; that also checks who sends it."""
    message, parts = letter.message, iter([letter.message["body"].encode()])
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": message["path"],
        "raw_path": message["path"].encode(),
        "root_path": "",
        "query_string": message["query"].encode("latin-1"),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in message["headers"]],
        "client": None,
        "server": None,
        "state": {},
    }

    async def receive() -> Message:
        body = next(parts, None)
        return {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body}

    async def send(event: Message) -> None:
        if event["type"] == "http.response.start" and event["status"] >= 400:
            logger.warning("a message that came by the store was refused with status %d", event["status"])

    await app(scope, receive, send)


async def _read(receive: Receive) -> bytes | None:
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > _LONGEST or event["type"] != "http.request":
            return None
        more = event.get("more_body", False)
    return b"".join(parts)


def _wants_no_reply(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except ValueError:
        return False
    return isinstance(message, dict) and not ("method" in message and "id" in message)
