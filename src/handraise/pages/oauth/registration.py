"""What an authorization server knows this server as: its client id, its secret, and where the server is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from handraise.errors import SetupError
from handraise.vault import Secret

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class FromVariable:
    """A client secret that an environment variable holds. `handraise vault forget` finds it there, too."""

    name: str

    def reveal(self, environment: Mapping[str, str] = os.environ) -> str:
        """The secret itself. SetupError when the variable is not set."""
        if not (value := environment.get(self.name)):
            raise SetupError(f"The client secret is expected in the variable {self.name}, which is not set.")
        return value


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses of an authorization server that does not publish them."""

    authorization: str
    token: str
    revocation: str | None = None

    def __post_init__(self) -> None:
        for url in (self.authorization, self.token, self.revocation):
            if url is not None:
                require_private_way(url)


@dataclass(frozen=True, slots=True)
class Registration:
    """This server as a client of one authorization server, which is found by its `issuer` or by `endpoints`."""

    client_id: str
    client_secret: Secret | FromVariable | None = field(default=None, repr=False)
    issuer: str | None = None
    endpoints: Endpoints | None = None

    def __post_init__(self) -> None:
        if not self.client_id:
            raise SetupError("an authorization server knows this server by a client_id; give it one")
        if self.issuer is None and self.endpoints is None:
            raise SetupError("say where the authorization server is: by issuer=, or by endpoints=")
        if self.issuer is not None:
            require_private_way(self.issuer)

    @property
    def host(self) -> str:
        """Where people are sent, as they read it."""
        url = self.endpoints.authorization if self.endpoints else self.issuer
        return urlsplit(url or "").netloc


def require_private_way(url: str) -> str:
    """The address, when nobody can listen on the way there: https, or this computer. SetupError otherwise."""
    parts = urlsplit(url)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not safe or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise SetupError(f"an authorization server is reached by https only, not at {url!r}")
    return url


def hidden(secret: Secret | FromVariable | str | None) -> Secret | FromVariable | None:
    """A client secret that no text shows, whichever way it was given."""
    return Secret(secret) if isinstance(secret, str) else secret
