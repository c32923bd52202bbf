"""`python -m bench.page`: write docs/benchmarks.md and its plots from what the parts wrote to bench/out/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from bench.ask_http import ROOT
from bench.gateway_cost import write_gateway_cost
from bench.measure import OURS, OUT, Bench, Figures, Ratio, Table, readable
from bench.parts import PARTS, Part
from bench.ratio_chart import ratio_chart
from bench.sizing import write_sizing
from docs.make.markdown import table

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PICTURES: Final = ROOT / "docs" / "pictures"
SLOWER: Final = 1.1
"""From which ratio on we say that we are slower."""
NOTICE: Final = "<!-- Made by `make bench` from what it measured; edits here are lost. -->\n"
INTRODUCTION: Final = """
Find out how much time and memory Handraise costs, compared with the same job without it.

A ratio of 0.50 means that Handraise takes half as long as the other program. A ratio of 1/12.5 means that it takes a
12.5th of the time. Compare ratios, because times depend on the machine. A *bar* is a limit that we set ourselves.
"""
HOW: Final = """## How we measure

<!-- snippet: run by test_a_part_runs_to_its_end -->
```console
$ make bench
$ python -m bench forms urls
```

The first command runs every part and writes this page, in at most {minutes:g} minutes. The second command runs only
the parts that it names. Do not use the machine meanwhile. Each part writes its figures to `bench/out/PART.json`.

| exit status | meaning |
|---|---|
| 0 | every bar is met |
| 1 | a bar is missed; the run names it |
| 3 | a part took too long and was stopped |

`make bench QUICK=1` only shows that every part runs to its end. Its figures mean nothing and are not kept.

- Handraise and the other programs run in turns, in many rounds. In one round both meet the machine in the same state. A
  ratio is the median of the ratios of all rounds.
- The cost of asking is the processor time of client and server together, on one processor. With two processors, a
  virtual machine spends up to a third of a call on waking up the second one.
- Two processes of the same server differ by up to a tenth. So each program has several processes that take turns: 24 in
  memory, 12 over stdio, 7 over HTTP.
- If others use the machine too, a ratio of asking differs by a few hundredths from run to run, over stdio by up to a
  tenth. If a run just meets a bar, the next run may miss it.
"""


def write_page() -> None:
    """Write the page, and a plot beside it for each part that has ratios."""
    measured = [Bench.read(OUT / f"{name}.json") for name in PARTS if (OUT / f"{name}.json").exists()]
    for bench in measured:
        if any(each.ratios for each in bench.tables):
            chart = ratio_chart(PARTS[bench.part].title, bench.tables)
            (PICTURES / f"bench-{bench.part}.svg").write_text(chart)
    if (OUT / "scale.svg").exists():
        (PICTURES / "bench-scale-sizes.svg").write_text((OUT / "scale.svg").read_text())
    PAGE.write_text(page(measured))
    by_part = {bench.part: bench for bench in measured}
    write_sizing(by_part)
    write_gateway_cost(by_part)


def page(measured: Sequence[Bench]) -> str:
    """The text of the page."""
    known = {bench.part for bench in measured}
    parts = [
        (f"{part.title}{'' if name in known else ' (not measured)'}", part.measures, part.against)
        for name, part in PARTS.items()
    ]
    head = ("part", "what is measured", "against")
    return "\n".join(
        [
            f"# Benchmarks\n\n{NOTICE}{INTRODUCTION}",
            *(f"Measured on: {machine}.\n" for machine in sorted({bench.machine for bench in measured})),
            _verdict(measured),
            _slower(measured),
            HOW.format(minutes=sum(part.minutes for part in PARTS.values())),
            table(head, parts),
            *(_section(PARTS[bench.part], bench) for bench in measured),
        ]
    )


def _verdict(measured: Sequence[Bench]) -> str:
    """How many bars are met, and which ones are not."""
    bars = [(PARTS[bench.part].title, bar) for bench in measured for bar in bench.bars]
    missed = [(part, bar.title, bar.measured, bar.bar) for part, bar in bars if not bar.met]
    told = [f"{len(bars) - len(missed)} of {len(bars)} bars are met."]
    stopped = [PARTS[bench.part].title for bench in measured if not bench.whole]
    if stopped:
        told.append(f"Stopped before their end, because they took too long: {', '.join(stopped)}.")
    text = f"## Bars\n\n{' '.join(told)}\n"
    return f"{text}\n{table(('part', 'missed bar', 'measured', 'at most'), missed)}" if missed else text


def _slower(measured: Sequence[Bench]) -> str:
    """Where ours takes longer than the other, bar or not: for each other the case in which it is worst."""
    worst: dict[tuple[str, str], tuple[str, Ratio]] = {}
    for bench in measured:
        for each in bench.tables:
            for ratio in each.ratios:
                found = worst.get((bench.part, ratio.against))
                if ratio.ratio >= SLOWER and (found is None or found[1].ratio < ratio.ratio):
                    worst[bench.part, ratio.against] = each.title, ratio
    rows = [
        (PARTS[part].title, against, ratio.shown, title) for (part, against), (title, ratio) in worst.items()
    ]
    reasons = [
        f"- {PARTS[part].title}: {PARTS[part].slower}\n"
        for part in dict.fromkeys(part for part, _ in worst)
        if PARTS[part].slower
    ]
    head = ("part", "against", "worst ratio", "in which case")
    return f"## Where Handraise takes longer\n\n{table(head, rows)}\n{''.join(reasons)}"


def _section(part: Part, bench: Bench) -> str:
    """All that a part measured."""
    texts = [f"## {part.title}\n"]
    if any(each.ratios for each in bench.tables):
        texts.append(f"![Ratios of this part](pictures/bench-{bench.part}.svg)\n")
    if bench.tables:
        head = ("what", OURS, "against", "takes", "ratio", "bar", "met")
        texts.append(table(head, [row for each in bench.tables for row in _rows(each)]))
    if bench.part == "scale":
        texts.append("![What grows with the number of questions](pictures/bench-scale-sizes.svg)\n")
    for _, alike in groupby(bench.figures, key=lambda group: [figure.name for figure in group.figures]):
        texts.append(_figures(list(alike)))
    return "\n".join(texts)


def _rows(each: Table) -> Iterator[Sequence[str]]:
    ours = readable(each.seconds[OURS])
    if not each.ratios:
        yield each.title, ours, "", "", "", "", ""
    for ratio in each.ratios:
        theirs = readable(each.seconds[ratio.against])
        yield each.title, ours, ratio.against, theirs, ratio.shown, ratio.bar, _met(ratio)


def _figures(alike: Sequence[Figures]) -> str:
    """Groups of the same figures side by side; a single one with its bars."""
    first = alike[0]
    if len(alike) > 1:
        head = ("", *(group.title for group in alike))
        by_name = zip(*(group.figures for group in alike), strict=True)
        return table(
            head, [(row[0].name, *(f"{one.shown}{_missed(one.met)}" for one in row)) for row in by_name]
        )
    rows = [
        (one.name, one.shown, one.bar, ("yes" if one.met else "no") if one.bar else "")
        for one in first.figures
    ]
    return table((first.title, "", "bar", "met"), rows)


def _met(ratio: Ratio) -> str:
    return ("yes" if ratio.met else "no") if ratio.bar else ""


def _missed(met: bool) -> str:
    return "" if met else " (missed)"


if __name__ == "__main__":
    write_page()
