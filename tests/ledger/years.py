"""Events as some servers and people would leave behind, made up with a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

from handraise.ledger import (
    AnswerUse,
    Content,
    EventContext,
    LedgerEvent,
    LinkRecord,
    Principal,
    RequestRecord,
    ServerRecord,
)
from handraise.ledger.events import EventKind

START = int(datetime(2026, 9, 1, 8, tzinfo=UTC).timestamp() * 1000)
DAY = 86_400_000

SERVERS = (
    (ServerRecord("notes", "python"), ("notes_delete", "notes_archive", "notes_clean"), 0.85),
    (ServerRecord("github", "https://mcp.example.com"), ("create_issue", "merge", "delete_branch"), 0.7),
    (ServerRecord("warehouse", "warehouse-server"), ("query", "export"), 0.55),
    (ServerRecord("mailer", "https://mail.example.net"), ("send_all", "send"), 0.3),
)
PEOPLE = (
    Principal("workstation", "ada", "system"),
    Principal("https://login.example.com", "grace@example.com", "token"),
    Principal("https://login.example.com", "edsger@example.com", "token"),
)
REASONS = (
    "the form asks for a password",
    "the server asked more than 10 times in a minute",
    "you blocked this server",
    "the link leads to a look-alike of a known domain",
)


def made_up(count: int, *, days: int = 45, seed: int = 7) -> Iterator[LedgerEvent]:
    """At least `count` events of questions, over some days."""
    chance = random.Random(seed)
    made = 0
    number = 0
    while made < count:
        number += 1
        for event in _question(number, chance, days):
            made += 1
            yield event


def _question(number: int, chance: random.Random, days: int) -> Iterator[LedgerEvent]:
    server, tools, welcome = chance.choices(SERVERS, (5, 4, 3, 2))[0]
    request = RequestRecord("tools/call", chance.choice(tools), f"{number:032x}")
    mode = "url" if chance.random() < 0.15 else "form"
    about = EventContext(server, chance.choice(PEOPLE), request, "url" if mode == "url" else "form")
    asked = START + int(chance.betavariate(2, 1.4) * days) * DAY + int(chance.gauss(0, 3) * 3_600_000)
    message = Content(f"m{number}", "0" * 64)
    link = LinkRecord("ok", "example.com", "auth.example.com") if mode == "url" else None
    names = iter(range(10))

    def event(kind: EventKind, after: int, **more: object) -> LedgerEvent:
        return LedgerEvent(f"{number}-{next(names)}", f"q{number}", kind, asked + after, about, **more)  # type: ignore[arg-type]

    if chance.random() < 0.07:
        reason = chance.choice(REASONS)
        yield event(
            "refused",
            1,
            decided_by="policy",
            reasons=(reason,),
            secret="password" if "password" in reason else None,
        )
        return
    yield event("asked", 0, message=message, link=link)
    if chance.random() < 0.06:
        yield event("expired", 300_000)
        return
    yield event("shown", 150, message=message)
    took = int(chance.lognormvariate(9.3, 1.1))
    roll = chance.random()
    if roll < 0.02:
        yield event("withdrawn", took)
    elif roll < welcome:
        yield event(
            "decided",
            took,
            action="accept",
            decided_by="human",
            latency=took,
            edited=("title",) if chance.random() < 0.3 else (),
        )
        if chance.random() < 0.97:
            yield event(
                "used", took + 40, used=AnswerUse(request, "result" if chance.random() < 0.95 else "error")
            )
    elif roll < welcome + (1 - welcome) * 0.7:
        yield event("decided", took, action="decline", decided_by="human", latency=took)
    else:
        yield event("decided", took, action="cancel", decided_by="human", latency=took)
