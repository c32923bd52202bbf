"""The usual `mcpServers` object: which servers stand behind a gateway."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from handraise.errors import SetupError
from handraise.gateway.upstreams import OwnClient, Upstream

_MAX_BYTES: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}")
_LIKE: Final = '{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "some-server"]}}}'
_OAUTH: Final = frozenset({"clientId", "clientSecret", "scopes", "callbackPort"})


def load_upstreams(path: Path, environment: Mapping[str, str] | None = None) -> list[Upstream]:
    """The servers of a file; SetupError with every problem when it cannot be used."""
    try:
        raw = path.read_bytes()[: _MAX_BYTES + 1]
        body = json.loads(raw)
    except FileNotFoundError:
        raise SetupError(
            f"{path}: there is no such file. Write one like {_LIKE}, or name one server: "
            "its command behind `--`, or --url"
        ) from None
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise SetupError(f"{path}: this is not JSON: {error}") from None
    return parse_upstreams(body, str(path), os.environ if environment is None else environment)


def parse_upstreams(body: object, source: str, environment: Mapping[str, str]) -> list[Upstream]:
    """The servers of a configuration, `${NAME}` in it replaced from the environment."""
    servers = body.get("mcpServers", body.get("servers")) if isinstance(body, dict) else None
    if not isinstance(servers, dict) or not servers:
        raise SetupError(
            f"{source}: there is no `mcpServers` object with a server in it; it looks like {_LIKE}"
        )
    problems: list[str] = []
    found = [
        _server(name, entry, environment, problems) for name, entry in servers.items() if not _is_off(entry)
    ]
    if problems:
        raise SetupError("\n".join(f"{source}: {problem}" for problem in problems))
    return [upstream for upstream in found if upstream is not None]


def _server(name: str, entry: object, environment: Mapping[str, str], problems: list[str]) -> Upstream | None:
    if not isinstance(entry, dict):
        problems.append(f"{name}: this is an object with `command` or `url`")
        return None
    known = _replaced(entry, environment, name, problems)
    command, url = known.get("command"), known.get("url", known.get("serverUrl"))
    if (isinstance(command, str) and bool(command)) == (isinstance(url, str) and bool(url)):
        problems.append(f"{name}: give either `command` or `url`")
        return None
    arguments = known.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        problems.append(f"{name}: `args` is a list of words")
        return None
    directory = known.get("cwd")
    return Upstream(
        name,
        (str(command), *arguments) if command else (),
        str(url) if url else None,
        _words(known, "env", name, problems),
        _words(known, "headers", name, problems),
        directory if isinstance(directory, str) else None,
        _own_client(known, name, problems),
    )


def _own_client(entry: Mapping[str, Any], name: str, problems: list[str]) -> OwnClient | None:
    """The gateway's own registration at the server's authorization server."""
    if (given := entry.get("oauth")) is None:
        return None
    known: dict[str, Any] = given if isinstance(given, dict) else {}
    scopes: list[Any] = known.get("scopes", []) if isinstance(known.get("scopes", []), list) else [None]
    match known.get("clientId"), known.get("clientSecret"), known.get("callbackPort", 0):
        case str(id), (str() | None) as secret, int(port) if (
            id and known.keys() <= _OAUTH and all(isinstance(scope, str) for scope in scopes)
        ):
            return OwnClient(id, secret, tuple(scopes), port)
    problems.append(
        f"{name}: `oauth` has a word `clientId`, and may have `clientSecret`, a list of `scopes` and a `callbackPort`"
    )
    return None


def _words(entry: Mapping[str, Any], key: str, name: str, problems: list[str]) -> dict[str, str]:
    given = entry.get(key) or {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        problems.append(f"{name}: `{key}` has a word for each name")
        return {}
    return given


def _replaced(value: Any, environment: Mapping[str, str], name: str, problems: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, environment, name, problems) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, environment, name, problems) for each in value]
    if not isinstance(value, str):
        return value

    def replace(found: re.Match[str]) -> str:
        known = environment.get(found[1], found[2])
        if known is None:
            problems.append(f"{name}: {found[1]} is not set in the environment")
        return known or ""

    return _VARIABLE.sub(replace, value)


def _is_off(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)
