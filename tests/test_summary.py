"""The end of a test run counts what really ran."""

from __future__ import annotations

from tests import summary


def test_scenarios_are_counted_on_each_revision() -> None:
    suite = "tests/strangers/conformance/test_conformance.py::test_asks"
    through = "tests/strangers/gateway/test_conformance.py::test_same"
    outcomes = [
        (f"{suite}[2025-11-25-ping]", "passed"),
        (f"{through}[2025-11-25-ping]", "failed"),
        (f"{suite}[2026-07-28-tools-list]", "passed"),
        ("tests/server/test_ask.py::test_other[2026-07-28-memory]", "passed"),
    ]
    assert list(summary.scenarios(outcomes)) == [
        "conformance scenarios on 2025-11-25: 1 of 2 passed",
        "conformance scenarios on 2026-07-28: 1 of 1 passed",
    ]


def test_every_stranger_has_a_version() -> None:
    told = summary.strangers()
    for name in (
        "@modelcontextprotocol/conformance 0.2.0",
        "fastmcp ",
        "mcp 1.12.4",
        "mcp 1.30.0",
        "Chromium ",
    ):
        assert name in told
