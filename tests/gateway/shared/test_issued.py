"""Tokens of an authorization server: believed only when it signed them, for this gateway, and they are not over."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from tests.gateway.shared.teams import team
from tests.server.peers import text_of

from handraise.errors import SetupError
from handraise.gateway.shared.issued import IssuedTokens, require_public
from handraise.questions import Person
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7", "W8")]

ISSUER = "https://id.example"
HERE = "https://gateway.example/mcp"
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


class Published:
    """What the issuer publishes, and how often it was asked."""

    def __init__(self, **changed: Any) -> None:
        self.asked: list[str] = []
        self.keys = {"one": KEY}
        self._changed = changed

    async def __call__(self, url: str) -> dict[str, Any]:
        self.asked.append(url)
        if url.endswith("/oauth-authorization-server"):
            return {"issuer": ISSUER, "jwks_uri": "https://id.example/keys", **self._changed}
        assert url == "https://id.example/keys"
        keys = [
            {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, "alg": "ES256"}
            for name, key in self.keys.items()
        ]
        return {"keys": keys}


def token(key: Any = KEY, kid: str = "one", algorithm: str = "ES256", **claims: Any) -> str:
    told = {"iss": ISSUER, "sub": "ann", "aud": HERE, "exp": time.time() + 600, **claims}
    told = {name: value for name, value in told.items() if value is not None}
    return jwt.encode(told, key, algorithm=algorithm, headers={"kid": kid})


async def test_the_person_is_issuer_and_subject() -> None:
    assert await IssuedTokens(ISSUER, HERE, Published()).person(token()) == Person(ISSUER, "ann", "token")


@pytest.mark.parametrize(
    "bad",
    [
        token(aud="https://other.example/mcp"),
        token(aud=None),
        token(iss="https://evil.example"),
        token(iss=None),
        token(exp=time.time() - 600),
        token(exp=None),
        token(sub=None),
        token(sub=""),
        token(nbf=time.time() + 600),
        token(OTHER),
        token(kid="none such"),
        token("a shared secret that is long enough", algorithm="HS256"),
        token(None, algorithm="none"),
        "",
        "a.b.c",
        token()[:-4],
    ],
    ids=[
        "another audience", "no audience", "another issuer", "no issuer", "over", "without end", "no subject",
        "empty subject", "not yet", "another's key", "unknown key", "shared secret", "unsigned", "empty",
        "garbage", "cut",
    ],
)  # fmt: skip
async def test_any_other_token_is_nobodys(bad: str) -> None:
    assert await IssuedTokens(ISSUER, HERE, Published()).person(bad) is None


async def test_new_keys_are_found_and_bad_tokens_do_not_have_us_ask_again_and_again() -> None:
    now, published = [0.0], Published()
    tokens = IssuedTokens(ISSUER, HERE, published, clock=lambda: now[0])
    assert await tokens.person(token()) is not None
    published.keys["two"] = OTHER
    for _ in range(20):
        assert await tokens.person(token(OTHER, kid="two")) is None
    assert len(published.asked) == 2
    now[0] = 61.0
    assert await tokens.person(token(OTHER, kid="two")) is not None
    assert len(published.asked) == 4


async def test_an_issuer_that_publishes_as_another_is_not_believed() -> None:
    assert await IssuedTokens(ISSUER, HERE, Published(issuer="https://evil.example")).person(token()) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://id.example/keys",
        "https://127.0.0.1/keys",
        "https://localhost/keys",
        "https://10.0.0.1/keys",
        "https://192.168.1.1/keys",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/keys",
        "https://[fd00::1]/keys",
        "https://user@1.1.1.1/keys",
        "file:///etc/passwd",
        "",
    ],
)
async def test_keys_are_not_fetched_from_private_networks_or_without_https(url: str) -> None:
    with pytest.raises(SetupError):
        await require_public(url)


async def test_a_client_that_comes_without_a_token_is_told_where_to_get_one(tmp_path: Path) -> None:
    import httpx2
    from tests.gateway.shared.test_shared import HELLO

    async with team(tmp_path, tokens=IssuedTokens(ISSUER, HERE, Published()), issuer=ISSUER) as shared:
        refused = await shared.post(None, HELLO)
        where = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        async with httpx2.AsyncClient() as http:
            told = (await http.get(where)).json()
    assert refused.status_code == 401
    assert told == {"resource": f"{shared.url}/mcp", "authorization_servers": [ISSUER]}


async def test_a_person_of_the_issuer_is_served(tmp_path: Path) -> None:
    async with (
        team(tmp_path, tokens=IssuedTokens(ISSUER, HERE, Published()), issuer=ISSUER) as shared,
        shared.client(Revision.JULY_2026, token()) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "x"})) == "x"
