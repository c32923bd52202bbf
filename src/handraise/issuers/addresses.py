"""The addresses that a request may go to. URLs from outsiders may lead to public addresses only.

The attack (server-side request forgery): an outsider names an address of a machine that only we can reach.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from handraise.errors import SetupError
from handraise.urls.network import is_public
from handraise.urls.parse import ParsedUrl, parse_url, read_written

_THIS_COMPUTER: Final = ("127.0.0.1", "localhost", "[::1]")
_LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_PLAIN: Final = re.compile(r"[!$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
"""The characters of a URL (RFC 3986) but for `#`: no blanks, no control characters, nothing that needs encoding."""

Network: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""The addresses of a host. OSError when there are none."""


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Which addresses may be called."""

    public_only: bool = False
    """True for URLs from outsiders. False for the author's own URLs."""
    unsafe_networks: tuple[Network, ...] = ()
    """Networks that may be called although they are private."""
    own: str = ""
    """A server that the user configured. Any address on the same host and port may be called."""
    resolve: Resolve = field(default=resolve_host, repr=False)

    def for_server(self, url: str) -> AllowedAddresses:
        """The same for a configured server, which may name its own host, or this computer if it runs here."""
        link = _parse(url)
        local = () if link is None or link.host not in _THIS_COMPUTER else _LOOPBACK
        return replace(self, own=url, unsafe_networks=(*self.unsafe_networks, *local))

    async def addresses(self, url: str) -> tuple[str, ...] | None:
        """The addresses to connect to for a URL, looked up once; None where that is left to the connection.

        A name that is looked up a second time could lead elsewhere then (DNS rebinding). SetupError when the URL is
        odd, when somebody could listen on the way there, or when one of the addresses may not be called.
        """
        link = _require(url)
        if not self.public_only or (self.own and _is_same_place(link, _parse(self.own))):
            return None
        try:
            found = await self.resolve(link.host, int(link.parts.port.removeprefix(":") or 443))
        except OSError:
            raise SetupError(f"{link.host} is not known") from None
        plain = link.parts.scheme == "http:"
        if not found or not all(self._may_call(address, plain=plain) for address in found):
            raise SetupError(
                f"{link.host} is inside a private network, where a gateway does not go because a server says so. If "
                "the server that you call is to use it, name the network with --unsafe-network"
            )
        return found

    def _may_call(self, address: str, *, plain: bool) -> bool:
        known = ip_address(address.partition("%")[0])
        if any(known in network for network in self.unsafe_networks):
            return True
        return is_public(known) and not plain


ANYWHERE: Final = AllowedAddresses()
PUBLIC: Final = AllowedAddresses(public_only=True)


def parse_networks(given: Iterable[str]) -> tuple[Network, ...]:
    """Networks as people write them. SetupError for what is none."""
    try:
        return tuple(ip_network(each) for each in given)
    except ValueError as error:
        raise SetupError(f"a network is written like 10.1.0.0/16: {error}") from None


def require_secure_url(url: object) -> str:
    """The URL, if it uses https or leads to this computer. SetupError otherwise.

    It is read strictly, so that every parser finds the same host in it: no blanks, control characters, backslashes or
    user names, and the host is written as it is called.
    """
    _require(url)
    return str(url)


def is_this_computer(url: str) -> bool:
    """Whether a URL leads to this computer by name or number."""
    link = _parse(url)
    return link is not None and link.host in _THIS_COMPUTER


def host_of(url: str) -> str:
    """The host and port of a URL, as a person reads them."""
    link = _require(url)
    return f"{link.host}{link.parts.port}"


def _require(url: object) -> ParsedUrl:
    link = _parse(url)
    if link is None:
        raise SetupError(f"{url!r} is no address of an authorization server")
    if link.parts.scheme != "https:" and not (link.parts.scheme == "http:" and link.host in _THIS_COMPUTER):
        raise SetupError(f"an authorization server is reached by https only, not at {url!r}")
    return link


def _parse(url: object) -> ParsedUrl | None:
    if not isinstance(url, str) or not _PLAIN.fullmatch(url):
        return None
    written = read_written(url)
    link = parse_url(written)
    if link is None or link.kind == "none" or link.parts.userinfo or written.slashes != "//":
        return None
    empty_label = link.kind == "name" and "" in link.host.split(".")
    return None if empty_label or written.host.lower() != link.host else link


def _is_same_place(one: ParsedUrl, other: ParsedUrl | None) -> bool:
    return other is not None and (one.parts.scheme, one.host, one.parts.port) == (
        other.parts.scheme,
        other.host,
        other.parts.port,
    )
