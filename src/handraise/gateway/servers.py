"""The servers behind a gateway: started or called, bridged to the client's era, several as one."""

from __future__ import annotations

import subprocess
from typing import IO, TYPE_CHECKING

from handraise.gateway.links import Link
from handraise.gateway.stdio import ProcessLink, start
from handraise.gateway.upstreams import Source, Upstream

if TYPE_CHECKING:
    from handraise.gateway.accounts.accounts import Accounts
    from handraise.gateway.accounts.own_account import OwnAccount
    from handraise.questions import Person


async def open_direct(
    upstream: Upstream,
    own: OwnAccount | None = None,
    *,
    errors: IO[bytes] | None = None,
    process: subprocess.Popen[bytes] | None = None,
    own_group: bool = False,
) -> Link:
    """A link to one server, without a bridge.

    `own`: the person's account there. `errors`: a file for standard error. `process`: one that was started before.
    `own_group`: keep a Ctrl+C at our terminal away from a new process.
    """
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http.client import HttpLink  # a gateway in front of a process needs no HTTP

        return HttpLink(source, own)
    link = ProcessLink(source, process or start(upstream, errors, own_group=own_group))
    await link.open()
    return link


class ServerSet:
    """All servers of one gateway. Every connected client gets its own processes."""

    def __init__(self, *upstreams: Upstream) -> None:
        self.upstreams = upstreams
        self.processes: list[ProcessLink] = []
        """The links to processes from `start`."""
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start the processes for the first client, so that they load while the gateway does."""
        try:
            for upstream in self.upstreams:
                if upstream.url is None:
                    self._started[upstream.name] = start(upstream)
        except Exception:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the started processes that no client uses."""
        for process in self._started.values():
            process.kill()
            process.communicate()
        self._started.clear()

    async def connect(self, accounts: Accounts | None = None, person: Person | None = None) -> Link:
        """One link to all servers, with the person's accounts there."""
        # Imported here: the processes load meanwhile.
        from handraise.gateway.bridges.eras import EraLink
        from handraise.gateway.router import ServerRouter

        links: dict[str, Link] = {}
        for upstream in self.upstreams:
            own = None if accounts is None else accounts.own(upstream, person)
            process = self._started.pop(upstream.name, None)
            direct = await open_direct(upstream, own, process=process, own_group=True)
            if process is not None and isinstance(direct, ProcessLink):
                self.processes.append(direct)
            links[upstream.name] = EraLink(direct)
        return links[self.upstreams[0].name] if len(links) == 1 else ServerRouter(links)
