"""Asking: the cost of a question in time and, while it waits, in memory, beside the SDK's own means."""

from __future__ import annotations

import asyncio
import logging

from bench.ask_parked import measure_parked
from bench.ask_speed import TRANSPORTS, measure_speed
from bench.measure import Bench

_ROUNDS = {"memory": 168, "stdio": 84, "http": 70}
"""In memory a turn takes a few milliseconds, so other work on the machine weighs more."""


def run(bench: Bench) -> None:
    """Measure time on every transport, then memory over HTTP."""
    logging.disable(logging.CRITICAL)
    for transport in TRANSPORTS:
        measure_speed(bench, transport, rounds=_ROUNDS[transport], calls=bench.rounds(10))
    parked, waiting = (100, 20) if bench.quick else (5_000, 1_000)
    asyncio.run(measure_parked(bench, count=parked, waiting_legacy=waiting))
