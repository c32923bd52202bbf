"""Where a link comes from and where it leads: numeric addresses, this computer, this network, an unknown domain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, Literal

from handraise.urls.parse import ParsedUrl, parse_url, read_written
from handraise.urls.tables import is_shared, public_suffix, words

IpAddress = IPv4Address | IPv6Address

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
            "2002::/16",  # 6to4, which is obsolete (RFC 7526)
            "3fff::/20",  # documentation
        ),
    )
)


def is_public(address: IpAddress) -> bool:
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


def address_of(link: ParsedUrl) -> IpAddress | None:
    """The address that the host stands for; IPv4 inside IPv6 is taken out."""
    if link.kind == "name":
        return _address_in_name(link)
    if link.kind == "none":
        return None
    address = ip_address(link.host.strip("[]"))
    return _inner(address) or address if isinstance(address, IPv6Address) else address


def is_loopback(link: ParsedUrl, address: IpAddress | None) -> bool:
    """Whether the link leads to this computer. `address` is the link's own, worked out before."""
    if address is not None:
        return address.is_loopback or address.is_unspecified
    host = link.host.rstrip(".")
    return host in ("localhost", "localhost.localdomain") or (
        host.endswith(".localhost") or link.domain in words("hosts.toml", "loopback")
    )


def is_private(link: ParsedUrl, address: IpAddress | None) -> bool:
    """Whether the link leads into this computer's own network."""
    if address is not None:
        return not is_public(address)
    labels = link.host.rstrip(".").rsplit(".", 2)
    local = words("hosts.toml", "local_suffixes")
    return len(labels) > 1 and (labels[-1] in local or ".".join(labels[-2:]) in local)


def is_metadata(link: ParsedUrl, address: IpAddress | None) -> bool:
    """Whether the link leads to where cloud machines keep their credentials."""
    return (link.host.rstrip(".") if address is None else str(address)) in words("hosts.toml", "metadata")


def is_disguised(link: ParsedUrl, address: IpAddress | None) -> bool:
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


def _address_in_name(link: ParsedUrl) -> IPv4Address | None:
    if link.domain is None or link.domain not in words("hosts.toml", "address_in_name"):
        return None
    match = _DOTTED.search(link.host.removesuffix("." + link.domain))
    numbers = [int(number) for number in match.groups()] if match else [256]
    return IPv4Address(bytes(numbers)) if max(numbers) < 256 else None


LinkTransport = Literal["stdio", "http"]


@dataclass(frozen=True, slots=True)
class LinkSender:
    """The server that sends the link, as far as the link's verdict depends on it."""

    local: bool
    """It runs on this computer: its loopback pages are its own."""
    nearby: bool
    """It runs here or in this network: addresses of this network are no surprise."""
    host: str | None
    domain: str | None

    def owns(self, link: ParsedUrl) -> bool:
        """Whether the link stays on the server's registrable domain, or its bare address."""
        if link.domain is not None:
            return link.domain == self.domain
        return link.host == self.host


@lru_cache(maxsize=256)
def sender_of(transport: LinkTransport, server_host: str | None) -> LinkSender:
    """The server that asks. `server_host` may have a port or be a URL; an unreadable one vouches for nothing."""
    link = _link_to(server_host) if server_host else None
    if link is None:
        local = transport == "stdio"
        return LinkSender(local=local, nearby=local, host=None, domain=None)
    address = address_of(link)
    local = transport == "stdio" or is_loopback(link, address)
    return LinkSender(
        local=local, nearby=local or is_private(link, address), host=link.host, domain=link.domain
    )


def _link_to(server_host: str) -> ParsedUrl | None:
    return parse_url(read_written(server_host if "://" in server_host else f"https://{server_host}/"))


_ADDRESS_IN_NAME = re.compile(r"(?:^|[.-])(?:\d{1,3}(?:[.-]\d{1,3}){3}|localhost)[.-]")


def check_network(link: ParsedUrl, asker: LinkSender) -> Iterator[str]:
    """The findings about the address, the port and the encryption."""
    address = address_of(link)
    if is_disguised(link, address):
        yield "ip_obfuscated"
    if is_loopback(link, address):
        yield "loopback" if asker.local else "loopback_from_remote"
        return
    if link.parts.scheme == "http:":
        yield "insecure_http"
    if is_metadata(link, address):
        yield "metadata_address"
    elif not asker.owns(link):
        yield from _check_elsewhere(
            link, bare=address is not None, private=is_private(link, address), asker=asker
        )
    port = link.parts.port.removeprefix(":")
    if port and not (asker.owns(link) and port in words("hosts.toml", "usual_ports")):
        yield "odd_port"


def _check_elsewhere(link: ParsedUrl, *, bare: bool, private: bool, asker: LinkSender) -> Iterator[str]:
    if _ADDRESS_IN_NAME.search(link.host):
        yield "address_in_name"
    if private:
        yield "local_network" if asker.nearby else "private_ip" if bare else "local_name"
    elif bare:
        yield "ip_literal"
    elif "." not in link.host.rstrip("."):
        yield "single_label_host"
    elif link.domain is None:
        yield "public_suffix_host"


_FILE_ENDINGS = (".zip", ".mov")
_LONG_HOST = 80
_MANY_LABELS = 6
_LONG_LABEL = 40


def check_site(link: ParsedUrl) -> Iterator[str]:
    """The findings about a domain that nobody vouches for."""
    if link.domain in words("hosts.toml", "shorteners"):
        yield "shortener"
    elif link.domain is not None and is_shared(public_suffix(link.domain)):
        yield "shared_host"
    if link.host.endswith(_FILE_ENDINGS):
        yield "file_like_tld"
    labels = link.host.split(".")
    if len(link.host) > _LONG_HOST or len(labels) > _MANY_LABELS or max(map(len, labels)) > _LONG_LABEL:
        yield "long_host"
