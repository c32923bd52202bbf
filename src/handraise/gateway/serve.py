"""Run a gateway: the client at our standard streams or over HTTP, the servers behind it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from handraise.access import AccessCheck
from handraise.errors import SetupError
from handraise.gateway.bridges.eras import EraLink
from handraise.gateway.ending import ending_on_signals
from handraise.gateway.front import Front
from handraise.gateway.home import Home
from handraise.gateway.lines.process import ProcessLink
from handraise.gateway.lines.stdio import StdioPort
from handraise.gateway.links import Link
from handraise.gateway.options import Options
from handraise.gateway.upstreams import Source, Upstream

if TYPE_CHECKING:
    from handraise.gateway.accounts.accounts import Enter
    from handraise.gateway.http.serving import Ready

OpenLink: TypeAlias = "Callable[[Enter], Awaitable[Link]]"
"""Connects to the servers, each with the account of one person there."""


def run(upstream: Upstream, process: subprocess.Popen[bytes], options: Options) -> int:
    """Serve a process to the client at our standard streams; the process's exit status."""
    return asyncio.run(serve_process(upstream, process, options))


async def serve_process(upstream: Upstream, process: subprocess.Popen[bytes], options: Options) -> int:
    """Stand between the client at our standard streams and a process."""
    link = ProcessLink(Source(upstream), process)
    port = StdioPort(lambda message: front.from_client(message))
    home, stopped = Home(options, access=_access_beside_client()), asyncio.Event()
    front = Front(EraLink(link), home, port)

    def stop(number: int) -> None:
        stopped.set()
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    port.writer.on_full, port.writer.on_ready = link.reader.pause, link.reader.resume
    link.writer.on_full, link.writer.on_ready = port.reader.pause, port.reader.resume
    with ending_on_signals(home, stop):
        await link.open()
        await port.open()
        await _first(port.ended, front.lost, stopped)
        await front.aclose()
        await home.aclose()
        await port.aclose()
        return await link.status()


async def serve_stdio(open_link: OpenLink, options: Options) -> int:
    """Stand between the client at our standard streams and a server that is no process of ours, or several."""
    from handraise.gateway.accounts.accounts import Accounts

    home, stopped = Home(options, access=_access_beside_client()), asyncio.Event()
    accounts = Accounts(home)
    port = StdioPort(lambda message: front.from_client(message))
    front = Front(await open_link(accounts.of(None)), home, port)
    with ending_on_signals(home, lambda number: stopped.set()):
        await port.open()
        await _first(port.ended, front.lost, stopped)
        await front.aclose()
        await accounts.aclose()
        await home.aclose()
        await port.aclose()
    return 0


async def serve_http(open_link: OpenLink, options: Options, host: str, port: int, ready: Ready) -> int:
    """Serve clients over streamable HTTP until we are told to end."""
    from handraise.gateway.accounts.accounts import Accounts
    from handraise.gateway.http.server import HttpGateway
    from handraise.gateway.http.serving import listen, serve_until_told
    from handraise.gateway.shared.admission import Admission, OwnUserOnly, loopback_hosts, require_loopback
    from handraise.processes import can_tell

    require_loopback(host)
    if not can_tell():
        raise SetupError(
            "this system does not tell which user a connection comes from, so a gateway over HTTP needs people: "
            "make a file with `handraise gateway people add` and give it with --people, or use --issuer"
        )
    listening = listen(host, port)
    hosts = loopback_hosts(listening.port)
    access = AccessCheck()
    home = Home(options, access=access)
    accounts = Accounts(home)
    gateway = HttpGateway(home, lambda person: open_link(accounts.of(person)))
    origins = {f"http://{name}" for name in hosts}
    admission = Admission(OwnUserOnly(gateway, access), hosts=hosts, origins=origins)
    try:
        await serve_until_told(admission, listening, home, ready)
    finally:
        await gateway.aclose()
        await accounts.aclose()
        await home.aclose()
    return 0


def _access_beside_client() -> AccessCheck:
    access = AccessCheck()
    access.add_parent()
    return access


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
