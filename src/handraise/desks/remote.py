"""Questions of other processes: how they travel as JSON, who answers for a queue, and one queue for all of them.

The process that asks has the last word. The caller has checked who sent the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

from handraise.access import AccessCheck
from handraise.desks.fill import Entries
from handraise.desks.queue import Queue, Verdict
from handraise.desks.waiting import Cause, Decision, Waiting, desk_answer
from handraise.errors import HandraiseError
from handraise.forms import UNLIMITED
from handraise.questions import Accepted, Cancelled, FormQuestion, Origin, Person
from handraise.revisions import Revision
from handraise.secrets import SecretFinding
from handraise.urls import Inspection
from handraise.wire import dump_question, parse_question

Carried: TypeAlias = dict[str, Any]

_PLAIN = ("id", "asked_at", "deadline", "group", "browsing", "asked_again", "ours", "guard", "passkey")


def dump_waiting(waiting: Waiting) -> Carried:
    """A question with all that a desk shows of it."""
    revision = _revision(isinstance(waiting.question, FormQuestion))
    return {
        **{name: getattr(waiting, name) for name in _PLAIN},
        "question": dump_question(waiting.question, revision),
        "origin": asdict(waiting.origin),
        "person": asdict(waiting.person),
        "cause": None if waiting.cause is None else _dump_cause(waiting.cause),
        "secrets": [asdict(each) for each in waiting.secrets],
        "link": None if waiting.link is None else asdict(waiting.link),
        "warnings": list(waiting.warnings),
    }


def _dump_cause(cause: Cause) -> Carried:
    calls = [[name, dict(arguments)] for name, arguments in cause.calls]
    return {"calls": calls, "certain": cause.certain, "method": cause.method, "call_id": cause.call_id}


def parse_waiting(carried: Carried) -> Waiting:
    """The same question here: its own process has checked its size by the limits that hold there.

    Raises what a value of the wrong shape raises: TypeError, KeyError, ValueError.
    """
    question, link, cause = carried["question"], carried["link"], carried["cause"]
    return Waiting(
        question=parse_question(question, _revision("url" not in question), UNLIMITED),
        origin=Origin(**carried["origin"]),
        person=Person(**carried["person"]),
        cause=None if cause is None else Cause(**{**cause, "calls": tuple(map(tuple, cause["calls"]))}),
        secrets=tuple(
            SecretFinding(**{**each, "words": tuple(each["words"])}) for each in carried["secrets"]
        ),
        link=None if link is None else Inspection(**{**link, "reasons": tuple(link["reasons"])}),
        warnings=tuple(carried["warnings"]),
        **{name: carried[name] for name in _PLAIN},
    )


def _revision(form: bool) -> Revision:
    """The one whose questions say the most."""
    return Revision.NOVEMBER_2025 if form else Revision.JULY_2026


def dump_decision(decision: Decision, *, with_content: bool) -> Carried:
    """A decision; what was answered only on the way to who asks."""
    answer = decision.answer
    content = answer.data if with_content and isinstance(answer, Accepted) else None
    return {
        "action": answer.action,
        "content": content,
        "by": decision.by,
        "desk": decision.desk,
        "reason": decision.reason,
        "block": decision.block,
        "edited": list(decision.edited),
        "unattended": decision.unattended,
    }


def parse_decision(carried: Carried) -> Decision:
    """The same decision here. Raises ValueError or KeyError when it is none."""
    given = carried["content"]
    if given is not None and not isinstance(given, dict):
        raise ValueError("content is an object")
    if carried["block"] not in (None, "session", "always"):
        raise ValueError("block is for the session or for always")
    return Decision(
        desk_answer(carried["action"], given),
        by=carried["by"],
        desk=str(carried["desk"]),
        reason=str(carried["reason"]),
        block=carried["block"],
        edited=tuple(map(str, carried["edited"])),
        unattended=bool(carried["unattended"]),
    )


MOST: Final = 100
"""Questions told of at once."""


def reply_to(queue: Queue, request: object) -> Carried | None:
    """The reply to a request; None when it is none of these, or of the wrong shape. Then nothing was changed."""
    match request:
        case {"do": "read", "known": list(known)}:
            ended = ((each, queue.outcome(each)) for each in known if isinstance(each, str))
            return {
                "waiting": [_told(queue, each.id) for each in queue.waiting()[:MOST]],
                "ended": {id: dump_decision(end[1], with_content=False) for id, end in ended if end},
            }
        case {"do": "show", "id": str(id)}:
            queue.show(id)
            return {}
        case {"do": "draft", "id": str(id), "entries": dict(entries)} if _are_entries(entries):
            queue.keep_draft(id, entries)
            return {}
        case {"do": "decide", "id": str(id), "decision": dict(given)}:
            return _decide(queue, id, given)
        case _:
            return None


def _told(queue: Queue, id: str) -> Carried:
    waiting = queue.find(id)
    assert waiting is not None
    return {**dump_waiting(waiting), "draft": queue.draft(id)}


def _decide(queue: Queue, id: str, given: Carried) -> Carried | None:
    try:
        decision = replace(parse_decision(given), by="human", unattended=False)
    except (KeyError, TypeError, ValueError):
        return None
    verdict = queue.decide(id, decision)
    ended = queue.outcome(id)
    return {"verdict": verdict, "ended": ended and dump_decision(ended[1], with_content=False)}


def _are_entries(entries: dict[Any, Any]) -> bool:
    return all(isinstance(value, str | list) for value in entries.values())


LOOK: Final = 0.25
"""Seconds between two looks at the other processes."""
_GONE: Final = Decision(Cancelled(), by="agent", reason="its program ended")

Ask = Callable[[Path, Mapping[str, Any]], Carried | None]
"""Makes a request of another process, and waits for its reply; None when nobody is there."""


class RemoteQueue(Queue):
    """Follows what waits in other processes. It decides nothing by itself: the process that asks has the last word."""

    elsewhere: ClassVar[bool] = True

    def __init__(
        self, sockets: Callable[[], Iterable[Path]], ask: Ask, access: AccessCheck | None = None
    ) -> None:
        """`access` gets to know the clients of those who ask, before their questions are shown here."""
        super().__init__()
        self._access = access
        self._sockets = sockets
        self._ask = ask
        self._socket_of: dict[str, Path] = {}
        self._putting: set[asyncio.Task[Decision]] = set()

    async def follow(self, patience: float | None = None) -> None:
        """Keep up with the others until nothing waited for so many seconds; without a patience, until cancelled."""
        last = time.monotonic()
        while patience is None or time.monotonic() - last < patience:
            self._take(await asyncio.to_thread(self._look, list(self._socket_of)))
            if self.waiting():
                last = time.monotonic()
            await asyncio.sleep(LOOK)

    def show(self, question_id: str) -> None:
        """It is shown here: the process that asks starts its disarmed moment, and writes it down."""
        super().show(question_id)
        self._tell(question_id, {"do": "show"})

    def own_desk(self, question_id: str) -> Path | None:
        """The file with which the process that asks lets a browser in for this question."""
        file = (self._tell(question_id, {"do": "sign in"}) or {}).get("file")
        return Path(file) if isinstance(file, str) else None

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
            ended = _ending(reply and reply["ended"])
            taken = replace(decision, unattended=ended.unattended)
            self._leave(place, taken if verdict == "taken" else ended)
        return verdict

    def _tell(self, question_id: str, request: dict[str, Any]) -> Carried | None:
        socket = self._socket_of.get(question_id)
        return None if socket is None else self._ask(socket, {**request, "id": question_id})

    def _look(self, known: list[str]) -> dict[Path, Carried]:
        found = {socket: self._ask(socket, {"do": "read", "known": known}) for socket in self._sockets()}
        return {socket: reply for socket, reply in found.items() if reply is not None and "waiting" in reply}

    def _take(self, found: Mapping[Path, Carried]) -> None:
        """Take over what waits now, and let go what ended there."""
        if self._access is not None:
            self._access.add_families([reply.get("clients") for reply in found.values()])
        waiting = {told["id"]: (socket, told) for socket, reply in found.items() for told in reply["waiting"]}
        for question_id in [each for each in self._socket_of if each not in waiting]:
            self._end(question_id, found.get(self._socket_of.pop(question_id)))
        for question_id, (socket, told) in waiting.items():
            if question_id not in self._socket_of:
                self._begin(question_id, socket, told)

    def _begin(self, question_id: str, socket: Path, told: Carried) -> None:
        self._socket_of[question_id] = socket
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
