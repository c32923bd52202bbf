"""The needs of a deployment, from the measurements: the table on the page about several nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil, floor, log10
from typing import Final

from bench.ask_http import ROOT
from bench.measure import Bench, Figure
from docs.make.markdown import table

PAGE: Final = ROOT / "docs" / "deployment.md"
BLOCK: Final = re.compile(r"(<!-- sizing: .*? -->\n)(.*?)(<!-- end of sizing -->\n)", re.DOTALL)

MCP_SERVER, FASTMCP = "MCPServer, resident", "FastMCP, resident"
OVER_HTTP = "answered while they wait"
QUESTION_ON_DISK, EVENT_ON_DISK = "disk of a pending question", "an event of 400 bytes on disk"
PROCESSOR = "processor time of the node for an answer"
ROWS: Final = (
    ("memory of a waiting question, on the node that runs its tool, with `MCPServer`", "ask", MCP_SERVER),
    ("the same with FastMCP", "ask", FASTMCP),
    ("time of an answer over HTTP, on a core of its own, with the store in memory", "ask", OVER_HTTP),
    ("processor time of the node that PostgreSQL adds to it", "scale", PROCESSOR),
    ("disk of a waiting question, in the database", "scale", QUESTION_ON_DISK),
    ("disk of a ledger event (a question has a few, and they stay)", "scale", EVENT_ON_DISK),
)
"""The need, the part that measures it, and its name there."""


def write_sizing(measured: Mapping[str, Bench]) -> None:
    """Bring the page up to date, unless a part that it needs was not measured to its end."""
    if all(part in measured and measured[part].whole for part in ("ask", "scale")):
        PAGE.write_text(BLOCK.sub(lambda block: block[1] + sizing(measured) + block[3], PAGE.read_text()))


def sizing(measured: Mapping[str, Bench]) -> str:
    """The table, and what it comes to for many questions."""
    found = [(what, _worst(measured[part], name)) for what, part, name in ROWS]
    rows = [(what, figure.shown, f"{_with_reserve(figure.value):,g} {figure.unit}") for what, figure in found]
    memory, disk = _worst(measured["ask"], MCP_SERVER), _worst(measured["scale"], QUESTION_ON_DISK)
    node, database = 50_000 * memory.value / 1024, 100_000 * disk.value / 2**20
    return (
        f"{table(('', 'measured', 'plan for'), rows)}\n"
        f"For 100,000 waiting questions on two nodes, plan {_with_reserve(node):,g} MiB of memory on each node with "
        f"`MCPServer`,\nand {_with_reserve(database):,g} MiB of disk in the database.\n"
    )


def _worst(bench: Bench, name: str) -> Figure:
    figures = [figure for group in bench.figures for figure in group.figures if figure.name == name]
    return max(figures, key=lambda figure: figure.value)


def _with_reserve(value: float) -> float:
    """A tenth more, rounded up to two digits."""
    more = 1.1 * value
    step: float = 10.0 ** (floor(log10(more)) - 1)
    return round(ceil(more / step) * step, 9)
