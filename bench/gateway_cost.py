"""The cost of a call through the gateway: the table on the page about its messages, from the measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bench.ask_http import ROOT
from bench.measure import Bench
from docs.make.markdown import table

PAGE: Final = ROOT / "docs" / "gateway-messages.md"
BLOCK: Final = re.compile(r"(<!-- cost: .*? -->\n)(.*?)(<!-- end of cost -->\n)", re.DOTALL)


def write_gateway_cost(measured: Mapping[str, Bench]) -> None:
    """Bring the page up to date, unless the gateway was not measured to its end."""
    if "gateway" in measured and measured["gateway"].whole:
        text = gateway_cost(measured["gateway"])
        PAGE.write_text(BLOCK.sub(lambda block: block[1] + text + block[3], PAGE.read_text()))


def gateway_cost(bench: Bench) -> str:
    """How many times as long each kind of call takes, on the revision where the gateway costs most."""
    worst: dict[str, float] = {}
    for each in bench.tables:
        call = re.sub(r", \d{4}-\d\d-\d\d$", "", each.title)
        for ratio in each.ratios:
            if ratio.against == "direct":
                worst[call] = max(ratio.ratio, worst.get(call, 0.0))
    return table(
        ("call", "times as long as the direct call"), ((call, f"{worst[call]:.2f}") for call in worst)
    )
