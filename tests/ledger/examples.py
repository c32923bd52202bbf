"""Events as a server and a desk would record them, and a way to make any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from handraise.ledger import Ledger
from handraise.ledger.events import (
    AnswerUse,
    ClientRecord,
    Content,
    EventContext,
    EventKind,
    FieldRecord,
    LedgerEvent,
    LinkRecord,
    Principal,
    RequestRecord,
    ServerRecord,
)
from handraise.ledger.trail import ShownQuestion, Trail

ADA = Principal("https://login.example", "ada", "token")
NOTES = ServerRecord("notes", "https://notes.example", "Notes, the original")
DELETE = RequestRecord("tools/call", "delete_note", "d" * 32)
ABOUT = EventContext(
    NOTES,
    principal=ADA,
    request=DELETE,
    mode="form",
    client=ClientRecord("desk", "1.2"),
    revision="2026-07-28",
    policy="p1",
    trace="4bf92f3577b34da6a3ce929d0e0e4736",
)
MESSAGE = Content("c_1", "a" * 64)
NOW = 1_700_000_000_000

SAYS: dict[EventKind, dict[str, Any]] = {
    "asked": {"message": MESSAGE, "fields": (FieldRecord("which", "choice"),), "schema": "s" * 32},
    "shown": {"message": MESSAGE, "latency": 12},
    "decided": {
        "action": "accept",
        "decided_by": "human",
        "answer": Content("c_2", "b" * 64),
        "edited": ("which",),
        "latency": 4200,
    },
    "opened": {"link": LinkRecord("warn", "example.com", "login.example.com", ("local_network",))},
    "completed": {},
    "used": {"used": AnswerUse(DELETE, "result")},
    "refused": {"message": MESSAGE, "decided_by": "policy", "reasons": ("You blocked this server.",)},
    "expired": {"decided_by": "timeout", "latency": 300_000},
    "withdrawn": {"reasons": ("the call was cancelled",)},
    "failed": {"reasons": ("the client answered with the error -32000",)},
    "ambiguous": {"reasons": ("the process ended while the question was open",)},
}


def an_event(
    kind: EventKind = "asked", number: int = 1, *, about: EventContext = ABOUT, **more: Any
) -> LedgerEvent:
    """An event of this kind."""
    said = {**SAYS[kind], **more}
    return LedgerEvent(
        f"e_{number}", said.pop("question", "q_1"), kind, said.pop("time", NOW + number), about, **said
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)

EVENTS: st.SearchStrategy[LedgerEvent] = st.builds(
    LedgerEvent,
    id=TEXTS,
    question=TEXTS,
    kind=st.just("asked"),
    time=NUMBERS,
    about=st.builds(
        EventContext,
        server=st.builds(ServerRecord, TEXTS, st.none() | TEXTS, st.none() | TEXTS),
        principal=st.none() | st.builds(Principal, TEXTS, TEXTS, st.sampled_from(["token", "system"])),
        request=st.none() | st.builds(RequestRecord, TEXTS, st.none() | TEXTS, st.none() | TEXTS),
        mode=st.sampled_from([None, "form", "url"]),
        client=st.none() | st.builds(ClientRecord, TEXTS, st.none() | TEXTS),
        revision=st.sampled_from([None, "2026-07-28"]),
        gateway=st.none() | TEXTS,
        policy=st.none() | TEXTS,
        trace=st.none() | TEXTS,
    ),
    message=st.builds(Content, TEXTS, TEXTS),
    fields=st.lists(st.builds(FieldRecord, TEXTS, TEXTS, st.none() | TEXTS), max_size=3).map(tuple),
    link=st.none()
    | st.builds(
        LinkRecord, st.sampled_from(["ok", "danger"]), st.none() | TEXTS, st.none() | TEXTS, st.tuples(TEXTS)
    ),
    edited=st.lists(TEXTS, max_size=3).map(tuple),
    latency=st.none() | NUMBERS,
    reasons=st.lists(TEXTS, max_size=2).map(tuple),
)


def a_trail(
    ledger: Ledger, number: int = 1, *, about: EventContext = ABOUT, message: str = "Which note?"
) -> Trail:
    """The trail of a question."""
    return ledger.trail(
        f"q_{number}", about, ShownQuestion(message, (FieldRecord("which", "choice"),), "s" * 32)
    )


async def fill(ledger: Ledger, questions: int = 5, *, about: EventContext = ABOUT) -> None:
    """Questions that were asked and answered: two events each."""
    for number in range(questions):
        trail = a_trail(ledger, number, about=about)
        await ledger.record(trail.asked())
        await ledger.record(trail.decided("accept", "human", content={"which": f"note {number}"}))
