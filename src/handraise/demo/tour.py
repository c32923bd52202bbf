"""The tour from the first step to the last."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from handraise.demo.folder import make_notes
from handraise.demo.stage import OpenDesk, Stage
from handraise.demo.steps import STEPS, NotKept, Step
from handraise.demo.telling import Telling
from handraise.desks import Queue
from handraise.ledger import Ledger


async def tour(
    telling: Telling,
    *,
    queue: Queue | None = None,
    open_desk: OpenDesk | None = None,
    mode: str = "auto",
    wire: bool = False,
    between: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Go through all steps in a temporary folder; how many promises were not kept. `between` waits for the person."""
    broken = 0
    who = "A scripted person answers" if open_desk is None else "You answer"
    telling.opening(f"{who}. Everything happens in a temporary folder of notes, and nothing is left behind.")
    with tempfile.TemporaryDirectory(prefix="handraise-demo-") as place:
        notes, ledger = make_notes(Path(place)), Ledger.at(Path(place) / "ledger.db")
        try:
            async with Stage(
                notes, ledger, telling, queue=queue, open_desk=open_desk, mode=mode, wire=wire
            ) as stage:
                for number, step in enumerate(STEPS, 1):
                    telling.heading(number, len(STEPS), step.title, step.why)
                    broken += not await _kept(step, stage)
                    if between is not None and number < len(STEPS):
                        await between()  # desks go on working meanwhile
        finally:
            await ledger.aclose()
    return broken


async def _kept(step: Step, stage: Stage) -> bool:
    try:
        stage.telling.verdict(True, await step.play(stage))
    except NotKept as problem:
        stage.telling.verdict(False, str(problem))
        return False
    return True
