"""The process that has the queue: what a desk in another process asks of it.

Whoever lets a request in has made sure who it is from: with these a person's questions are read and decided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from handraise.desks.distant.carried import Carried, dump_decision, dump_waiting, parse_decision
from handraise.desks.queue import Queue

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
        decision = replace(parse_decision(given), by="human")
    except (KeyError, TypeError, ValueError):
        return None
    verdict = queue.decide(id, decision)
    ended = queue.outcome(id)
    return {"verdict": verdict, "ended": ended and dump_decision(ended[1], with_content=False)}


def _are_entries(entries: dict[Any, Any]) -> bool:
    return all(isinstance(value, str | list) for value in entries.values())
