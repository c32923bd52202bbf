"""An authorization server under the test's control: it does what is right, unless a test has it do what is wrong."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import ECKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from handraise.pages.oauth import discovery
from handraise.site.listener import Listener

KEY = ECKey.generate_key("P-256", auto_kid=True)


@dataclass
class Authority:
    """Issues codes to whom the test says, and tokens for them."""

    listener: Listener = field(default_factory=lambda: Listener("The authority"))
    says: dict[str, Any] = field(default_factory=dict)
    """What its document says otherwise."""
    claims: dict[str, Any] = field(default_factory=dict)
    """What its ID tokens say otherwise."""
    marks: dict[str, Any] = field(default_factory=dict)
    """What its keys are marked with."""
    signs_with: ECKey = field(default_factory=lambda: KEY)
    lifetime: int = 3600
    is_down: bool = False
    refuses: dict[str, Any] | None = None
    """What it says instead of giving a token, or of taking one back."""
    agrees_at_once: bool = False
    """Whether its authorize address sends people straight back, instead of being no page at all."""
    codes: dict[str, tuple[dict[str, str], str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    requests: list[tuple[dict[str, str], str]] = field(default_factory=list)
    """The headers and bodies that came to the token endpoint."""
    revoked: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    """Every request as it came: its address, headers and body."""

    @property
    def issuer(self) -> str:
        return self.listener.base_url

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self._document),
                *([Route("/authorize", self._authorize)] if self.agrees_at_once else []),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
                Route("/jwks", self._jwks),
            ]
        )

    def agree(self, url: str, user: str = "ann", **otherwise: str | None) -> str:
        """What comes of a person agreeing at the authorize address: the way back, from the host on."""
        parts = urlsplit(self._way_back(url, user, **otherwise))
        return f"{parts.path.removeprefix('/handraise')}?{parts.query}"

    def _way_back(self, url: str, user: str, **otherwise: str | None) -> str:
        asked = dict(parse_qsl(urlsplit(url).query))
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked, user
        back = {"code": code, "state": asked.get("state"), "iss": self.issuer, **otherwise}
        query = urlencode({name: value for name, value in back.items() if value is not None})
        return f"{asked['redirect_uri']}?{query}"

    async def _authorize(self, request: Request) -> Response:
        await self._receive(request)
        return RedirectResponse(self._way_back(str(request.url), "ann"), 303)

    async def _receive(self, request: Request) -> None:
        self.received.append(f"{request.url} {request.headers} {(await request.body()).decode()}")

    async def _document(self, request: Request) -> Response:
        await self._receive(request)
        at = self.issuer
        document = {
            "issuer": at,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "revocation_endpoint": f"{at}/revoke",
            "jwks_uri": f"{at}/jwks",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({**document, **self.says})

    async def _token(self, request: Request) -> Response:
        await self._receive(request)
        body = (await request.body()).decode()
        self.requests.append((dict(request.headers), body))
        if self.is_down:
            return Response("<h1>Down</h1>", 503)
        if self.refuses is not None:
            return JSONResponse(self.refuses, 400)
        form = dict(parse_qsl(body))
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refresh_tokens.discard(form["refresh_token"])  # rotated: the old one is used up
            return self._granted("", "ann", "")
        asked, user = self.codes.pop(form["code"], ({}, ""))
        proof = create_s256_code_challenge(form["code_verifier"])
        if asked.get("code_challenge") != proof or asked["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return self._granted(asked["client_id"], user, asked.get("nonce", ""))

    def _granted(self, client: str, user: str, nonce: str) -> Response:
        refresh = f"refresh-{secrets.token_hex(8)}"
        self.refresh_tokens.add(refresh)
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": user, "aud": client, "exp": now + 60, "iat": now, "nonce": nonce}
        header = {"alg": "ES256", "kid": KEY.kid}
        answer = {
            "access_token": f"access-{secrets.token_hex(8)}",
            "refresh_token": refresh,
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "id_token": jwt.encode(header, {**claims, **self.claims}, self.signs_with),
        }
        return JSONResponse(answer)

    async def _revoke(self, request: Request) -> Response:
        await self._receive(request)
        if self.refuses is not None:
            return JSONResponse(self.refuses, 400)
        self.revoked.append(dict(parse_qsl((await request.body()).decode()))["token"])
        return Response()

    async def _jwks(self, request: Request) -> Response:
        await self._receive(request)
        return JSONResponse({"keys": [{**KEY.as_dict(private=False), **self.marks}]})


def forget(issuer: str) -> None:
    """What another server published on the same port before is not this one's."""
    for known in [known for known in discovery._known if known[0] == issuer]:
        del discovery._known[known]


@asynccontextmanager
async def open_authority(**how: Any) -> AsyncIterator[Authority]:
    """An authority that listens on this computer."""
    authority = Authority(**how)
    await authority.listener.start(authority.app)
    forget(authority.issuer)
    try:
        yield authority
    finally:
        await authority.listener.stop()
