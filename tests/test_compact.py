"""JSON written compactly, by encoders that are made once."""

from __future__ import annotations

import json
from json import encoder
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.compact import compact_encoder

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_write = compact_encoder(ascii_only=True, sort_keys=True, allow_nan=True)
_write_strictly = compact_encoder(ascii_only=False, sort_keys=False, allow_nan=False)


@given(JSON)
def test_it_writes_what_the_standard_library_writes(value: Any) -> None:
    assert _write(value) == json.dumps(value, sort_keys=True, separators=(",", ":"))
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        with pytest.raises(ValueError, match="not JSON compliant"):
            _write_strictly(value)
    else:
        assert _write_strictly(value) == written


def test_what_is_no_json_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(RecursionError):
        _write(circle)
    with pytest.raises(TypeError):
        _write({"when": object()})


def test_it_writes_the_same_where_the_encoder_is_python() -> None:
    with mock.patch.object(encoder, "c_make_encoder", None):
        write = compact_encoder(ascii_only=True, sort_keys=True, allow_nan=True)
        assert write({"b": [1, "é"], "a": None}) == _write({"a": None, "b": [1, "é"]})
