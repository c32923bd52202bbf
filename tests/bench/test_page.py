"""The page about the benchmark says what was measured, the bad with the good."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.measure import Bench, Figure, Figures, Ratio, Table
from bench.page import page
from bench.parts import PARTS
from bench.ratio_chart import ratio_chart
from bench.scale_chart import chart

from bench import measure


@pytest.fixture
def measured() -> Bench:
    ratios = [Ratio("mcp Resolve", 0.25, 0.45), Ratio("plain call", 3.0, 2.5), Ratio("bare", 4.0, None)]
    times = {"handraise": 3e-3, "mcp Resolve": 12e-3, "plain call": 1e-3, "bare": 0.75e-3}
    sizes = [Figures(f"{size} pending", [Figure("memory", size / 100, "KiB")]) for size in (1000, 2000)]
    alone = Figures("waiting", [Figure("tasks left", 0, at_most=0)])
    return Bench("ask", [Table("one question", times, ratios)], [*sizes, alone])


def test_a_missed_bar_is_told_first(measured: Bench) -> None:
    text = page([measured])
    assert "2 of 3 bars are met." in text
    assert "| Asking | one question, against plain call | 3.00 | 2.50 |" in text


def test_a_part_that_was_stopped_is_told(measured: Bench) -> None:
    measured.whole = False
    assert "took too long: Asking." in page([measured])


def test_where_ours_takes_longer_is_told_without_a_bar_too(measured: Bench) -> None:
    measured.tables.append(
        Table("two questions", {"handraise": 1.0, "bare": 1 / 9}, [Ratio("bare", 9.0, None)])
    )
    slower = page([measured]).partition("## Where Handraise takes longer")[2].partition("## How")[0]
    rows = [line for line in slower.splitlines() if line.startswith("| Asking")]
    assert rows == [
        "| Asking | plain call | 3.00 | one question |",
        "| Asking | bare | 9.00 | two questions |",
    ]


def test_every_ratio_stands_beside_both_times(measured: Bench) -> None:
    assert "| one question | 3.00 ms | mcp Resolve | 12.00 ms | 1/4.0 | 1/2.2 | yes |" in page([measured])


def test_the_same_figures_of_several_sizes_stand_side_by_side(measured: Bench) -> None:
    text = page([measured])
    assert "|  | 1000 pending | 2000 pending |" in text
    assert "| memory | 10.00 KiB | 20.00 KiB |" in text
    assert "| tasks left | 0.00 | at most 0 | yes |" in text


def test_what_was_not_measured_is_told(measured: Bench) -> None:
    assert page([measured]).count(" (not measured) | ") == len(PARTS) - 1


def test_what_a_part_wrote_is_read_again(
    measured: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "OUT", tmp_path)
    assert Bench.read(measured.write()) == measured


def test_the_plots_need_nothing_from_outside(measured: Bench) -> None:
    rows = [{"size": size, "bytes": 9e3, "park": 1e-3, "p50": 1e-2, "p99": 2e-2} for size in (1e3, 1e4)]
    for plot in (ratio_chart("Asking", measured.tables), chart(rows)):
        ElementTree.fromstring(plot)  # noqa: S314 - a plot of ours
        assert plot.count("http") == 1  # its namespace
        assert "prefers-color-scheme:dark" in plot


def test_everything_is_measured_in_25_minutes() -> None:
    assert sum(part.minutes for part in PARTS.values()) <= 25


def test_every_part_can_be_run() -> None:
    here = Path(measure.__file__).parent
    runnable = {file.stem for file in here.glob("*.py") if "\ndef run(" in file.read_text()}
    assert runnable == set(PARTS)
