"""Who signed in: an ID token, believed only after its signature and every claim were checked."""

from __future__ import annotations

from typing import Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import extract_compact

from handraise.errors import AccountError
from handraise.issuers.reach import ANYWHERE, Reach
from handraise.issuers.signatures import ALGORITHMS, verifying_keys
from handraise.issuers.wire import fetch
from handraise.pages.oauth.departure import Departure
from handraise.pages.oauth.token import Grant
from handraise.questions import Person

_SKEW: Final = 60


async def read_person(grant: Grant, departure: Departure, client_id: str, reach: Reach = ANYWHERE) -> Person:
    """The person whom the issuer names to this client, in answer to this departure (OpenID Connect Core, 3.1.3.7)."""
    server = departure.server
    if grant.id_token is None or server.jwks_uri is None:
        raise AccountError("the authorization server does not say who signed in: it needs OpenID Connect")
    published = await fetch(server.jwks_uri, reach)
    try:
        written = grant.id_token.reveal()
        keys = verifying_keys(published, extract_compact(written.encode()).headers().get("alg"))
        token = jwt.decode(written, KeySet.import_key_set({"keys": keys}), algorithms=list(ALGORITHMS))
        claims = CodeIDToken(
            token.claims,
            token.header,
            {
                "iss": {"essential": True, "value": server.issuer},
                "aud": {"essential": True, "value": client_id},
                "sub": {"essential": True},
            },
            {
                "nonce": departure.nonce,
                "client_id": client_id,
                "access_token": grant.access_token.reveal(),
            },
        )
        claims.validate(leeway=_SKEW)
    except (JoseError, ValueError, KeyError) as error:
        raise AccountError(f"an ID token is not to be believed: {type(error).__name__}") from None
    return Person(str(claims["iss"]), str(claims["sub"]), "token")
