"""Where a link leads in the network: this computer, this network, a bare number, an odd port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handraise.urls.addresses import address_of, is_disguised, is_loopback, is_metadata, is_private
from handraise.urls.asker import Asker
from handraise.urls.parse import Link
from handraise.urls.tables import words

_ADDRESS_IN_NAME = re.compile(r"(?:^|[.-])(?:\d{1,3}(?:[.-]\d{1,3}){3}|localhost)[.-]")


def check_network(link: Link, asker: Asker) -> Iterator[str]:
    """What is to be said about the address, the port and the encryption."""
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


def _check_elsewhere(link: Link, *, bare: bool, private: bool, asker: Asker) -> Iterator[str]:
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
