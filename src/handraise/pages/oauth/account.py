"""An account that people can connect: which service, known as whom, and for what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from handraise.errors import SetupError
from handraise.issuers.reach import ANYWHERE, Reach
from handraise.pages.brand import Brand
from handraise.pages.oauth.registration import Endpoints, FromVariable, Registration, hidden
from handraise.vault import Secret

_SERVICE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_OURS: Final = frozenset(
    {
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
        "resource",
    }
)


@dataclass(frozen=True, slots=True)
class Account:
    """A service at which people have accounts, for `ask.connect`.

        github = Account("GitHub", "Iv1.8a61f9b3a7aba766", issuer="https://github.com/login/oauth",
                         client_secret=FromVariable("GITHUB_SECRET"), scopes={"repo": "Read and write your code"})

    Ask for the fewest scopes that do; a mapping says in plain words what each lets this server do.
    """

    name: str
    """What people call the service."""
    client_id: str
    issuer: str | None = None
    """Where the authorization server publishes about itself (RFC 8414, OpenID Connect Discovery)."""
    scopes: Sequence[str] | Mapping[str, str] = ()
    client_secret: Secret | FromVariable | str | None = field(default=None, repr=False)
    endpoints: Endpoints | None = None
    """For a server that publishes nothing."""
    service: str = ""
    """Its name in the vault and in the redirect address: the `name` in small letters, when absent."""
    logo: bytes | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What else the service wants to be told when a person is sent there, like `access_type=offline`."""
    resource: str | None = None
    """What the tokens are to be for (RFC 8707), where the service wants to be told."""
    reach: Reach = field(default=ANYWHERE, repr=False)

    def __post_init__(self) -> None:
        if not self.service:
            object.__setattr__(self, "service", re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-"))
        if not _SERVICE.fullmatch(self.service):
            raise SetupError(
                f"an account's service is small letters, digits and hyphens, not {self.service!r}"
            )
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope):
                raise SetupError(f"{scope!r} is no scope; give each one by itself")
        if taken := _OURS & set(self.parameters):
            raise SetupError(f"parameters cannot set {', '.join(sorted(taken))}")
        Brand(logo=self.logo)
        _ = self.registration

    @property
    def registration(self) -> Registration:
        """This server as a client of the service."""
        return Registration(
            self.client_id,
            hidden(self.client_secret),
            self.issuer,
            self.endpoints,
            self.resource,
            self.reach,
        )

    @property
    def wishes(self) -> tuple[tuple[str, str], ...]:
        """The scopes, each with what it means in plain words, or nothing."""
        if isinstance(self.scopes, Mapping):
            return tuple(self.scopes.items())
        return tuple((scope, "") for scope in self.scopes)
