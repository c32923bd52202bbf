"""What several servers offer together, and under which names: their own, and prefixed only where two collide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""Each list: the member of its result, and what its entries are known by."""

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


class Entry(NamedTuple):
    """Where something really is: the server, and its name there."""

    server: str
    name: str


class Directory:
    """For one kind of thing: from the name that the client knows to where it is."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def find(self, name: str) -> Entry | None:
        """Where the thing of this name is."""
        return self._entries.get(name)

    def server_of_uri(self, uri: str) -> str | None:
        """The server with a template of which a URI may come."""
        return next((each.server for each in self._entries.values() if template_fits(each.name, uri)), None)

    def known_as(self, server: str, name: str) -> str:
        """The name under which the client knows a server's thing."""
        entry = Entry(server, name)
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
                self._entries[known] = Entry(server, name)
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
