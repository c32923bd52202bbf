"""Whose a message is, of several servers, and what it is called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handraise.gateway.messages import Message
from handraise.gateway.several.directory import LISTS, Directory
from handraise.gateway.several.named import BY_URI, named


class Whose:
    """The directories of everything that the servers list."""

    def __init__(self) -> None:
        self._directories = {method: Directory() for method in LISTS}

    def fill(self, method: str, listed: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Take what the servers answer to a list; the same for the client, with names that tell two alike apart."""
        return self._directories[method].fill(listed, LISTS[method][1])

    def server_of(self, message: Message) -> str | None:
        """The server that has what a message is about, as far as they listed it."""
        for kind, name in named(message):
            if (entry := self._directories[kind].find(name)) is not None:
                return entry.server
        if message.method in BY_URI:
            return self._directories["resources/templates/list"].server_of_uri(str(message.params.get("uri")))
        return None

    def with_own_name(self, message: Message) -> Message:
        """The message with the name that the server itself uses."""
        for kind, name in named(message):
            entry = self._directories[kind].find(name)
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
        known = self._directories["resources/list"].known_as(server, uri)
        return message if known == uri else message.with_(params={**message.params, "uri": known})
