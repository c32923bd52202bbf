"""Marked arguments stand in headers as the SDK puts them there, without the SDK."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

from handraise.gateway.http.headers import argument_headers, marked_arguments

REGION = {"type": "string", "x-mcp-header": "Region"}
SCHEMAS: list[Any] = [
    None,
    {},
    {"properties": {"region": REGION}},
    {"properties": {"deep": {"type": "object", "properties": {"region": REGION}}}},
    {
        "properties": {
            "a": {"type": "integer", "x-mcp-header": "A"},
            "b": {"type": "boolean", "x-mcp-header": "B"},
        }
    },
    {"properties": {"a": REGION, "b": {"type": "string", "x-mcp-header": "region"}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": "no token"}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": 3}}},
    {"properties": {"a": {"type": "array", "items": REGION}}},
    {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
    {"properties": {"a": {"type": "object", "default": {"x-mcp-header": "A"}}}},
    {"properties": {"x-mcp-header": {"type": "string"}}},
    {"x-mcp-header": "Root"},
    {"$defs": {"a": REGION}},
    {"anyOf": [{"properties": {"region": REGION}}]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_schema_marks_what_the_sdk_says(schema: Any) -> None:
    expected = None if find_invalid_x_mcp_header(schema) else x_mcp_header_map(schema)
    assert marked_arguments(schema) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"region": "eu", "deep": {"n": 3}},
        {"region": "Köln", "deep": {"n": True}},
        {"region": " x ", "deep": 1},
        {"region": None},
        {"region": ["x"], "deep": {"n": 1.5}},
        {},
    ],
    ids=str,
)
def test_values_are_written_as_the_sdk_writes_them(arguments: dict[str, Any]) -> None:
    marked = {("region",): "Region", ("deep", "n"): "N"}
    expected = [
        (name.encode(), value.encode()) for name, value in mcp_param_headers(marked, arguments).items()
    ]
    assert argument_headers(marked, arguments) == expected


def test_many_marked_arguments_are_read_in_linear_time() -> None:
    names = {f"a{number}": {"type": "string", "x-mcp-header": f"A{number}"} for number in range(50_000)}
    assert len(marked_arguments({"properties": names}) or {}) == 50_000
