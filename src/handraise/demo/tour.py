"""The tour from the first step to the last."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from handraise.demo.folder import make_notes
from handraise.demo.stage import OpenDesk, Stage
from handraise.demo.steps import STEPS, NotKept
from handraise.demo.telling import Telling
from handraise.ledger import Ledger


async def tour(
    telling: Telling,
    *,
    open_desk: OpenDesk | None = None,
    mode: str = "auto",
    wire: bool = False,
    between: Callable[[], None] = lambda: None,
) -> int:
    """Go through all steps in a temporary folder; how many promises were not kept. `between` waits for the person."""
    broken = 0
    who = "A scripted person answers" if open_desk is None else "You answer"
    telling.opening(f"{who}. Everything happens in a temporary folder of notes, and nothing is left behind.")
    with tempfile.TemporaryDirectory(prefix="handraise-demo-") as place:
        notes, ledger = make_notes(Path(place)), Ledger.at(Path(place) / "ledger.db")
        stage = Stage(notes, ledger, telling, open_desk, mode, wire)
        try:
            for number, step in enumerate(STEPS, 1):
                telling.heading(number, len(STEPS), step.title, step.why)
                try:
                    telling.verdict(True, await step.play(stage))
                except NotKept as problem:
                    broken += 1
                    telling.verdict(False, str(problem))
                if number < len(STEPS):
                    between()
        finally:
            await ledger.aclose()
    return broken
