"""The page about the gateway's messages names the cost that was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.gateway_cost import BLOCK, PAGE, gateway_cost, write_gateway_cost
from bench.measure import Bench, Ratio, Table
from bench.page import PAGE as FIGURES

from bench import gateway_cost as module

TIMES = {"handraise": 2.0, "direct": 1.0}


@pytest.fixture
def measured() -> Bench:
    plain = [
        Table(f"http to http, a plain call, {revision}", TIMES, [Ratio("direct", ratio, 1.6)])
        for revision, ratio in (("2025-11-25", 1.054), ("2026-07-28", 1.389))
    ]
    return Bench("gateway", [*plain, Table("start", TIMES, [Ratio("fastmcp's proxy", 9.0, None)])])


def test_the_revision_where_the_gateway_costs_most_counts(measured: Bench) -> None:
    assert gateway_cost(measured).splitlines()[2:] == ["| http to http, a plain call | 1.39 |"]


def test_only_the_marked_part_of_the_page_is_written_anew(
    measured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, before = tmp_path / "page.md", PAGE.read_text()
    copy.write_text(before)
    monkeypatch.setattr(module, "PAGE", copy)
    write_gateway_cost({"gateway": Bench("gateway", measured.tables, whole=False)})
    assert copy.read_text() == before
    write_gateway_cost({"gateway": measured})
    (block,) = BLOCK.finditer(copy.read_text())
    assert block[2] == gateway_cost(measured)
    assert BLOCK.sub("", copy.read_text()) == BLOCK.sub("", before)


def test_both_pages_name_the_same_cost() -> None:
    found = re.findall(
        r"(?m)^\| ([^|]+?)(?:, \d{4}-\d\d-\d\d)? \|[^|]+\| direct \|[^|]+\| ([\d.]+) \|", FIGURES.read_text()
    )
    worst: dict[str, float] = {}
    for call, ratio in found:
        worst[call] = max(float(ratio), worst.get(call, 0.0))
    (block,) = BLOCK.finditer(PAGE.read_text())
    assert {
        call: float(ratio) for call, ratio in re.findall(r"(?m)^\| (.+) \| ([\d.]+) \|$", block[2])
    } == worst
