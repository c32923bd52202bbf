"""What an authorization server knows this server as: its client id, its secret, and where the server is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from handraise.errors import SetupError
from handraise.issuers.reach import ANYWHERE, Reach, host_of, require_private_way
from handraise.vault import Secret


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
    resource: str | None = None
    """What its tokens are to be for (RFC 8707), where that has to be said."""
    reach: Reach = field(default=ANYWHERE, repr=False)

    def __post_init__(self) -> None:
        if not self.client_id:
            raise SetupError("an authorization server knows this server by a client_id; give it one")
        if self.issuer is None and self.endpoints is None:
            raise SetupError("say where the authorization server is: by issuer=, or by endpoints=")
        if self.issuer is not None:
            require_private_way(self.issuer)

    @property
    def indicator(self) -> dict[str, str]:
        """The parameter that says what tokens are for."""
        return {} if self.resource is None else {"resource": self.resource}

    @property
    def host(self) -> str:
        """The host of the service, as people read it. They may be sent to another: see `Metadata`."""
        return host_of(str(self.endpoints.authorization if self.endpoints else self.issuer))


def hidden(secret: Secret | FromVariable | str | None) -> Secret | FromVariable | None:
    """A client secret that no text shows, whichever way it was given."""
    return Secret(secret) if isinstance(secret, str) else secret
