"""What a service lets this server do for a person: the token that tools use."""

from __future__ import annotations

from dataclasses import dataclass

from handraise.vault import Secret


@dataclass(frozen=True, slots=True)
class Grant:
    """What the token endpoint gave."""

    access_token: Secret
    refresh_token: Secret | None
    expires_at: float | None
    """Wall clock, in seconds; None when it does not say."""
    scopes: frozenset[str]
    id_token: Secret | None = None


class Token(Secret):
    """An access token. `.reveal()` gives it to the request that needs it; no text shows it.

    `expires_at` (wall clock) and `scopes` are what the service said. Ask for it in every call: it is renewed
    when it is about to expire.
    """

    __slots__ = ("expires_at", "grant", "scopes")

    def __init__(self, grant: Grant) -> None:
        super().__init__(grant.access_token.reveal())
        self.grant: Grant = grant
        self.expires_at: float | None = grant.expires_at
        self.scopes: frozenset[str] = grant.scopes
