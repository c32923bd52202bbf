"""What several servers say of themselves, as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handraise.gateway.peers import SERVER_KEY

_OURSELVES: Final = {"name": "handraise-gateway", "version": "1"}


def combine_hello(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The result of `initialize` for all: the oldest revision, everything that any of them can do."""
    return {
        "protocolVersion": min(str(result.get("protocolVersion")) for result in results.values()),
        "serverInfo": _OURSELVES,
        **_common(results),
    }


def combine_discovery(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The result of `server/discover` for all."""
    versions = [set(result.get("supportedVersions") or ()) for result in results.values()]
    return {
        "resultType": "complete",
        "supportedVersions": sorted(set.intersection(*versions)),
        "serverInfo": _OURSELVES,
        "_meta": {SERVER_KEY: _OURSELVES},
        "ttlMs": 0,
        "cacheScope": "private",
        **_common(results),
    }


def _common(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    capabilities: dict[str, Any] = {}
    for result in results.values():
        _merge(capabilities, result.get("capabilities") or {})
    told = [f"{name}:\n{text}" for name, result in results.items() if (text := result.get("instructions"))]
    return {"capabilities": capabilities, **({"instructions": "\n\n".join(told)} if told else {})}


def _merge(into: dict[str, Any], capabilities: Mapping[str, Any]) -> None:
    for name, value in capabilities.items():
        known = into.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            _merge(known, value)
        elif isinstance(value, Mapping):
            into[name] = dict(value)
        else:
            into[name] = known or value
