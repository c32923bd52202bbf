"""Connect to a server, whatever it is and whatever it speaks."""

from __future__ import annotations

from handraise.gateway.eras import EraLink
from handraise.gateway.links import Link
from handraise.gateway.process import ProcessLink
from handraise.gateway.spawn import start
from handraise.gateway.upstreams import Source, Upstream


async def open_link(upstream: Upstream) -> Link:
    """A link to the server that speaks its client's era."""
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http_link import HttpLink

        return EraLink(HttpLink(source))
    link = ProcessLink(source, start(upstream))
    await link.open()
    return EraLink(link)
