"""The page about several nodes plans with what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.measure import Bench, Figure, Figures
from bench.sizing import BLOCK, PAGE, ROWS, sizing, write_sizing

from bench import sizing as module


@pytest.fixture
def measured() -> dict[str, Bench]:
    benches = {part: Bench(part) for part in ("ask", "scale")}
    for _, part, name in ROWS:
        figures = [Figure(name, value, "KiB") for value in (11.54, 3.0)]
        benches[part].figures += [Figures("sizes", [figure]) for figure in figures]
    return benches


def test_the_worst_that_was_measured_is_planned_for_with_a_reserve(measured: dict[str, Bench]) -> None:
    assert sizing(measured).count(" | 11.54 KiB | 13 KiB |") == len(ROWS)


def test_only_the_marked_part_of_the_page_is_written_anew(
    measured: dict[str, Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, before = tmp_path / "page.md", PAGE.read_text()
    copy.write_text(before)
    monkeypatch.setattr(module, "PAGE", copy)
    write_sizing({**measured, "scale": Bench("scale", whole=False)})
    assert copy.read_text() == before
    write_sizing(measured)
    (block,) = BLOCK.finditer(copy.read_text())
    assert block[2] == sizing(measured)
    assert BLOCK.sub("", copy.read_text()) == BLOCK.sub("", before)
