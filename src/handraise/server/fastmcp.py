"""What a body inside FastMCP sees of the round that is live now."""

from __future__ import annotations

import contextvars

from fastmcp.server.dependencies import fastmcp_request_ctx
from fastmcp.server.http import _current_http_request

from handraise.server.calls import Context


def carry_request(into: contextvars.Context, live: Context) -> None:
    """Bring FastMCP's own request variables into the body, and its wrapper up to date."""
    into.run(_current_http_request.set, _current_http_request.get())
    wrapper = into.get(fastmcp_request_ctx)
    if wrapper is not None:
        wrapper.request_id = None if live.request_id is None else str(live.request_id)
        wrapper.request = live.request
        wrapper.close_sse_stream = live.close_sse_stream
