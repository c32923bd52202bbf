"""What several servers offer together, under which names, and what they say of themselves as one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handraise.gateway.messages import Message
from handraise.gateway.peers import SERVER_KEY

LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""Each list: the member of its result, and what its entries are known by."""

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


class CatalogEntry(NamedTuple):
    """Where something really is: the server, and its name there."""

    server: str
    name: str


class Catalog:
    """For one kind of thing: from the name that the client knows to where it is."""

    def __init__(self) -> None:
        self._entries: dict[str, CatalogEntry] = {}

    def find(self, name: str) -> CatalogEntry | None:
        """Where the thing of this name is."""
        return self._entries.get(name)

    def server_of_uri(self, uri: str) -> str | None:
        """The server with a template of which a URI may come."""
        return next((each.server for each in self._entries.values() if template_fits(each.name, uri)), None)

    def known_as(self, server: str, name: str) -> str:
        """The name under which the client knows a server's thing."""
        entry = CatalogEntry(server, name)
        return next((known for known, each in self._entries.items() if each == entry), name)

    def fill(self, listed: Mapping[str, Sequence[dict[str, Any]]], key: str) -> list[dict[str, Any]]:
        """Take what the servers list; the same, for the client, with names that tell two alike apart."""
        names = Counter(str(each.get(key)) for entries in listed.values() for each in entries)
        self._entries.clear()
        shown = []
        for server, entries in listed.items():
            for each in entries:
                name = str(each.get(key))
                known = name if names[name] == 1 else prefixed(server, name, uri=key != "name")
                while known in self._entries:
                    known += "_"
                self._entries[known] = CatalogEntry(server, name)
                shown.append(each if known == name else {**each, key: known})
        return shown


def prefixed(server: str, name: str, *, uri: bool = False) -> str:
    """A name that says whose it is."""
    whose = _ODD.sub("_", server)
    return f"{whose.lower().replace('_', '-')}+{name}" if uri else f"{whose}_{name}"


def template_fits(template: str, uri: str) -> bool:
    """Whether a URI can come from a template. Close enough to choose a server; the server itself decides."""
    literal = re.split(r"\{[^}]*\}", template)
    return re.fullmatch(".*".join(map(re.escape, literal)), uri) is not None


KINDS: Final = {"tools/call": "tools/list", "prompts/get": "prompts/list"}
BY_URI: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")


def named(message: Message) -> list[tuple[str, str]]:
    """In which list what a message is about may be found, and under which name."""
    if (kind := KINDS.get(message.method or "")) is not None:
        return [(kind, str(message.params.get("name")))]
    if message.method in BY_URI:
        return [("resources/list", str(message.params.get("uri")))]
    if (kind := kind_of_reference(message)) is not None:
        reference = message.params["ref"]
        return [(kind, str(reference.get("name", reference.get("uri"))))]
    return []


def kind_of_reference(message: Message) -> str | None:
    """The list in which what a completion is for may be found."""
    reference = message.params.get("ref") if message.method == "completion/complete" else None
    if not isinstance(reference, dict):
        return None
    return "prompts/list" if reference.get("type") == "ref/prompt" else "resources/templates/list"


class Catalogs:
    """The directories of everything that the servers list."""

    def __init__(self) -> None:
        self._by_list = {method: Catalog() for method in LISTS}

    def fill(self, method: str, listed: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Take what the servers answer to a list; the same for the client, with names that tell two alike apart."""
        return self._by_list[method].fill(listed, LISTS[method][1])

    def server_of(self, message: Message) -> str | None:
        """The server that has what a message is about, as far as they listed it."""
        for kind, name in named(message):
            if (entry := self._by_list[kind].find(name)) is not None:
                return entry.server
        if message.method in BY_URI:
            return self._by_list["resources/templates/list"].server_of_uri(str(message.params.get("uri")))
        return None

    def with_own_name(self, message: Message) -> Message:
        """The message with the name that the server itself uses."""
        for kind, name in named(message):
            entry = self._by_list[kind].find(name)
            if entry is None or entry.name == name:
                continue
            if message.method == "completion/complete":
                reference = message.params["ref"]
                key = "uri" if "uri" in reference else "name"
                return message.with_(params={**message.params, "ref": {**reference, key: entry.name}})
            key = "uri" if message.method in BY_URI else "name"
            return message.with_(params={**message.params, key: entry.name})
        return message

    def as_known(self, server: str, message: Message) -> Message:
        """A server's notice about a resource, under the name that the client knows."""
        if message.method != "notifications/resources/updated":
            return message
        uri = str(message.params.get("uri"))
        known = self._by_list["resources/list"].known_as(server, uri)
        return message if known == uri else message.with_(params={**message.params, "uri": known})


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
