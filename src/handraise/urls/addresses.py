"""Numeric addresses, and names that stand for an address on this computer or in this network."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from handraise.urls.parse import Link
from handraise.urls.tables import words

Address = IPv4Address | IPv6Address

_DOTTED = re.compile(r"(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})$")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
# From the special-purpose registries of IANA. Python's `is_global` differs between its releases.
_NOT_PUBLIC: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",  # documentation, as are 198.51.100.0/24 and 203.0.113.0/24
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_NOT_PUBLIC_6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which nobody uses any more (RFC 7526)
            "3fff::/20",  # documentation
        ),
    )
)


def is_public(address: Address) -> bool:
    """Whether an address is a single machine's on the public internet. Everything that is unknown is not.

    The one judgement for the whole tree. An IPv6 address that leads to an IPv4 one (mapped, NAT64) is judged by that:
    an attacker could otherwise write 127.0.0.1 as `64:ff9b::7f00:1`. Other forms with an IPv4 address inside
    (compatible, 6to4, Teredo, the NAT64 prefix for local use) are never public.
    """
    if str(address) in words("hosts.toml", "metadata"):
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    leads_to = address.ipv4_mapped or (_last_32(address) if address in _NAT64 else None)
    if leads_to is not None:
        return is_public(leads_to)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_PUBLIC_6)


def address_of(link: Link) -> Address | None:
    """The address that the host stands for; IPv4 inside IPv6 is taken out."""
    if link.kind == "name":
        return _address_in_name(link)
    if link.kind == "none":
        return None
    address = ip_address(link.host.strip("[]"))
    return _inner(address) or address if isinstance(address, IPv6Address) else address


def is_loopback(link: Link, address: Address | None) -> bool:
    """Whether the link leads to this computer. `address` is the link's own, worked out before."""
    if address is not None:
        return address.is_loopback or address.is_unspecified
    host = link.host.rstrip(".")
    return host in ("localhost", "localhost.localdomain") or (
        host.endswith(".localhost") or link.domain in words("hosts.toml", "loopback")
    )


def is_private(link: Link, address: Address | None) -> bool:
    """Whether the link leads into this computer's own network."""
    if address is not None:
        return not is_public(address)
    labels = link.host.rstrip(".").rsplit(".", 2)
    local = words("hosts.toml", "local_suffixes")
    return len(labels) > 1 and (labels[-1] in local or ".".join(labels[-2:]) in local)


def is_metadata(link: Link, address: Address | None) -> bool:
    """Whether the link leads to where cloud machines keep their credentials."""
    return (link.host.rstrip(".") if address is None else str(address)) in words("hosts.toml", "metadata")


def is_disguised(link: Link, address: Address | None) -> bool:
    """Whether an address is not written the usual way: one number, hex, octal, IPv4 inside IPv6."""
    if link.kind == "ipv4":
        return link.written.host != link.host
    return link.kind == "ipv6" and isinstance(address, IPv4Address)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside of an IPv6 one, for the person to see."""
    compatible = 1 << 16 <= int(address) < 1 << 32
    if compatible or address in _NAT64:
        return _last_32(address)
    return address.ipv4_mapped or address.sixtofour


def _last_32(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def _address_in_name(link: Link) -> IPv4Address | None:
    if link.domain is None or link.domain not in words("hosts.toml", "address_in_name"):
        return None
    match = _DOTTED.search(link.host.removesuffix("." + link.domain))
    numbers = [int(number) for number in match.groups()] if match else [256]
    return IPv4Address(bytes(numbers)) if max(numbers) < 256 else None
