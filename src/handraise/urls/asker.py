"""Where a link comes from: a server on this computer, or one elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from handraise.urls.addresses import address_of, is_loopback, is_private
from handraise.urls.parse import Link, parse_url, read_written

Transport = Literal["stdio", "http"]


@dataclass(frozen=True, slots=True)
class Asker:
    """The server that sends the link, as far as the link's verdict depends on it."""

    local: bool
    """It runs on this computer: its loopback pages are its own."""
    nearby: bool
    """It runs here or in this network: addresses of this network are no surprise."""
    host: str | None
    domain: str | None

    def owns(self, link: Link) -> bool:
        """Whether the link stays on the server's registrable domain, or its bare address."""
        if link.domain is not None:
            return link.domain == self.domain
        return link.host == self.host


@lru_cache(maxsize=256)
def asker_of(transport: Transport, server_host: str | None) -> Asker:
    """Who asks. `server_host` may carry a port, or be a URL; one that cannot be read vouches for nothing."""
    link = _link_to(server_host) if server_host else None
    if link is None:
        local = transport == "stdio"
        return Asker(local=local, nearby=local, host=None, domain=None)
    address = address_of(link)
    local = transport == "stdio" or is_loopback(link, address)
    return Asker(local=local, nearby=local or is_private(link, address), host=link.host, domain=link.domain)


def _link_to(server_host: str) -> Link | None:
    return parse_url(read_written(server_host if "://" in server_host else f"https://{server_host}/"))
