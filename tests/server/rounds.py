"""Rounds by hand: a modern client whose every message the test writes itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


class Rounds:
    """Sends `tools/call`, or another method, as it is told, with the envelope of 2026-07-28."""

    def __init__(self, client: Client) -> None:
        self._dispatcher: Any = client.session._dispatcher
        self.capabilities = CAPABILITIES

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        state: str | None = None,
        responses: Any = None,
        method: str = "tools/call",
        request_id: str | None = None,
    ) -> dict[str, Any]:
        params: dict[str, Any] = {
            **({"uri": name} if method == "resources/read" else {"name": name, "arguments": arguments}),
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "rounds", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            },
        }
        if state is not None:
            params["requestState"] = state
        if responses is not None:
            params["inputResponses"] = responses
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name}
        options = {"headers": headers, **({} if request_id is None else {"request_id": request_id})}
        result: dict[str, Any] = await self._dispatcher.send_raw_request(method, params, options)
        return result


@asynccontextmanager
async def by_hand(server: Any) -> AsyncIterator[Rounds]:
    async with Client(server, mode="2026-07-28") as client:
        yield Rounds(client)


def accepted(round_: dict[str, Any], **content: Any) -> dict[str, Any]:
    """The responses that accept every question of a round with the same content."""
    return {key: {"action": "accept", "content": content} for key in round_["inputRequests"]}


def sign_in(subject: str | None, client_id: str = "app", issuer: str = "https://id.example") -> None:
    """Be this person for the rest of the test, as a verified access token would make it."""
    if subject is None:
        auth_context_var.set(None)
        return
    token = AccessToken(
        token="t", client_id=client_id, scopes=[], subject=subject, claims={"iss": issuer, "sub": subject}
    )
    auth_context_var.set(AuthenticatedUser(token))
