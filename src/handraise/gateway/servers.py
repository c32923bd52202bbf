"""The servers behind a gateway: started or called, each spoken to in its client's era, several as one."""

from __future__ import annotations

import subprocess
from typing import IO, TYPE_CHECKING

from handraise.gateway.bridges.eras import EraLink
from handraise.gateway.links import Link
from handraise.gateway.router import ServerRouter
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
    """A link to the server as it is.

    `own` is a person's account there, `errors` a file for what a process says on the side, `process` one that was
    started before, and `own_group` keeps a Ctrl+C at our terminal away from one that is started now.
    """
    source = Source(upstream)
    if upstream.url is not None:
        from handraise.gateway.http.client import HttpLink  # a gateway in front of a process needs no HTTP

        return HttpLink(source, own)
    link = ProcessLink(source, process or start(upstream, errors, own_group=own_group))
    await link.open()
    return link


class ServerSet:
    """All servers of one gateway. Every client that is connected has processes of its own."""

    def __init__(self, *upstreams: Upstream) -> None:
        self.upstreams = upstreams
        self.processes: list[ProcessLink] = []
        """The links to the processes that were started before."""
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start the processes for the first client now: while they load, the gateway does, too."""
        try:
            for upstream in self.upstreams:
                if upstream.url is None:
                    self._started[upstream.name] = start(upstream)
        except Exception:
            self.kill()
            raise

    def kill(self) -> None:
        """End what was started and has no client."""
        for process in self._started.values():
            process.kill()
            process.communicate()
        self._started.clear()

    async def connect(self, accounts: Accounts | None = None, person: Person | None = None) -> Link:
        """One link to all of them, with the accounts that the client's person has there."""
        links: dict[str, Link] = {}
        for upstream in self.upstreams:
            own = None if accounts is None else accounts.own(upstream, person)
            process = self._started.pop(upstream.name, None)
            direct = await open_direct(upstream, own, process=process, own_group=True)
            if process is not None and isinstance(direct, ProcessLink):
                self.processes.append(direct)
            links[upstream.name] = EraLink(direct)
        return links[self.upstreams[0].name] if len(links) == 1 else ServerRouter(links)
