"""Which trace a request is part of."""

from __future__ import annotations

import subprocess
import sys

import pytest
from mcp_types import INVALID_PARAMS as SDK_INVALID_PARAMS
from mcp_types import METHOD_NOT_FOUND as SDK_METHOD_NOT_FOUND
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

from handraise.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    URL_REQUIRED,
    ErrorObject,
    parse_trace,
    undeclared_mode,
)


def test_the_codes_are_the_sdks() -> None:
    assert (INVALID_PARAMS, METHOD_NOT_FOUND) == (SDK_INVALID_PARAMS, SDK_METHOD_NOT_FOUND)
    assert (MISSING_CAPABILITY, URL_REQUIRED) == (
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        URL_ELICITATION_REQUIRED,
    )


def test_the_wire_needs_neither_the_sdk_nor_pydantic() -> None:
    program = "import sys, handraise.wire; print({'mcp', 'mcp_types', 'pydantic_core'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.shows("N3")
def test_an_undeclared_mode_is_answered_with_invalid_params() -> None:
    fault = undeclared_mode("url")
    assert fault == ErrorObject(-32602, "This client did not declare URL mode.")


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.shows("G2")
@pytest.mark.parametrize(
    "parent", [f"00-{TRACE}-00f067aa0ba902b7-01", f"01-{TRACE}-00f067aa0ba902b7-00-of a later version"]
)
def test_the_trace_id_is_read(parent: str) -> None:
    assert parse_trace({"traceparent": parent, "progressToken": 1}) == TRACE


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [],
        {},
        {"traceparent": None},
        {"traceparent": TRACE},
        {"traceparent": f"ff-{TRACE}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{TRACE.upper()}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{TRACE}-{'0' * 16}-01"},
        {"traceparent": f"00-{'my secret token is: hunter2 hello'[:32]}-00f067aa0ba902b7-01"},
    ],
)
def test_what_is_no_trace_id_is_none(meta: object) -> None:
    assert parse_trace(meta) is None
