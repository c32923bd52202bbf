"""Find the adapter for a server, and say which releases of the SDKs work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handraise.errors import SetupError
from handraise.sdk.releases import SUPPORTED, generation, release_of, require_release

if TYPE_CHECKING:
    from handraise.sdk.adapter import Adapter, IncomingRequest


def adapter_for(server: Any) -> Adapter:
    """The adapter for a server of any kind. SetupError when the installed SDK lacks something it needs."""
    found = generation()
    try:
        return _adapter_for(server, found)
    except ImportError as error:
        releases = " and ".join(f"{name} {release}" for name in SUPPORTED if (release := release_of(name)))
        raise SetupError(
            f"{releases}: {error}. Handraise does not work with this release yet; use an older one. handraise doctor "
            "says which releases work."
        ) from error


def _adapter_for(server: Any, found: int) -> Adapter:
    if any(base.__module__.partition(".")[0] == "fastmcp" for base in type(server).__mro__):
        return _fastmcp(server, found)
    from mcp.server.lowlevel import Server

    if found == 1:
        from mcp.server.fastmcp import FastMCP as OwnFastMCP  # type: ignore[attr-defined]  # of mcp 1.x

        if isinstance(server, Server | OwnFastMCP):
            from handraise.sdk.mcp1 import Mcp1Adapter

            return Mcp1Adapter(server)
    else:
        from mcp.server.mcpserver import MCPServer

        if isinstance(server, Server | MCPServer):
            from handraise.sdk.mcp2 import Mcp2Adapter

            return Mcp2Adapter(server)
    raise SetupError(
        f"cannot install into {type(server).__name__}; give an MCPServer, a lowlevel Server or a FastMCP server"
    )


def session_request(session: Any) -> IncomingRequest:
    """A client's session outside any request."""
    if generation() == 1:
        from handraise.sdk.mcp1 import session_request as of_session1

        return of_session1(session)
    from handraise.sdk.mcp2 import session_request as of_session2

    return of_session2(session)


def _fastmcp(server: Any, found: int) -> Adapter:
    require_release("fastmcp")
    from fastmcp import FastMCP

    if not isinstance(server, FastMCP):
        raise SetupError(f"cannot install into {type(server).__name__}; give a FastMCP server")
    if found == 1:
        from handraise.sdk.fastmcp2 import FastMcp2Adapter

        return FastMcp2Adapter(server)
    from handraise.sdk.fastmcp4 import FastMcp4Adapter

    return FastMcp4Adapter(server)
