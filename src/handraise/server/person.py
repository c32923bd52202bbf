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
    if (token := get_access_token()) is not None:
        client, issuer, subject = principal_components(token)
        return Person(issuer or "", subject if subject is not None else f"client {client}", "token")
    if ctx.request is not None:
        return _anonymous(session_id_of(ctx.session))
    return local_person()


@lru_cache(maxsize=1024)
def _anonymous(session_id: str) -> Person:
    """Nobody we can name: whoever has the session. Most requests have none, and share this."""
    return Person("", session_id, "anonymous")


def client_of_token() -> str:
    """The OAuth client that presented the token, so that another client's token opens nothing."""
    token = get_access_token()
    return "" if token is None else token.client_id
