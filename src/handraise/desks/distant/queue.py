"""The queues of other processes as one queue here, for a desk that runs in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from handraise.desks.distant.carried import Carried, dump_decision, parse_decision, parse_waiting
from handraise.desks.fill import Entries
from handraise.desks.queue import Queue, Verdict
from handraise.desks.waiting import Decision, Waiting
from handraise.errors import HandraiseError
from handraise.questions import Cancelled

LOOK: Final = 0.25
"""Seconds between two looks at the other processes."""
_GONE: Final = Decision(Cancelled(), by="agent", reason="its program ended")

Ask = Callable[[Path, Mapping[str, Any]], Carried | None]
"""Makes a request of another process, and waits for its reply; None when nobody is there."""


class DistantQueue(Queue):
    """Follows what waits in other processes. It decides nothing by itself: the process that asks has the last word."""

    elsewhere: ClassVar[bool] = True

    def __init__(self, doors: Callable[[], Iterable[Path]], ask: Ask) -> None:
        super().__init__()
        self._doors = doors
        self._ask = ask
        self._homes: dict[str, Path] = {}
        self._putting: set[asyncio.Task[Decision]] = set()

    async def follow(self, patience: float | None = None) -> None:
        """Keep up with the others until nothing waited for so many seconds; without a patience, until cancelled."""
        last = time.monotonic()
        while patience is None or time.monotonic() - last < patience:
            self._take(await asyncio.to_thread(self._look, list(self._homes)))
            if self.waiting():
                last = time.monotonic()
            await asyncio.sleep(LOOK)

    def show(self, question_id: str) -> None:
        """It is shown here: the process that asks starts its disarmed moment, and writes it down."""
        super().show(question_id)
        self._tell(question_id, {"do": "show"})

    def keep_draft(self, question_id: str, entries: Entries) -> None:
        """Kept there, so that another desk or a later one goes on with it."""
        super().keep_draft(question_id, entries)
        self._tell(question_id, {"do": "draft", "entries": entries})

    def decide(self, question_id: str, decision: Decision) -> Verdict:
        """Have it decided there. It is waited for, so that this desk tells only what is so."""
        place = self._places.get(question_id)
        carried = dump_decision(decision, with_content=True)
        reply = self._tell(question_id, {"do": "decide", "decision": carried})
        verdict: Verdict = "too late" if reply is None else reply["verdict"]
        if place is not None and verdict in ("taken", "too late"):
            ended = decision if verdict == "taken" else _ending(reply and reply["ended"])
            self._leave(place, ended)
        return verdict

    def _tell(self, question_id: str, request: dict[str, Any]) -> Carried | None:
        home = self._homes.get(question_id)
        return None if home is None else self._ask(home, {**request, "id": question_id})

    def _look(self, known: list[str]) -> dict[Path, Carried]:
        found = {door: self._ask(door, {"do": "read", "known": known}) for door in self._doors()}
        return {door: reply for door, reply in found.items() if reply is not None and "waiting" in reply}

    def _take(self, found: Mapping[Path, Carried]) -> None:
        """Take over what waits now, and let go what ended there."""
        waiting = {told["id"]: (door, told) for door, reply in found.items() for told in reply["waiting"]}
        for question_id in [each for each in self._homes if each not in waiting]:
            self._end(question_id, found.get(self._homes.pop(question_id)))
        for question_id, (door, told) in waiting.items():
            if question_id not in self._homes:
                self._begin(question_id, door, told)

    def _begin(self, question_id: str, door: Path, told: Carried) -> None:
        self._homes[question_id] = door
        # What is told in another version's way is left out.
        with contextlib.suppress(KeyError, TypeError, ValueError, HandraiseError):
            waiting: Waiting = parse_waiting(told)
            task = asyncio.ensure_future(self.put(waiting))
            self._putting.add(task)
            task.add_done_callback(self._putting.discard)
            asyncio.get_running_loop().call_soon(super().keep_draft, question_id, told["draft"])

    def _end(self, question_id: str, reply: Carried | None) -> None:
        place = self._places.get(question_id)
        if place is not None:
            self._leave(place, _ending(reply and reply["ended"].get(question_id)))


def _ending(told: Carried | None) -> Decision:
    try:
        return _GONE if told is None else parse_decision(told)
    except (KeyError, TypeError, ValueError):
        return _GONE
