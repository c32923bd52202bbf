"""The usual `mcpServers` object, and what is said about one that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handraise.errors import SetupError
from handraise.gateway.upstreams import OwnClient, load_upstreams, parse_upstreams, short_name


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


def test_the_gateways_own_registration_is_read() -> None:
    entry = {
        "url": "https://mail.example.com/mcp",
        "oauth": {
            "clientId": "gw",
            "clientSecret": "${S}",
            "scopes": ["mail"],
            "callbackPort": 8123,
        },
    }
    (mail,) = parse_upstreams({"mcpServers": {"mail": entry}}, "f", {"S": "hush"})
    assert mail.oauth == OwnClient("gw", "hush", ("mail",), 8123)
    assert "hush" not in repr(mail)


@pytest.mark.parametrize(
    "oauth",
    [{}, "gw", {"clientId": ""}, {"clientId": "x", "scopes": "a b"}, {"clientId": "x", "clientID": "y"}],
)
def test_a_registration_that_is_none_is_told(oauth: object) -> None:
    body = {"mcpServers": {"mail": {"url": "https://mail.example.com/mcp", "oauth": oauth}}}
    with pytest.raises(SetupError, match="mail: `oauth` needs a string `clientId`"):
        parse_upstreams(body, "f", {})


def test_every_problem_is_told_at_once() -> None:
    body = {
        "mcpServers": {
            "a": {},
            "b": {"command": "x", "args": "y"},
            "c": {"command": "${NONE}"},
            "d": {"command": "x", "env": {"PORT": 8080}},
        }
    }
    with pytest.raises(SetupError) as caught:
        parse_upstreams(body, "servers.json", {})
    told = str(caught.value)
    assert "servers.json: a: give either `command` or `url`" in told
    assert "servers.json: d: `env` must be an object with string values" in told
    assert "servers.json: b: `args` must be a list of strings" in told
    assert "servers.json: c: NONE is not set in the environment" in told


@pytest.mark.parametrize("body", [[], {}, {"mcpServers": {}}, {"mcpServers": []}])
def test_a_file_without_servers_is_refused(body: object) -> None:
    with pytest.raises(SetupError, match="no `mcpServers` object"):
        parse_upstreams(body, "f", {})


def test_a_file_that_is_not_there_is_answered_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"there is no such file\. Write one like") as told:
        load_upstreams(tmp_path / "none.json")
    example = str(told.value).partition("like ")[2].partition(", or name")[0]
    assert [each.name for each in parse_upstreams(json.loads(example), "it", {})] == ["notes"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("env", "A=b", "python", "server.py"), "server.py"),
        (("/usr/bin/env", "-i", "A=b", "notes-server", "--port", "1"), "notes-server"),
        (("sh", "-c", "exec node build/index.js"), "index.js"),
        (("bash", "-lc", "A=b uvx some-server --flag"), "some-server"),
        (("sh", "-c", ""), "server"),
        (("python", "-m", "tests.gateway.notes"), "tests.gateway.notes"),
        (("npx", "-y", "@scope/server"), "server"),
        (("C:\\tools\\notes.exe",), "notes.exe"),
    ],
)
def test_a_server_without_a_name_is_never_called_after_what_starts_it(
    command: tuple[str, ...], name: str
) -> None:
    assert short_name(command) == name
