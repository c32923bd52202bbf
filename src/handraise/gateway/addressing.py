"""What changes in a message on its way: the ids and tokens by which each side knows a call, and sentences of ours."""

from __future__ import annotations

from collections.abc import Mapping

from handraise.gateway.calls import Call
from handraise.gateway.messages import Id, Message
from handraise.gateway.methods import PROGRESS
from handraise.gateway.peers import SUBSCRIPTION_KEY


def token_at_server(call: Call) -> Id | None:
    """The progress token that the server knows."""
    return call.token if call.key == call.message.id else call.key


def with_id(calls: Mapping[Id, Call], id: object) -> Call | None:
    """The call that its client knows by this id."""
    return next((call for call in calls.values() if call.message.id == id), None)


def concerned(calls: Mapping[Id, Call], message: Message) -> Call | None:
    """The call to which a notice of the server's belongs, where that can be told."""
    if message.about is not None:
        return calls.get(message.about)
    if message.method == PROGRESS:
        token = message.params.get("progressToken")
        return next((call for call in calls.values() if token_at_server(call) == token), None)
    meta = message.params.get("_meta")
    return calls.get(meta.get(SUBSCRIPTION_KEY, "")) if isinstance(meta, dict) else None


def addressed(call: Call, message: Message) -> Message:
    """A notice under the token or the id that the client knows."""
    params = message.params
    if message.method == PROGRESS:
        if isinstance(progress := params.get("progress"), int | float):
            call.progress = max(call.progress, progress)
        known = call.key == call.message.id or call.token is None
        return message if known else message.with_(params={**params, "progressToken": call.token})
    meta = params.get("_meta")
    if call.key == call.message.id or not isinstance(meta, dict) or meta.get(SUBSCRIPTION_KEY) != call.key:
        return message
    return message.with_(params={**params, "_meta": {**meta, SUBSCRIPTION_KEY: call.message.id}})


def readdressed(cancel: Message, key: Id) -> Message:
    """A notice that a request is cancelled, about the request of this id."""
    params = cancel.params
    return cancel if params.get("requestId") == key else cancel.with_(params={**params, "requestId": key})


def renamed(message: Message, key: Id) -> Message:
    """The request under another id, and with it its progress token, which may be taken, too."""
    params = message.params
    meta = params.get("_meta")
    if isinstance(meta, dict) and "progressToken" in meta:
        params = {**params, "_meta": {**meta, "progressToken": key}}
        return message.with_(id=key, params=params)
    return message.with_(id=key)


def finished(call: Call, message: Message) -> Message:
    """The response of a call as its client gets it: with what we change in it, and sentences of ours."""
    if call.amend is not None and message.result is not None:
        message = call.amend(message)
    return _annotated(message, call.notes) if call.notes else message


def _annotated(message: Message, notes: list[str]) -> Message:
    """The result of a tool with sentences of ours behind its own content."""
    content = (message.result or {}).get("content")
    if not isinstance(content, list):
        return message
    ours = [{"type": "text", "text": note} for note in notes]
    return message.with_(result={**message.body["result"], "content": [*content, *ours]})
