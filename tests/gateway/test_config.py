"""The usual `mcpServers` object, and what is said about one that cannot be used."""

from __future__ import annotations

import pytest

from handraise.errors import SetupError
from handraise.gateway.config import parse_upstreams


def test_commands_and_urls_are_read_with_variables_replaced() -> None:
    body = {
        "mcpServers": {
            "notes": {"command": "npx", "args": ["-y", "notes"], "env": {"KEY": "${KEY}"}},
            "mail": {"url": "https://mail.example.com/mcp", "headers": {"X-Key": "${env:KEY}"}},
            "off": {"command": "x", "disabled": True},
        }
    }
    notes, mail = parse_upstreams(body, "f", {"KEY": "k"})
    assert (notes.name, notes.command, notes.environment) == ("notes", ("npx", "-y", "notes"), {"KEY": "k"})
    assert (mail.url, mail.headers, mail.host) == (
        "https://mail.example.com/mcp",
        {"X-Key": "k"},
        "mail.example.com",
    )
    assert "headers" not in repr(mail)  # they often hold secrets


def test_every_problem_is_told_at_once() -> None:
    body = {"mcpServers": {"a": {}, "b": {"command": "x", "args": "y"}, "c": {"command": "${NONE}"}}}
    with pytest.raises(SetupError) as caught:
        parse_upstreams(body, "servers.json", {})
    told = str(caught.value)
    assert "servers.json: a: give either `command` or `url`" in told
    assert "servers.json: b: `args` is a list of words" in told
    assert "servers.json: c: NONE is not set in the environment" in told


@pytest.mark.parametrize("body", [[], {}, {"mcpServers": {}}, {"mcpServers": []}])
def test_a_file_without_servers_is_refused(body: object) -> None:
    with pytest.raises(SetupError, match="no `mcpServers` object"):
        parse_upstreams(body, "f", {})
