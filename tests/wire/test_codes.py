from __future__ import annotations

import subprocess
import sys

from mcp_types import INVALID_PARAMS as SDK_INVALID_PARAMS
from mcp_types import METHOD_NOT_FOUND as SDK_METHOD_NOT_FOUND
from mcp_types import CreateMessageRequest, ElicitCompleteNotification, ElicitRequest, ListRootsRequest
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

from handraise.wire import (
    COMPLETE,
    ELICIT,
    INVALID_PARAMS,
    LIST_ROOTS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    SAMPLE,
    URL_REQUIRED,
)


def test_the_codes_are_the_sdks() -> None:
    assert (INVALID_PARAMS, METHOD_NOT_FOUND) == (SDK_INVALID_PARAMS, SDK_METHOD_NOT_FOUND)
    assert (MISSING_CAPABILITY, URL_REQUIRED) == (
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        URL_ELICITATION_REQUIRED,
    )


def test_the_methods_are_the_sdks() -> None:
    models = (ElicitRequest, ListRootsRequest, CreateMessageRequest, ElicitCompleteNotification)
    named = [model.model_fields["method"].default for model in models]
    assert named == [ELICIT, LIST_ROOTS, SAMPLE, COMPLETE]


def test_the_wire_needs_neither_the_sdk_nor_pydantic() -> None:
    program = "import sys, handraise.wire; print({'mcp', 'mcp_types', 'pydantic_core'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
