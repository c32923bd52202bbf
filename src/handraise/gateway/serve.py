"""Run a gateway between the client at our standard streams and one server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator

from handraise.gateway.eras import EraLink
from handraise.gateway.front import Front
from handraise.gateway.home import Home
from handraise.gateway.options import Options
from handraise.gateway.process import ProcessLink
from handraise.gateway.stdio import StdioPort
from handraise.gateway.upstreams import Source, Upstream


def run(upstream: Upstream, process: subprocess.Popen[bytes], options: Options) -> int:
    """Serve until the client or the server is gone; the server's exit status."""
    return asyncio.run(serve_process(upstream, process, options))


async def serve_process(
    upstream: Upstream, process: subprocess.Popen[bytes], options: Options, home: Home | None = None
) -> int:
    """Stand between the client at our standard streams and a process."""
    link = ProcessLink(Source(upstream), process, on_noise=lambda line: port.writer.write(line))
    port = StdioPort(lambda message: front.from_client(message), lambda line: link.writer.write(line))
    front = Front(EraLink(link), home or Home(options), port)
    port.writer.on_full, port.writer.on_ready = link.reader.pause, link.reader.resume
    link.writer.on_full, link.writer.on_ready = port.reader.pause, port.reader.resume
    with _passing_signals_to(process):
        await link.open()
        await port.open()
        await _first(port.ended, front.lost)
        await front.aclose()
        await port.aclose()
        return await link.status()


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


@contextlib.contextmanager
def _passing_signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, process.send_signal, number)
    yield
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(number)
