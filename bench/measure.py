"""Side by side in one run: every contender takes its turn in every round, and rounds are compared, not runs.

The machine gets faster and slower while we measure, so a ratio is the median of the ratios within
each round, where both sides met the same machine.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from bench.machine import this_machine

OUT = Path(__file__).parent / "out"
OURS = "handraise"

Turn = Callable[[], float]
"""One turn of a contender: prepares, works, and returns the seconds that one piece of work took."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours divided by theirs, and how much it may be."""

    against: str
    ratio: float
    at_most: float | None

    @property
    def met(self) -> bool:
        """Whether the bar is met; a figure without a bar always passes."""
        return self.at_most is None or self.ratio <= self.at_most

    @property
    def shown(self) -> str:
        """For people. A bar that is missed by a hair does not look met."""
        if self.ratio <= 0.5:
            return f"1/{1 / self.ratio:,.1f}"
        shown = f"{self.ratio:.2f}"
        return shown if self.met or shown != self.bar else f"{self.ratio:.4f}"

    @property
    def bar(self) -> str:
        """For people, too; nothing when there is none."""
        if self.at_most is None:
            return ""
        if self.at_most > 0.5:
            return f"{self.at_most:.2f}"
        return f"1/{1 / self.at_most:,.1f}".removesuffix(".0")

    def __str__(self) -> str:
        return f"{self.shown} (bar {self.bar}{'' if self.met else ', MISSED'})" if self.bar else self.shown


@dataclass(frozen=True, slots=True)
class Table:
    """The measurements under one title, in seconds."""

    title: str
    seconds: Mapping[str, float]
    ratios: Sequence[Ratio]


@dataclass(frozen=True, slots=True)
class Figure:
    """Anything that is not a time: a size, a share, a count."""

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        """Whether its bars are met."""
        within = self.at_most is None or self.value <= self.at_most
        return within and (self.at_least is None or self.value >= self.at_least)

    @property
    def shown(self) -> str:
        """For people."""
        return f"{self.value:,.2f} {self.unit}".strip()

    @property
    def bar(self) -> str:
        """For people, too; nothing when there is none."""
        bars = [("at most", self.at_most), ("at least", self.at_least)]
        return ", ".join(f"{which} {bar:,g}" for which, bar in bars if bar is not None)

    def __str__(self) -> str:
        return f"{self.shown}  (bar {self.bar}{'' if self.met else ', MISSED'})" if self.bar else self.shown


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures under one title."""

    title: str
    figures: Sequence[Figure]


class Bar(NamedTuple):
    """The figures with a bar, for people."""

    title: str
    measured: str
    bar: str
    met: bool


@dataclass(slots=True)
class Bench:
    """The results of one part. Shows progress while it runs and the figures when it has them."""

    part: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    machine: str = field(default_factory=this_machine)
    whole: bool = True
    """False when it was stopped because it took too long."""
    took: float = 0.0
    """How many seconds it ran."""
    quick: bool = False
    """Whether it shall only be seen that everything runs: one round of little, and no bars, as it means nothing."""

    def rounds(self, usual: int) -> int:
        """How many rounds to make."""
        return 1 if self.quick else usual

    def compare(
        self,
        title: str,
        turns: Mapping[str, Turn],
        *,
        rounds: int = 30,
        bars: Mapping[str, float] | None = None,
    ) -> None:
        """Let every contender take its turn in every round; `bars` bound ours against the named ones."""
        samples: dict[str, list[float]] = {name: [] for name in turns}
        for number in range(self.rounds(rounds)):
            progress(f"{title}: round {number + 1} of {self.rounds(rounds)}")
            for name, turn in turns.items():
                samples[name].append(turn())
        self.record(title, samples, bars=bars)

    def record(
        self, title: str, samples: Mapping[str, Sequence[float]], *, bars: Mapping[str, float] | None = None
    ) -> None:
        """Take samples that were measured elsewhere, in seconds, the rounds in the same order for all."""
        ratios = [
            Ratio(name, median(ours / theirs for ours, theirs in zip(samples[OURS], taken, strict=True)), bar)
            for name, taken in samples.items()
            if name != OURS
            for bar in [None if self.quick else (bars or {}).get(name)]
        ]
        self.tables.append(Table(title, {name: median(taken) for name, taken in samples.items()}, ratios))
        self._show(self.tables[-1])

    def state(self, title: str, figures: Sequence[Figure]) -> None:
        """Take figures that are not times."""
        if self.quick:
            figures = [Figure(figure.name, figure.value, figure.unit) for figure in figures]
        self.figures.append(Figures(title, figures))
        width = max(len(figure.name) for figure in figures)
        progress("")
        print(f"\n{self.part}: {title}")
        for figure in figures:
            print(f"  {figure.name:<{width}}  {figure}", flush=True)

    @property
    def bars(self) -> Sequence[Bar]:
        """Every bar, in the order in which it was measured."""
        ratios = [
            Bar(f"{table.title}, against {ratio.against}", ratio.shown, ratio.bar, ratio.met)
            for table in self.tables
            for ratio in table.ratios
        ]
        figures = [
            Bar(f"{group.title}: {figure.name}", figure.shown, figure.bar, figure.met)
            for group in self.figures
            for figure in group.figures
        ]
        return [bar for bar in (*ratios, *figures) if bar.bar]

    @property
    def met(self) -> bool:
        """Whether it was measured to its end and every bar is met."""
        return self.whole and all(bar.met for bar in self.bars)

    def write(self) -> Path:
        """Keep the figures for programs to read."""
        OUT.mkdir(exist_ok=True)
        file = OUT / f"{self.part}.json"
        file.write_text(json.dumps({**asdict(self), "met": self.met}, indent=1) + "\n")
        return file

    @classmethod
    def read(cls, file: Path) -> Bench:
        """A part's results, read from its file."""
        kept = json.loads(file.read_text())
        del kept["met"]
        tables = [
            Table(**{**each, "ratios": [Ratio(**one) for one in each["ratios"]]})
            for each in kept.pop("tables")
        ]
        figures = [
            Figures(each["title"], [Figure(**one) for one in each["figures"]]) for each in kept.pop("figures")
        ]
        return cls(**kept, tables=tables, figures=figures)

    def _show(self, table: Table) -> None:
        against = {ratio.against: str(ratio) for ratio in table.ratios}
        width = max(map(len, table.seconds))
        progress("")
        print(f"\n{self.part}: {table.title}")
        for name, seconds in table.seconds.items():
            told = f"handraise takes {against[name]}" if name in against else ""
            print(f"  {name:<{width}}  {readable(seconds):>10}  {told}".rstrip(), flush=True)


def progress(text: str) -> None:
    """Show progress at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def per_piece(work: Callable[..., object], pieces: Iterable[tuple[Any, ...]]) -> float:
    """The seconds that one piece of work takes.

    The first tenth is not timed: the turn before left its own code and data in the caches. Garbage is
    not collected meanwhile, as timeit does it.
    """
    prepared = list(pieces)
    timed = prepared[len(prepared) // 10 :]
    gc.disable()
    try:
        for piece in prepared[: len(prepared) // 10]:
            work(*piece)
        started = perf_counter()
        for piece in timed:
            work(*piece)
        return (perf_counter() - started) / len(timed)
    finally:
        gc.enable()


def turn_of(work: Callable[..., object], new_piece: Callable[[], tuple[Any, ...]]) -> Turn:
    """A turn of some two milliseconds for any piece: longer ones would be interrupted more often."""
    once = per_piece(work, (new_piece() for _ in range(10)))
    pieces = max(3, round(0.002 / once))
    return lambda: per_piece(work, (new_piece() for _ in range(pieces)))


def readable(seconds: float) -> str:
    """A time, for people."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"
