"""What a message of the client's names: tools, prompts and resources, and the lists in which they are found."""

from __future__ import annotations

from typing import Final

from handraise.gateway.messages import Message

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
