from __future__ import annotations

import pytest
from mcp_types import ErrorData

from handraise.errors import WireError
from handraise.wire import Fault, dump_fault, parse_fault, undeclared_mode


@pytest.mark.shows("N3")
def test_an_undeclared_mode_is_answered_with_invalid_params() -> None:
    fault = undeclared_mode("url")
    assert fault == Fault(-32602, "This client did not declare URL mode.")
    assert ErrorData.model_validate(dump_fault(fault)).code == -32602


@pytest.mark.parametrize("fault", [Fault(-32000, "x"), Fault(1, "", {"a": []}), Fault(-32042, "x", 0)])
def test_an_error_comes_back_as_it_was(fault: Fault) -> None:
    assert parse_fault(dump_fault(fault)) == fault


@pytest.mark.parametrize(
    "raw", [None, {}, {"code": "1", "message": "x"}, {"code": True, "message": "x"}, {"code": 1}]
)
def test_garbage_is_no_error(raw: object) -> None:
    with pytest.raises(WireError):
        parse_fault(raw)
