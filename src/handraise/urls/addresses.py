"""Numeric addresses, and names that stand for an address on this computer or in this network."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from handraise.urls.parse import Link
from handraise.urls.tables import words

Address = IPv4Address | IPv6Address

_DOTTED = re.compile(r"(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})$")
_NAT64 = IPv6Network("64:ff9b::/96")
_DOCUMENTATION = tuple(
    map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)


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
        return not (address.is_global or any(address in network for network in _DOCUMENTATION))
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
    compatible = 1 << 16 <= int(address) < 1 << 32
    if compatible or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _address_in_name(link: Link) -> IPv4Address | None:
    if link.domain is None or link.domain not in words("hosts.toml", "address_in_name"):
        return None
    match = _DOTTED.search(link.host.removesuffix("." + link.domain))
    numbers = [int(number) for number in match.groups()] if match else [256]
    return IPv4Address(bytes(numbers)) if max(numbers) < 256 else None
