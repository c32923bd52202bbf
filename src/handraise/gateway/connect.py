"""Connect to servers, whatever they are and whatever they speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from handraise.gateway.bridges.eras import EraLink
from handraise.gateway.lines.process import ProcessLink
from handraise.gateway.lines.spawn import start
from handraise.gateway.links import Link
from handraise.gateway.upstreams import Source, Upstream

if TYPE_CHECKING:
    from handraise.gateway.accounts.accounts import Enter
    from handraise.gateway.accounts.own import OwnAccount


async def open_direct(
    upstream: Upstream, own: OwnAccount | None = None, errors: IO[bytes] | None = None
) -> Link:
    """A link to the server as it is: with a person's account there, and a file for what a process says on the side."""
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http.link import HttpLink

        return HttpLink(source, own)
    link = ProcessLink(source, start(upstream, errors))
    await link.open()
    return link


async def open_link(upstream: Upstream, enter: Enter | None = None) -> Link:
    """A link to the server that speaks its client's era; `enter` gives the account of the client's person there."""
    return EraLink(await open_direct(upstream, None if enter is None else enter(upstream)))


async def open_switchboard(upstreams: Sequence[Upstream], enter: Enter | None = None) -> Link:
    """One link to several servers."""
    from handraise.gateway.several.switchboard import Switchboard

    return Switchboard({upstream.name: await open_link(upstream, enter) for upstream in upstreams})
