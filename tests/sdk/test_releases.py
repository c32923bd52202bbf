"""Which releases of mcp and FastMCP work, and what an unsupported one is told."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.errors import SetupError


@pytest.mark.shows("N8")
@pytest.mark.parametrize(
    ("package", "make", "version", "needs"),
    [
        ("mcp", MCPServer, "1.22.0", r"found mcp 1\.22\.0; .* 1\.23 or newer.*mcp>=1\.23,<3"),
        ("mcp", MCPServer, "3.0.0", r"found mcp 3\.0\.0; .*below 3"),
        ("fastmcp", FastMCP, "2.13.1", r"found fastmcp 2\.13\.1; .* 2\.14 or newer.*fastmcp>=2\.14,<5"),
        ("fastmcp", FastMCP, "5.0", r"found fastmcp 5\.0; .*below 5"),
        ("mcp", MCPServer, None, "mcp is not installed"),
    ],
)
def test_a_release_that_is_not_supported_is_refused_with_the_ones_that_are(
    monkeypatch: pytest.MonkeyPatch, package: str, make: Any, version: str | None, needs: str
) -> None:
    real, server = metadata.version, make("old")

    def found(name: str) -> str:
        if name != package:
            return real(name)
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", found)
    with pytest.raises(SetupError, match=needs):
        Handraise().install(server)


@pytest.mark.shows("N8")
def test_a_release_without_a_name_that_the_adapter_needs_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = MCPServer("newer")
    monkeypatch.delitem(sys.modules, "handraise.sdk.mcp2", raising=False)
    monkeypatch.delattr("mcp.server.auth.provider.principal_components")
    with pytest.raises(
        SetupError, match=r"mcp \d.*: cannot import name 'principal_components'.*does not work"
    ):
        Handraise().install(server)
