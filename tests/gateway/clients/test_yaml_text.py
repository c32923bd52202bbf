"""YAML of clients: what is plain is read, and nothing is guessed about the rest."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gateway.clients.samples import CONTINUE, GOOSE

from handraise.gateway.clients.table import CLIENTS
from handraise.gateway.clients.yaml_text import read_servers


def read_extensions(text: str) -> dict[str, dict[str, Any]]:
    return read_servers(CLIENTS["goose"], text)


def test_a_list_of_servers_is_read() -> None:
    read = read_servers(CLIENTS["continue"], CONTINUE)
    assert list(read) == ["notes", "two", "web", "folded"]
    assert (read["notes"]["command"], read["notes"]["args"]) == ("npx", ["-y", "notes server"])
    assert (read["two"]["command"], read["two"]["args"]) == ("uvx", ["x"])
    assert read["web"]["url"] == "https://web.example.com/mcp"
    assert read["folded"] == {}


def test_what_is_plain_is_read() -> None:
    read = read_extensions(GOOSE)
    assert list(read) == ["developer", "notes", "web", "folded"]
    assert read["notes"]["command"] == "npx"
    assert read["notes"]["args"] == ["-y", "notes server", "it's #1"]
    assert read["web"]["uri"] == "https://web.example.com/mcp"
    assert read["folded"] == {}


@pytest.mark.parametrize(
    "cmd",
    ["&a npx", "*a", "!!str npx", "|", "npx # runner", "{a: b}", '"a\\x"', "'it's'", "a: b"],
)
def test_what_is_more_than_a_plain_text_is_not_read(cmd: str) -> None:
    assert read_extensions(f"extensions:\n  a:\n    cmd: {cmd}\n    args: []\n") == {"a": {}}


@pytest.mark.parametrize("text", ["", "extensions: {}", "other:\n  a:\n    cmd: x", "extensions:\n- a\n"])
def test_without_extensions_there_are_none(text: str) -> None:
    assert read_extensions(text) == {}
