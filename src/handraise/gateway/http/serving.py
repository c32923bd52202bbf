"""Serve an application over HTTP until we are told to end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import uvicorn

from handraise.gateway.ending import ending_on_signals
from handraise.gateway.http.protocol import WholeResponses

if TYPE_CHECKING:
    from handraise.gateway.home import Home


async def serve_until_told(app: Any, host: str, port: int, home: Home) -> None:
    """Serve a gateway. Afterwards there is time to put everything away."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=WholeResponses,
        log_level="warning",
        access_log=False,  # sign-in links are addresses
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    await _Server(config, home).serve()


class _Server(uvicorn.Server):
    """Takes signals as every gateway does. uvicorn's own way ends with the signal anew, which leaves no time."""

    def __init__(self, config: uvicorn.Config, home: Home) -> None:
        super().__init__(config)
        self._home = home

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with ending_on_signals(self._home, lambda number: self._stop()):
            yield

    def _stop(self) -> None:
        self.should_exit = True
