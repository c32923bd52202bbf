"""Rounds on 2026-07-28: the result that asks for input, and the retry that brings it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from handraise.errors import WireError
from handraise.forms import DEFAULT_LIMITS, Limits, write_json
from handraise.wire.codes import ELICIT, LIST_ROOTS, SAMPLE

_METHODS: Final = (ELICIT, LIST_ROOTS, SAMPLE)


@dataclass(frozen=True, slots=True)
class InputRequired:
    """What a server wants before it goes on: requests by key, and a state to echo untouched."""

    requests: Mapping[str, dict[str, Any]]
    """`{"method": …, "params": …}` each, of a method that may be an input request."""
    request_state: str | None


def dump_input_required(
    requests: Mapping[str, Any], request_state: str | None, *, meta: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The result that ends a round with requests for input, and what is said about it in `_meta`."""
    dumped: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        dumped["inputRequests"] = dict(requests)
    if request_state is not None:
        dumped["requestState"] = request_state
    if meta is not None:
        dumped["_meta"] = dict(meta)
    return dumped


def parse_input_required(result: object) -> InputRequired | None:
    """What a result asks for; None when it is an ordinary result."""
    if not isinstance(result, dict) or result.get("resultType") != "input_required":
        return None
    requests, state = result.get("inputRequests"), result.get("requestState")
    if requests is None and state is None:
        raise WireError("input_required", "An input-required result has requests, a state, or both.")
    if state is not None and not isinstance(state, str):
        raise WireError("request_state", "requestState is a string.")
    return InputRequired(_requests(requests), state)


def dump_input_responses(answers: Mapping[str, Any], request_state: str | None) -> dict[str, Any]:
    """What a retry adds to the params of the request it repeats."""
    dumped: dict[str, Any] = {"inputResponses": dict(answers)}
    if request_state is not None:
        dumped["requestState"] = request_state
    return dumped


def parse_input_responses(raw: object, limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
    """The answers that a retry brings, by key, within bounds; what each means is not looked at."""
    return parse_retry(raw, limits)[0]


def parse_retry(
    raw: object, limits: Limits = DEFAULT_LIMITS, *, write: Callable[[object], bytes] = write_json
) -> tuple[dict[str, Any], bytes]:
    """The answers that a retry brings, and all of them as `write` writes JSON; it raises WireError for what is none."""
    if raw is None:
        return {}, b"{}"
    if not isinstance(raw, dict):
        raise WireError("input_responses", "inputResponses is a JSON object.")
    if len(raw) > limits.answers:
        raise WireError("input_responses", f"inputResponses has more than {limits.answers} entries.")
    written = write(raw)
    if len(written) > limits.answer_bytes:
        raise WireError("input_responses", f"inputResponses has more than {limits.answer_bytes} bytes.")
    return raw, written


def _requests(raw: object) -> dict[str, dict[str, Any]]:
    requests = {} if raw is None else raw
    if not isinstance(requests, dict):
        raise WireError("input_requests", "inputRequests is a JSON object.")
    for request in requests.values():
        if not isinstance(request, dict) or request.get("method") not in _METHODS:
            raise WireError("input_requests", "An input request is a question, roots or sampling.")
    return requests
