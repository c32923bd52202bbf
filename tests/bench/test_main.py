"""The benchmark runs, part by part, by the commands that the documents name: quickly, which measures nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator

import pytest
from bench.__main__ import main
from bench.measure import OUT, Bench, Figure
from bench.page import PAGE
from bench.parts import PARTS
from tests.docs.named import named_commands
from tests.docs.snippets import ROOT, blocks_run_by, commands, pages


def quick_commands() -> Iterator[str]:
    """Each command for some parts that a page names, and `make bench` for the parts that none of them has."""
    shown = [
        command for block in blocks_run_by("test_a_part_runs_to_its_end") for command, _ in commands(block)
    ]
    named = [command for page in pages() for command in named_commands(page)]
    left = dict.fromkeys(PARTS)
    for command in (*shown, *named):
        parts = command.removeprefix("python -m bench ").split()
        if left.keys() >= set(parts):
            yield command.replace("bench", "bench --quick", 1)
            left = {part: None for part in left if part not in parts}
    yield f"make bench QUICK=1 PARTS='{' '.join(left)}'"


@pytest.mark.soak
@pytest.mark.stranger
@pytest.mark.parametrize("command", list(quick_commands()))
def test_a_part_runs_to_its_end(command: str) -> None:
    before = PAGE.read_text(), [file.stat().st_mtime for file in OUT.glob("*")]
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing is written: figures of a single round mean nothing" in done.stdout
    assert "bar " not in re.sub("bar of .*", "", done.stdout)
    assert (PAGE.read_text(), [file.stat().st_mtime for file in OUT.glob("*")]) == before


def test_every_part_is_run_by_one_of_them() -> None:
    run = [word for command in quick_commands() for word in re.findall(r"\w+", command) if word in PARTS]
    assert sorted(run) == sorted(PARTS)


def test_an_unknown_part_is_told_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "fly"]) == 2
    assert capsys.readouterr().err == f"no such part: fly; there are: {', '.join(PARTS)}\n"


def test_the_help_tells_what_there_is_and_what_the_status_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    told = capsys.readouterr().out
    assert left.value.code == 0
    assert all(f"  {name}" in told and part.measures in told for name, part in PARTS.items())
    assert "status: 0 when every bar is met" in told


def test_a_quick_look_has_one_round_and_misses_no_bar() -> None:
    bench, turns = Bench("urls", quick=True), []

    def turn() -> float:
        turns.append(9.0)
        return turns[-1]

    bench.compare("x", {"handraise": turn, "other": lambda: 1.0}, bars={"other": 1.0})
    bench.state("y", [Figure("z", 9, at_most=1)])
    assert len(turns) == 1
    assert bench.met


@pytest.mark.parametrize(
    ("ratio", "whole", "status", "told"),
    [
        (1.0, True, 0, "1 of 1 bars are met.\n"),
        (1.0001, True, 1, "0 of 1 bars are met; missed:\n  urls: x, against other: 1.0001 (bar 1.00)\n"),
        (1.0, False, 3, "1 of 1 bars are met.\nstopped before their end: urls\n"),
    ],
)
def test_how_it_went_is_told_at_the_end_and_by_the_status(
    ratio: float,
    whole: bool,
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measured(bench: Bench) -> Bench:
        bench.record("x", {"handraise": [ratio], "other": [1.0]}, bars={"other": 1.0})
        bench.whole = whole
        return bench

    monkeypatch.setattr("bench.__main__._measured", measured)
    assert main(["urls"]) == status
    assert capsys.readouterr().out.endswith(f"\n{told}")
