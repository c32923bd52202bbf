"""Who is behind a request: a verified token, the user of this machine, or nobody we can name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp.server.context import ServerRequestContext

from handraise.questions import Person
from handraise.server.rebind import session_id_of
from handraise.this_user import local_person


def person_of(ctx: ServerRequestContext[Any, Any]) -> Person:
    """The person behind a request, from what the transport has verified and nothing else."""
    return principal_of(ctx)[0]


def principal_of(ctx: ServerRequestContext[Any, Any]) -> tuple[Person, str]:
    """The person behind a request, and what every retry of it has to have in common with it.

    That is the person and the OAuth client that presented their token, so that another client's token opens nothing.
    """
    if (token := get_access_token()) is not None:
        client, issuer, subject = principal_components(token)
        if subject is None:  # a client by itself: no subject of its issuer may pass for it
            issuer, subject = f"clients of {issuer or ''}", client
        person = Person(issuer or "", subject, "token")
        return person, f"{person.key} {token.client_id}"
    return _unverified(None if ctx.request is None else session_id_of(ctx.session))


@lru_cache(maxsize=1024)
def _unverified(session_id: str | None) -> tuple[Person, str]:
    """The user of this machine, or nobody we can name: whoever has the session. Most have none, and share this."""
    person = local_person() if session_id is None else Person("", session_id, "anonymous")
    return person, f"{person.key} "
