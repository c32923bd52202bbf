"""Asking: what a question costs in time and, while it waits, in memory; beside the SDK's own means.

`python -m bench.ask --quick` takes a short look.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from bench.ask_parked import measure_parked
from bench.ask_speed import TRANSPORTS, measure_speed
from bench.measure import Bench

_ROUNDS = {"memory": 90, "stdio": 30, "http": 30}
"""In memory a turn takes a few milliseconds, and whatever else the machine does weighs more."""


def run(bench: Bench, *, quick: bool = False) -> None:
    """Measure time on every transport, then memory over HTTP."""
    logging.disable(logging.CRITICAL)
    for transport in TRANSPORTS:
        rounds = 10 if quick else _ROUNDS[transport]
        asyncio.run(measure_speed(bench, transport, rounds=rounds, calls=10))
    parked, waiting = (500, 100) if quick else (5_000, 1_000)
    asyncio.run(measure_parked(bench, count=parked, waiting_legacy=waiting))


if __name__ == "__main__":
    quick_bench = Bench("ask")
    run(quick_bench, quick="--quick" in sys.argv)
    quick_bench.write()
