"""Where a request may go: by a private way, and for a shared gateway to public addresses only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from handraise.errors import SetupError

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Reach:
    """Which addresses may be called.

    The attack: an address that an outsider chose has us call what only we can reach.
    """

    public_only: bool = False
    unsafe_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks that may be called although they are private."""

    async def pin(self, url: str) -> str | None:
        """The address to connect to for a URL, looked up once; None where that is left to the connection.

        A name that is looked up a second time could lead elsewhere then (DNS rebinding). SetupError when one of the
        host's addresses may not be called.
        """
        require_private_way(url)
        if not self.public_only:
            return None
        parts = urlsplit(url)
        host, plain = parts.hostname or "", parts.scheme == "http"
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                host, parts.port or 443, type=socket.SOCK_STREAM
            )
        except OSError:
            raise SetupError(f"{host} is not known") from None
        addresses = [str(address[0]).partition("%")[0] for *_, address in found]
        if not all(self._may_call(address, plain=plain) for address in addresses):
            raise SetupError(f"{host} is inside a private network, where a shared gateway does not go")
        return addresses[0]

    def _may_call(self, address: str, *, plain: bool) -> bool:
        known = ip_address(address)
        mapped = getattr(known, "ipv4_mapped", None) or known
        public = mapped.is_global and not mapped.is_multicast and not plain
        return public or any(mapped in network for network in self.unsafe_networks)


ANYWHERE: Final = Reach()
PUBLIC: Final = Reach(public_only=True)


def parse_networks(given: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Networks as people write them. SetupError for what is none."""
    try:
        return tuple(ip_network(each) for each in given)
    except ValueError as error:
        raise SetupError(f"a network is written like 10.1.0.0/16: {error}") from None


def require_private_way(url: str) -> str:
    """The address, when nobody can listen on the way there: https, or this computer. SetupError otherwise."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SetupError(f"{url!r} is no address") from None
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not safe or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise SetupError(f"an authorization server is reached by https only, not at {url!r}")
    return url
