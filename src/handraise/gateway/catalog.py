"""The combined offer of several servers: names that tell equal tools apart, and one combined greeting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handraise.gateway.messages import Message, object_in
from handraise.gateway.peers import SERVER_KEY, capabilities_in

LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""Each list: the member of its result, and the key of its entries."""

_MOST_OWNED: Final = 10_000
"""Names of one server that are remembered. The attack: it lists so many that those of another one are forgotten."""

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def read_by_guards(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What guards read of a tool: its hints, and the default of each argument. A server may list gigabytes.

    Of a default that is long, or no plain value, only that is kept: it may mean anything.
    """
    hints, properties = (
        object_in(tool, "annotations"),
        object_in(object_in(tool, "inputSchema"), "properties"),
    )
    return {
        "annotations": {name: value for name, value in hints.items() if isinstance(value, bool)},
        "defaults": {
            name: each["default"] if _is_plain(each["default"]) else {}
            for name, each in properties.items()
            if isinstance(each, dict) and "default" in each
        },
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, int | float | None) or (
        isinstance(value, str) and len(value) <= _LONGEST_DEFAULT
    )


_LONGEST_DEFAULT: Final = 1000


class CatalogEntry(NamedTuple):
    """The server of an entry, and its name there."""

    server: str
    name: str


class CatalogList:
    """One kind of entry: from the name that the client knows to the server."""

    def __init__(self) -> None:
        self._entries: dict[str, CatalogEntry] = {}
        self._told: dict[str, Mapping[str, Any]] = {}
        """What the server says about each entry."""
        self._owners: dict[str, str] = {}
        """The server that first had each name. It stays that server's, because a client may know an older list."""

    def find(self, name: str) -> CatalogEntry | None:
        return self._entries.get(name)

    def told(self, name: str) -> Mapping[str, Any]:
        """What the server of an entry says about it."""
        return self._told.get(name, {})

    def has_own_name(self, name: str) -> bool:
        """Whether a server has an entry of this name, which clients know by another one."""
        return any(each.name == name and known != name for known, each in self._entries.items())

    def find_uri(self, uri: str) -> CatalogEntry | None:
        """The server whose template fits a URI, and the URI there. None if the templates of several servers fit.

        The attack: a server lists a template that fits the URIs of another one, and gets its requests.
        """
        found = {
            CatalogEntry(each.server, uri.removeprefix(known.removesuffix(each.name)))
            for known, each in self._entries.items()
            if template_fits(known, uri)
        }
        return found.pop() if len(found) == 1 else None

    def known_as(self, server: str, name: str) -> str:
        """The client's name for a server's entry."""
        entry = CatalogEntry(server, name)
        return next((known for known, each in self._entries.items() if each == entry), name)

    def fill(self, listed: Mapping[str, Sequence[dict[str, Any]]], key: str) -> list[dict[str, Any]]:
        """Replace the entries. Returns them for the client, with a prefix where two servers use the same name.

        Of entries with the same name of the same server the first counts. The attack: a server lists the name of
        another one's tool, and gets its calls as soon as that one fails to list it.
        """
        by_name = {
            server: {name: each for each in reversed(entries) if (name := str(each.get(key)))}
            for server, entries in listed.items()
        }
        names = Counter(name for entries in by_name.values() for name in entries)
        self._entries.clear()
        self._told.clear()
        shown = []
        for server, entries in by_name.items():
            for name, each in reversed(entries.items()):
                alone = names[name] == 1 and self._may_have(name, server)
                known = name if alone else prefixed(server, name, uri=key != "name")
                while known in self._entries or not self._may_have(known, server):
                    known += "_"
                self._owners[known] = server
                self._entries[known], self._told[known] = CatalogEntry(server, name), read_by_guards(each)
                shown.append(each if known == name else {**each, key: known})
        for server in by_name:
            owned = [known for known, owner in self._owners.items() if owner == server]
            for known in owned[:-_MOST_OWNED]:
                del self._owners[known]
        return shown

    def _may_have(self, known: str, server: str) -> bool:
        """Whether a name is this server's or nobody's."""
        return self._owners.get(known, server) == server


def prefixed(server: str, name: str, *, uri: bool = False) -> str:
    """A name with its server's name in front."""
    owner = _ODD.sub("_", server)
    return f"{owner.lower().replace('_', '-')}+{name}" if uri else f"{owner}_{name}"


def template_fits(template: str, uri: str) -> bool:
    """Whether a URI may match a template. Enough to choose a server, which then decides.

    The attack: a template with many variables. A regular expression would try all ways to split the URI.
    """
    start, *pieces = template.split("{")
    if not pieces:
        return uri == template
    *middle, end = [piece.partition("}")[2] for piece in pieces]
    place, last = len(start), len(uri) - len(end)
    if place > last or not uri.startswith(start) or not uri.endswith(end):
        return False
    for text in middle:
        found = uri.find(text, place, last)
        if found < 0:
            return False
        place = found + len(text)
    return True


KINDS: Final = {"tools/call": "tools/list", "prompts/get": "prompts/list"}
BY_URI: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")


def named(message: Message) -> list[tuple[str, str]]:
    """The list that has the target of a message, and the target's name."""
    if (kind := KINDS.get(message.method or "")) is not None:
        return [(kind, str(message.params.get("name")))]
    if message.method in BY_URI:
        return [("resources/list", str(message.params.get("uri")))]
    if (kind := kind_of_reference(message)) is not None:
        reference = message.params["ref"]
        return [(kind, str(reference.get("name", reference.get("uri"))))]
    return []


def kind_of_reference(message: Message) -> str | None:
    """The list that has the target of a completion."""
    reference = object_in(message.params, "ref")
    if message.method != "completion/complete" or not reference:
        return None
    return "prompts/list" if reference.get("type") == "ref/prompt" else "resources/templates/list"


class Catalog:
    """What the servers list: from the name that the client knows to the server and its name there."""

    def __init__(self) -> None:
        self._by_list = {method: CatalogList() for method in LISTS}

    def fill(self, method: str, listed: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
        return self._by_list[method].fill(listed, LISTS[method][1])

    def server_of(self, message: Message) -> str | None:
        """The server that listed the target of a message."""
        for kind, name in named(message):
            if (entry := self._by_list[kind].find(name)) is not None:
                return entry.server
        return None if (found := self._by_template(message)) is None else found.server

    def _by_template(self, message: Message) -> CatalogEntry | None:
        """Where a URI leads that no server listed, by the templates."""
        uri = str(message.params.get("uri"))
        if message.method not in BY_URI or self._by_list["resources/list"].has_own_name(uri):
            return None  # several servers list this URI, each under another one
        return self._by_list["resources/templates/list"].find_uri(uri)

    def listed(self, message: Message) -> Mapping[str, Any]:
        """What its server says about the target of a message."""
        return next((told for kind, name in named(message) if (told := self._by_list[kind].told(name))), {})

    def with_own_name(self, message: Message) -> Message:
        """The message with the server's own name for its target."""
        for kind, name in named(message):
            entry = self._by_list[kind].find(name) or self._by_template(message)
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
        """A server's notice about a resource, with the client's name for it."""
        if message.method != "notifications/resources/updated":
            return message
        uri = str(message.params.get("uri"))
        known = self._by_list["resources/list"].known_as(server, uri)
        return message if known == uri else message.with_(params={**message.params, "uri": known})


_OURSELVES: Final = {"name": "handraise-gateway", "version": "1"}


def combine_hello(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The combined result of `initialize`: the oldest revision, and the capabilities of all."""
    return {
        "protocolVersion": min(str(result.get("protocolVersion")) for result in results.values()),
        "serverInfo": _OURSELVES,
        **_common(results),
    }


def combine_discovery(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The combined result of `server/discover`."""
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
        _merge(capabilities, capabilities_in(result))
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
