"""An account that people can connect: the service, the client registration, the scopes, and its form in the vault."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from handraise.errors import AccountError, SetupError
from handraise.issuers import ANYWHERE, AllowedAddresses, parse_networks
from handraise.pages.brand import Brand
from handraise.pages.oauth.discovery import (
    OWN_PARAMETERS,
    Endpoints,
    FromVariable,
    Registration,
    find_server,
    hidden,
)
from handraise.pages.oauth.grants import Grant, revoke
from handraise.vault import Secret

_SERVICE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class Account:
    """A service at which people have accounts, for `ask.connect`.

        github = Account("GitHub", "Iv1.8a61f9b3a7aba766", issuer="https://github.com/login/oauth",
                         client_secret=FromVariable("GITHUB_SECRET"), scopes={"repo": "Read and write your code"})

    Ask for the fewest scopes. A mapping says in plain words what each one allows.
    """

    name: str
    """The service's name for people."""
    client_id: str
    issuer: str | None = None
    """The issuer, which publishes its metadata (RFC 8414, OpenID Connect Discovery)."""
    scopes: Sequence[str] | Mapping[str, str] = ()
    client_secret: Secret | FromVariable | str | None = field(default=None, repr=False)
    endpoints: Endpoints | None = None
    """For a server without metadata."""
    service: str = ""
    """Its name in the vault and in the redirect address: the `name` in small letters, when absent."""
    logo: bytes | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further parameters of the authorization request, like `access_type=offline`."""
    resource: str | None = None
    """The resource of the tokens (RFC 8707), if the service needs it."""
    reach: AllowedAddresses = field(default=ANYWHERE, repr=False)

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
        if taken := OWN_PARAMETERS & set(self.parameters):
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
        """The scopes, each with its meaning in plain words, if any."""
        if isinstance(self.scopes, Mapping):
            return tuple(self.scopes.items())
        return tuple((scope, "") for scope in self.scopes)


_KIND = "oauth"


def dump_grant(account: Account, grant: Grant) -> dict[str, Any]:
    """A grant for the vault, with its registration but without the client secret."""
    secret = account.client_secret
    return {
        "kind": _KIND,
        **_grant_context(account),
        "asked": sorted(account.scopes),
        "client_secret": None if secret is None else getattr(secret, "name", ""),
        "access_token": grant.access_token.reveal(),
        "refresh_token": None if grant.refresh_token is None else grant.refresh_token.reveal(),
        "expires_at": grant.expires_at,
        "scopes": sorted(grant.scopes),
    }


def parse_stored_grant(contents: Mapping[str, Any], account: Account | None = None) -> Grant | None:
    """The stored grant; None if it is not a grant for this account and all its scopes."""
    if contents.get("kind") != _KIND:
        return None
    if account is not None:
        context = _grant_context(account)
        if {name: contents.get(name) for name in context} != context:
            return None
        if not set(account.scopes) <= set(contents["asked"]):
            return None
    refresh = contents["refresh_token"]
    return Grant(
        Secret(contents["access_token"]),
        None if refresh is None else Secret(refresh),
        contents["expires_at"],
        frozenset(contents["scopes"]),
    )


async def revoke_stored_grant(contents: Mapping[str, Any]) -> bool:
    """Revoke a stored grant at the service; False if it is not a grant, or the service cannot revoke."""
    if (grant := parse_stored_grant(contents)) is None:
        return False
    secret, endpoints = contents["client_secret"], contents["endpoints"]
    if secret == "":
        raise AccountError(
            "the client secret is in the server's own program: give it FromVariable(…), or revoke it at the service"
        )
    registration = Registration(
        contents["client_id"],
        None if secret is None else FromVariable(secret),
        contents["issuer"],
        None if endpoints is None else Endpoints(**endpoints),
        contents.get("resource"),
        _reach(contents.get("named_by")),
    )
    return await revoke(registration, await find_server(registration), grant)


def _reach(named_by: Mapping[str, Any] | None) -> AllowedAddresses:
    """Allowed addresses: any for an author's own service, else those allowed for the server that named it."""
    if named_by is None:
        return ANYWHERE
    return AllowedAddresses(True, parse_networks(named_by["networks"]), named_by["server"])


def _grant_context(account: Account) -> dict[str, Any]:
    """The registration of a grant. A grant is valid for no other."""
    endpoints = None if account.endpoints is None else asdict(account.endpoints)
    context = {"issuer": account.issuer, "endpoints": endpoints, "client_id": account.client_id}
    return context if account.resource is None else {**context, "resource": account.resource}
