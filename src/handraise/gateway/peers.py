"""Read what clients, servers and requests say about themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from handraise.gateway.messages import NAMED, Message, object_in
from handraise.wire import RESUMES

Mode = Literal["form", "url"]

MODERN: Final = "2026-07-28"
NOVEMBER: Final = "2025-11-25"
JUNE: Final = "2025-06-18"
NO_QUESTIONS: Final = frozenset({"2024-11-05", "2025-03-26"})
"""Revisions without questions."""
LEGACY: Final = NO_QUESTIONS | {JUNE, NOVEMBER}

PREFIX: Final = "io.modelcontextprotocol/"
"""Prefix of the protocol's own members of `_meta`."""
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"


@dataclass(frozen=True, slots=True)
class Peer:
    """A client: its revision, and what it declared."""

    revision: str
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    user: str = ""
    """Its user, where several people share the gateway."""

    @property
    def modern(self) -> bool:
        """Whether questions come as rounds instead of requests."""
        return self.revision not in LEGACY

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes in which it asks its person."""
        elicitation = self.capabilities.get("elicitation")
        if not isinstance(elicitation, Mapping) or self.revision in NO_QUESTIONS:
            return frozenset()
        if self.revision == JUNE or elicitation.get("url") is None:
            return frozenset({"form"})
        return frozenset({"form", "url"} if elicitation.get("form") is not None else {"url"})


def peer_of_initialize(params: Mapping[str, Any], user: str = "") -> Peer:
    """The client that sends this `initialize`."""
    return Peer(
        str(params.get("protocolVersion", "")),
        _object(params.get("capabilities")),
        _object(params.get("clientInfo")),
        user,
    )


def peer_of_envelope(params: Mapping[str, Any], user: str = "") -> Peer | None:
    """The client of a 2026-07-28 request; None for a legacy request."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or VERSION_KEY not in meta:
        return None
    capabilities, info = _object(meta.get(CAPABILITIES_KEY)), _object(meta.get(CLIENT_KEY))
    return Peer(str(meta[VERSION_KEY]), capabilities, info, user)


def envelope_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The protocol's own `_meta` of a 2026-07-28 request, which describes the client."""
    return {name: value for name, value in _object(params.get("_meta")).items() if name.startswith(PREFIX)}


def server_info_in(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The name and version that a server claims."""
    return _object(_object(result.get("_meta")).get(SERVER_KEY)) or _object(result.get("serverInfo"))


def capabilities_in(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The capabilities that a server declares. All of them are objects."""
    declared = _object(result.get("capabilities"))
    return {name: value for name, value in declared.items() if isinstance(value, Mapping)}


def says_it_resumes(result: Mapping[str, Any]) -> bool:
    """Whether a server says that it continues calls after a restart."""
    return RESUMES in capabilities_in(result).get("experimental", {})


def add_modes(capabilities: Mapping[str, Any], modes: Collection[Mode]) -> dict[str, Any]:
    """The client's capabilities plus the modes of our desk."""
    known = capabilities.get("elicitation")
    declared = dict(known) if isinstance(known, Mapping) else {}
    if isinstance(known, Mapping) and "url" not in declared:
        # `elicitation: {}` means forms. Adding `url` must not remove them.
        declared.setdefault("form", {})
    for mode in sorted(modes):
        declared.setdefault(mode, {})
    return {**capabilities, "elicitation": declared}


def _object(raw: object) -> Mapping[str, Any]:
    return raw if isinstance(raw, Mapping) else {}


ROUND: Final = ("inputResponses", "requestState")
"""Members that a retry adds to the params of its request."""


def is_modern(message: Message) -> bool:
    """Whether a message carries the envelope of 2026-07-28."""
    return VERSION_KEY in message.meta


def is_modern_server(message: Message) -> bool:
    """Whether the response to `server/discover` is that of a modern server."""
    supported = (message.result or {}).get("supportedVersions")
    return isinstance(supported, list) and MODERN in supported


def name_of(message: Message) -> str:
    """Which tool, prompt or resource a request calls."""
    return str(message.params.get(NAMED.get(message.method or "", ""), ""))


def arguments_of(message: Message) -> Mapping[str, Any]:
    """The arguments of the tool or prompt that a request calls."""
    return object_in(message.params, "arguments")


def call_identity(message: Message) -> tuple[str, str]:
    """Equal for a request and its retries, different for other calls."""
    called = [message.params.get(name) for name in ("name", "uri", "arguments")]
    return message.method or "", hashlib.sha256(json.dumps(called, sort_keys=True).encode()).hexdigest()


def params_without_round(message: Message) -> dict[str, Any]:
    """The params of a request without those of a retry."""
    return {name: value for name, value in message.params.items() if name not in ROUND}
