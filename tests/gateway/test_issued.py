"""Tokens of an authorization server: believed only when it signed them, for this gateway, and they are not over.

The issuer is a real one as far as we see of it: its document and its keys come over https, from an authority that the
test made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.gateway.teams import team
from tests.issuers.tls import THIS_COMPUTER, Vouched, served_by_tls, vouch
from tests.server.peers import text_of

from handraise.gateway.people import IssuedTokens
from handraise.questions import Person
from handraise.revisions import Revision

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.shows("W7", "W8")]

HERE = "https://gateway.example/mcp"
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


class Issuer:
    """What it publishes, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.keys = {"one": KEY}
        self.says: dict[str, Any] = {}
        self.marks: dict[str, Any] = {"alg": "ES256"}
        """What its keys are marked with."""
        self.url = ""
        self.app = Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server{path:path}", self._document),
                Route("/keys", self._keys),
            ]
        )

    async def _document(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        told = {"issuer": self.url + request.path_params["path"], "jwks_uri": f"{self.url}/keys"}
        return JSONResponse({**told, **self.says})

    async def _keys(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        keys = [
            {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, **self.marks}
            for name, key in self.keys.items()
        ]
        return JSONResponse({"keys": keys})

    def token(self, key: Any = KEY, kid: str | None = "one", algorithm: str = "ES256", **claims: Any) -> str:
        told = {"iss": self.url, "sub": "ann", "aud": HERE, "exp": time.time() + 600, **claims}
        told = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(told, key, algorithm=algorithm, headers={"kid": kid} if kid else {})


@pytest.fixture(scope="module")
def vouched(tmp_path_factory: pytest.TempPathFactory) -> Vouched:
    return vouch(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def issuer(vouched: Vouched, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Issuer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
    made = Issuer()
    async with served_by_tls(made.app, vouched) as made.url:
        yield made


def tokens_of(issuer: Issuer, **more: Any) -> IssuedTokens:
    return IssuedTokens(issuer.url, HERE, THIS_COMPUTER, **more)


async def test_the_person_is_issuer_and_subject(issuer: Issuer) -> None:
    assert await tokens_of(issuer).person(issuer.token()) == Person(issuer.url, "ann", "token")


async def test_a_token_may_be_for_others_too(issuer: Issuer) -> None:
    token = issuer.token(aud=["https://other.example/mcp", HERE])
    assert await tokens_of(issuer).person(token) == Person(issuer.url, "ann", "token")


async def test_an_issuer_may_have_a_path(issuer: Issuer) -> None:
    named = f"{issuer.url}/team"
    tokens = IssuedTokens(named, HERE, THIS_COMPUTER)
    assert await tokens.person(issuer.token(iss=named)) == Person(named, "ann", "token")
    assert issuer.asked[0] == "/.well-known/oauth-authorization-server/team"


BAD: dict[str, Any] = {
    "another audience": lambda issuer: issuer.token(aud="https://other.example/mcp"),
    "several audiences, none of them us": lambda issuer: issuer.token(aud=["https://a.example", "b"]),
    "no audience": lambda issuer: issuer.token(aud=None),
    "another issuer": lambda issuer: issuer.token(iss="https://evil.example"),
    "no issuer": lambda issuer: issuer.token(iss=None),
    "over": lambda issuer: issuer.token(exp=time.time() - 600),
    "without end": lambda issuer: issuer.token(exp=None),
    "no subject": lambda issuer: issuer.token(sub=None),
    "empty subject": lambda issuer: issuer.token(sub=""),
    "not yet": lambda issuer: issuer.token(nbf=time.time() + 600),
    "another's key": lambda issuer: issuer.token(OTHER),
    "unknown key": lambda issuer: issuer.token(kid="none such"),
    "no key named": lambda issuer: issuer.token(kid=None),
    "shared secret": lambda issuer: issuer.token("a shared secret that is long enough", algorithm="HS256"),
    "unsigned": lambda issuer: issuer.token(None, algorithm="none"),
    "empty": lambda issuer: "",
    "garbage": lambda issuer: "a.b.c",
    "cut": lambda issuer: issuer.token()[:-4],
}


async def test_any_other_token_is_nobodys(issuer: Issuer) -> None:
    tokens = tokens_of(issuer)
    taken = [name for name, make in BAD.items() if await tokens.person(make(issuer)) is not None]
    assert not taken
    assert await tokens.person(issuer.token()) is not None, "the issuer itself is well"


async def test_new_keys_are_found_old_ones_go_and_bad_tokens_do_not_have_us_ask_again_and_again(
    issuer: Issuer,
) -> None:
    now = [0.0]
    tokens = tokens_of(issuer, clock=lambda: now[0])
    assert await tokens.person(issuer.token()) is not None
    issuer.keys = {"two": OTHER}
    for _ in range(20):
        assert await tokens.person(issuer.token(OTHER, kid="two")) is None
    assert len(issuer.asked) == 2
    now[0] = 61.0
    assert await tokens.person(issuer.token(OTHER, kid="two")) is not None
    assert await tokens.person(issuer.token()) is None, "its key is not among the published ones any more"
    assert len(issuer.asked) == 4


async def test_nobody_with_a_known_key_waits_while_an_unknown_one_is_looked_for(issuer: Issuer) -> None:
    now, asked, answer = [0.0], asyncio.Event(), asyncio.Event()

    async def silent(request: Request) -> Response:
        asked.set()
        await answer.wait()
        return Response(status_code=503)

    tokens = tokens_of(issuer, clock=lambda: now[0])
    assert await tokens.person(issuer.token()) is not None
    now[0] = 61.0
    issuer.app.router.routes.insert(0, Route("/.well-known/{path:path}", silent))
    unknown = asyncio.create_task(tokens.person(issuer.token(OTHER, kid="two")))
    await asked.wait()
    async with asyncio.timeout(5):
        assert await tokens.person(issuer.token()) is not None
    answer.set()
    assert await unknown is None


async def test_a_key_that_was_taken_back_is_out_within_an_hour(issuer: Issuer) -> None:
    now = [0.0]
    tokens = tokens_of(issuer, clock=lambda: now[0])
    assert await tokens.person(issuer.token()) is not None
    issuer.keys = {}
    now[0] = 3600.0
    assert await tokens.person(issuer.token()) is None


MARKS = [
    {"use": "enc"},
    {"use": "something else"},
    {"key_ops": ["encrypt", "wrapKey"]},
    {"key_ops": ["sign"]},
    {"key_ops": []},
    {"key_ops": "verify"},
    {"alg": "ECDH-ES"},
    {"alg": "ES384"},
    {"alg": "HS256"},
    {"use": "enc", "alg": "ES256", "key_ops": ["verify"]},
]
"""Of keys that are for something else than to verify these signatures."""


@pytest.mark.parametrize("marks", MARKS, ids=str)
async def test_a_key_that_is_marked_for_something_else_verifies_nothing(
    issuer: Issuer, marks: dict[str, Any]
) -> None:
    """Others may have such a key's secret half, or be able to have things decrypted with it."""
    issuer.marks = marks
    assert await tokens_of(issuer).person(issuer.token()) is None


@pytest.mark.parametrize(
    "marks", [{}, {"use": "sig"}, {"key_ops": ["verify"]}, {"alg": "ES256", "use": "sig"}], ids=str
)
async def test_a_key_that_is_for_signatures_or_not_marked_verifies(
    issuer: Issuer, marks: dict[str, Any]
) -> None:
    issuer.marks = marks
    assert await tokens_of(issuer).person(issuer.token()) is not None


@pytest.mark.parametrize(
    "says",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "https://10.0.0.1/keys"},
        {"jwks_uri": "https://169.254.169.254/latest"},
        {"jwks_uri": "http://1.1.1.1/keys"},
        {"jwks_uri": None},
        {"jwks_uri": "https://1.1.1.1/ke ys"},
        {"jwks_uri": ["https://1.1.1.1/keys"]},
    ],
    ids=["another issuer", "private network", "cloud metadata", "no https", "nowhere", "blank", "list"],
)
async def test_a_document_that_leads_elsewhere_is_not_followed(issuer: Issuer, says: dict[str, Any]) -> None:
    issuer.says = says
    assert await tokens_of(issuer).person(issuer.token()) is None


async def test_an_issuer_in_a_private_network_is_not_asked(issuer: Issuer) -> None:
    assert await IssuedTokens(issuer.url, HERE).person(issuer.token()) is None
    assert not issuer.asked


async def test_a_client_that_comes_without_a_token_is_told_where_to_get_one(
    issuer: Issuer, tmp_path: Path
) -> None:
    import httpx2
    from tests.gateway.test_shared import HELLO

    async with team(tmp_path, tokens=tokens_of(issuer), issuer=issuer.url) as shared:
        refused = await shared.post(None, HELLO)
        where = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        async with httpx2.AsyncClient() as http:
            told = (await http.get(where)).json()
    assert refused.status_code == 401
    assert told == {"resource": f"{shared.url}/mcp", "authorization_servers": [issuer.url]}


async def test_a_person_of_the_issuer_is_served(issuer: Issuer, tmp_path: Path) -> None:
    async with (
        team(tmp_path, tokens=tokens_of(issuer), issuer=issuer.url) as shared,
        shared.client(Revision.JULY_2026, issuer.token()) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "x"})) == "x"
