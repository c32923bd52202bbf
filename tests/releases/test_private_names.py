"""The table of private names is true for the installed release, also on mcp 1.x."""

from __future__ import annotations

import inspect
from importlib import import_module, metadata
from typing import Any

import pytest
from packaging.version import Version

from handraise import Handraise
from handraise.errors import SetupError
from handraise.sdk import private

pytestmark = [pytest.mark.slow, pytest.mark.release, pytest.mark.filterwarnings("ignore")]

SEEN = [(each.name, owner, releases) for each in private.NAMES for owner, releases in each.seen_in.items()]


@pytest.mark.shows("N9")
@pytest.mark.parametrize(("name", "owner", "releases"), SEEN)
def test_each_private_name_is_where_the_table_says(name: str, owner: str, releases: str) -> None:
    try:
        installed = Version(metadata.version(owner.partition(".")[0]))
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    oldest, newest = map(Version, releases.split(" to "))
    if not oldest <= installed <= newest:
        pytest.skip("not of this release")
    module, _, attribute = owner.rpartition(".")
    try:
        source: Any = import_module(owner)
    except ImportError:
        source = inspect.getmodule(getattr(import_module(module), attribute))
    assert name in inspect.getsource(source)


def test_the_table_is_short_and_says_why() -> None:
    assert len(private.NAMES) <= 10
    assert all(each.purpose and each.without and each.seen_in for each in private.NAMES)


@pytest.mark.shows("N9")
def test_a_server_that_hides_its_lowlevel_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(thing: Any, name: str, *default: Any) -> Any:
        taken = name in ("_mcp_server", "_lowlevel_server")
        return getattr(thing, "no such name" if taken else name, *default)

    monkeypatch.setattr(private, "getattr", found, raising=False)
    with pytest.raises(SetupError, match="keeps its lowlevel server where Handraise cannot find it"):
        Handraise().install(own_server())


def own_server() -> Any:
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        from mcp.server.fastmcp import FastMCP  # type: ignore[attr-defined]

        return FastMCP("private")
    return MCPServer("private")
