"""What requests say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.gateway.messages import request
from handraise.gateway.peers import arguments_of, call_identity, is_modern, name_of, params_without_round

CALL = {"name": "delete", "arguments": {"a": 1, "b": [True]}}


@pytest.mark.parametrize(
    ("method", "params", "name", "arguments"),
    [
        ("tools/call", CALL, "delete", CALL["arguments"]),
        ("prompts/get", {"name": "greet"}, "greet", {}),
        ("resources/read", {"uri": "notes://1"}, "notes://1", {}),
        ("tools/list", {"name": "no name of anything called"}, "", {}),
    ],
)
def test_a_request_tells_what_it_calls(method: str, params: Any, name: str, arguments: Any) -> None:
    message = request(1, method, params)
    assert (name_of(message), arguments_of(message)) == (name, arguments)


def test_a_retry_is_like_its_request_and_no_other_call_is() -> None:
    first = request(1, "tools/call", CALL)
    state = {"requestState": "s", "inputResponses": {}}
    retry = request(2, "tools/call", {"arguments": {"b": [True], "a": 1}, "name": "delete", **state})
    assert call_identity(first) == call_identity(retry)
    assert params_without_round(retry) == CALL
    others: list[dict[str, Any]] = [
        {**CALL, "name": "keep"},
        {**CALL, "arguments": {"a": 1, "b": [1]}},  # 1 is True to Python, and not to a server
        {**CALL, "uri": "notes://1"},
    ]
    assert all(call_identity(first) != call_identity(request(1, "tools/call", each)) for each in others)
    assert call_identity(first) != call_identity(request(1, "prompts/get", CALL))


def test_the_envelope_tells_the_era() -> None:
    envelope = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    assert is_modern(request(1, "tools/list", envelope))
    assert not is_modern(request(1, "tools/list", {"_meta": {}}))
    assert not is_modern(request(1, "initialize", {"protocolVersion": "2025-11-25"}))
