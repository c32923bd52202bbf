"""Connect to servers, whatever they are and whatever they speak."""

from __future__ import annotations

from collections.abc import Sequence

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


async def open_switchboard(upstreams: Sequence[Upstream]) -> Link:
    """One link to several servers."""
    from handraise.gateway.switchboard import Switchboard

    return Switchboard({upstream.name: await open_link(upstream) for upstream in upstreams})
