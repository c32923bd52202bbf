"""Where figures come from: the machine, its system and its Python, in one line; and one processor of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def this_machine() -> str:
    """The line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return (
        f"{_processor()}, {cores} core{'s' if cores > 1 else ''}, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Keep this process, and those it starts, on one processor: the last, as the first serves devices."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
