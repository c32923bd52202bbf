"""What a client's own model is asked: a prompt and the protocol's parameters, and nothing that it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import CreateMessageRequestParams

from handraise.server.arguments import refuse, require_json

_SAMPLING = {field.alias or name for name, field in CreateMessageRequestParams.model_fields.items()} - {
    "messages",
    "maxTokens",
}
"""What a client's model may be given besides, as the protocol spells it."""


def sampling_params(
    prompt: str | Sequence[Mapping[str, Any]], max_tokens: int, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of the request. What is wrong is named."""
    if unknown := parameters.keys() - _SAMPLING:
        raise TypeError(
            f"ask.model takes no argument {min(unknown)!r}; the protocol's are {', '.join(sorted(_SAMPLING))}"
        )
    params = {"messages": _messages(prompt), "maxTokens": max_tokens, **parameters}
    if type(max_tokens) is not int or max_tokens < 1:
        refuse("max_tokens", "a whole number above 0", max_tokens)
    require_json("prompt", params)
    return params


def _messages(prompt: str | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A prompt as the protocol's list of messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": {"type": "text", "text": prompt}}]
    given: object = prompt
    if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
        refuse("prompt", "text or a list of messages, each a mapping with a role and content", given)
    return [dict(message) for message in given]
