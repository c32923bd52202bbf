"""A server that wants to know its person, protected by the official SDK's own authorization server."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.responses import Response
from tests.gateway.test_http import served
from tests.pages.oauth.authority import forget
from tests.server.peers import free_port


@dataclass
class Provider:
    """Lets in whom the test says."""

    url: str
    lifetime: int = 3600
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    leaving: dict[str, AuthorizationParams] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    renewed: int = 0
    lets_in: str | None = None
    """Who agrees to everything without being asked, as somebody who is signed in there."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        visit = secrets.token_urlsafe(8)
        self.leaving[visit] = params.model_copy(update={"state": params.state})
        self.leaving[visit].__dict__["client"] = client.client_id
        if self.lets_in is not None:
            return self.agree(visit, self.lets_in)
        return f"{self.url}/agree?{urlencode({'visit': visit})}"

    def agree(self, visit: str, user: str | None) -> str:
        """Where the browser goes when somebody agreed, or nobody did."""
        params = self.leaving.pop(visit)
        back: dict[str, str | None] = {"state": params.state}
        if user is None:
            back["error"] = "access_denied"
        else:
            code = secrets.token_urlsafe(16)
            self.codes[code] = AuthorizationCode(
                code=code,
                scopes=params.scopes or [],
                expires_at=time.time() + 60,
                client_id=params.__dict__["client"],
                code_challenge=params.code_challenge,
                redirect_uri=params.redirect_uri,
                redirect_uri_provided_explicitly=True,
                resource=params.resource,
                subject=user,
            )
            back["code"] = code
        return f"{params.redirect_uri}?{urlencode({k: v for k, v in back.items() if v is not None})}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        known = authorization_code
        return self._issue(known.client_id, known.scopes, known.resource, known.subject)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.renewed += 1
        known = self.refreshing.pop(refresh_token.token)
        return self._issue(known.client_id, known.scopes, known.resource, known.subject)

    def _issue(
        self, client_id: str, scopes: list[str], resource: str | None, subject: str | None
    ) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        common: Any = {"client_id": client_id, "scopes": scopes, "resource": resource, "subject": subject}
        self.tokens[access] = AccessToken(
            token=access, expires_at=int(time.time()) + max(self.lifetime, 60), **common
        )
        self.refreshing[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.lifetime, scope=" ".join(scopes)
        )

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)
        self.refreshing.pop(token.token, None)

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise NotImplementedError

    def end_all(self) -> None:
        """No token is good any more; refresh tokens are."""
        self.tokens.clear()


@dataclass
class Diary:
    """The server, and everything that came to it."""

    url: str
    provider: Provider
    headers: list[dict[str, str]] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    wants: str | None = None
    """A scope without which no token suffices."""

    @property
    def lacks_scope(self) -> bool:
        """Whether the last request came with a token that does not allow enough."""
        token = self.provider.tokens.get(self.headers[-1].get("authorization", "").removeprefix("Bearer "))
        return self.wants is not None and token is not None and self.wants not in token.scopes

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"


def make_diary(diary: Diary) -> Any:
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(diary.url),
        resource_server_url=AnyHttpUrl(diary.mcp),
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["diary", "more"]),
        required_scopes=["diary"],
        validate_token_resource=True,
    )
    server = MCPServer("diary", auth=auth, auth_server_provider=diary.provider)

    @server.tool()
    async def write(text: str) -> str:
        """Write something down."""
        token = get_access_token()
        who = token.subject if token is not None else None
        diary.written.append((str(who), text))
        return f"{who} wrote {text}"

    app = server.streamable_http_app()

    async def overheard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/mcp":
            diary.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            if diary.lacks_scope:
                told = f'Bearer error="insufficient_scope", scope="{diary.wants}"'
                await Response(status_code=403, headers={"www-authenticate": told})(scope, receive, send)
                return
        await app(scope, receive, send)

    return overheard


@asynccontextmanager
async def open_diary(lifetime: int = 3600, host: str = "127.0.0.1") -> AsyncIterator[Diary]:
    """The server on a port of this computer."""
    port = free_port()
    url = f"http://{host}:{port}"
    forget(url)
    diary = Diary(url, Provider(url, lifetime))
    async with served(make_diary(diary), "on", port):
        yield diary
