"""`python -m bench [--quick] [PART…]`: run the benchmarks, all of them or the named ones.

A part is a module here with a function `run(bench)`; the figures go to bench/out/PART.json. When all of them ran, the
page about them is written. Quick, nothing is kept: it only shows that every part runs to its end.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter
from types import FrameType
from typing import Final

from bench.ask_http import ROOT
from bench.measure import Bench
from bench.page import PAGE, write_page
from bench.parts import PARTS

_ENDS: Final = """\
status: 0 when every bar is met, 1 when one is missed, 2 when there is no such part, 3 when a part was stopped.
Leave the machine alone meanwhile, and compare ratios: times depend on the machine."""


def main(words: Sequence[str]) -> int:
    """Run the wanted parts; 1 when a bar was missed, 2 when there is no such part, 3 when a part was stopped."""
    asked = _read(words)
    quick, wanted = asked.quick, asked.parts
    if unknown := [name for name in wanted if name not in PARTS]:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    names = wanted or list(PARTS)
    print(f"{', '.join(names)}: at most {sum(PARTS[name].minutes for name in names):g} minutes", flush=True)
    measured = []
    for at, name in enumerate(names, 1):
        print(f"\n{name}, part {at} of {len(names)}: at most {PARTS[name].minutes:g} minutes", flush=True)
        measured.append(_measured(Bench(name, quick=quick)))
    if quick:
        print("\nnothing is written: figures of a single round mean nothing")
    elif not wanted:
        write_page()
        print(f"\nwritten to {PAGE.relative_to(ROOT)}")
    return _told(measured)


def _read(words: Sequence[str]) -> argparse.Namespace:
    """The parsed options. Its help says what each part measures and how long that may take."""
    listed = "\n".join(
        f"  {name:8} {part.measures}; {part.minutes:g} minutes at most" for name, part in PARTS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure Handraise side by side with what one would use otherwise.",
        epilog=f"parts:\n{listed}\n\n{_ENDS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="what to measure; without any, all, and docs/benchmarks.md is written",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only show that it runs to its end: one round, nothing is kept"
    )
    return parser.parse_args(words)


def _told(measured: Sequence[Bench]) -> int:
    """Say how it went; the status."""
    bars = [(bench.part, bar) for bench in measured for bar in bench.bars]
    missed = [f"  {part}: {bar.title}: {bar.measured} (bar {bar.bar})" for part, bar in bars if not bar.met]
    stopped = [bench.part for bench in measured if not bench.whole]
    if bars:
        print(f"\n{len(bars) - len(missed)} of {len(bars)} bars are met{'; missed:' if missed else '.'}")
        print("\n".join(missed), end="\n" if missed else "")
    if stopped:
        print(f"stopped before their end: {', '.join(stopped)}")
    return 3 if stopped else 1 if missed else 0


def _measured(bench: Bench) -> Bench:
    name, began = bench.part, perf_counter()
    try:
        with _at_most(60 * PARTS[name].minutes):
            import_module(f"bench.{name}").run(bench)
    except TimeoutError:
        bench.whole = False
        print(f"\n{name} was stopped: it took too long", file=sys.stderr)
    bench.took = perf_counter() - began
    kept = "over" if bench.quick else f"written to bench/out/{bench.write().name}"
    print(f"\n{kept}, after {bench.took:.0f} seconds", flush=True)
    return bench


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the running part; it ends its own processes."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
