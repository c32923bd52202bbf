"""Parked calls and flows as rows: their sealed columns, and what these are bound to. For every store on a disk.

Somebody who can write to the store, without its key, must not get the result of another person's call, finish another
person's link, or use either after its time. So the key, the person, the server and the deadline of a call are the
place of its sealed columns, and a flow carries a proof of all its columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from handraise.conversation.records import Flow, Json
from handraise.conversation.tickets import Ticket
from handraise.errors import StoreError
from handraise.stores.seal import Sealer


class Bound(NamedTuple):
    """The columns of a call that its sealed ones are bound to."""

    key: str
    person: str
    server: str
    deadline: float


BOUND = "key, person, server, deadline"


def dump_ticket(sealer: Sealer, ticket: Ticket) -> tuple[Any, ...]:
    """The values of a row, in the order of the ticket's own."""
    bound = Bound(ticket.key, ticket.person, ticket.server, ticket.deadline)
    return (
        *ticket[:5],
        seal(sealer, bound, "call", ticket.call),
        seal(sealer, bound, "round", ticket.round),
        ticket.sent,
        seal(sealer, bound, "outcome", ticket.outcome),
    )


def load_ticket(sealer: Sealer, row: Sequence[Any]) -> Ticket:
    """The ticket of a row. StoreError when it was changed."""
    key, person, server, holder, deadline, call, round, sent, outcome = row
    if call is None and outcome is None:  # then nothing would show that the row is ours
        raise StoreError("a parked call was changed")
    bound = Bound(key, person, server, deadline)
    return Ticket(
        key,
        person,
        server,
        holder,
        deadline,
        _open(sealer, bound, "call", call),
        _open(sealer, bound, "round", round),
        bool(sent),
        _open(sealer, bound, "outcome", outcome),
    )


def seal(sealer: Sealer, bound: Bound, column: str, value: Json) -> bytes | None:
    """The value of a sealed column."""
    return None if value is None else sealer.seal(json.dumps(value).encode(), _place(bound, column))


def prove_flow(sealer: Sealer, flow: Flow) -> bytes:
    """The column that proves the others: nothing, sealed to them."""
    return sealer.seal(b"", _flow_place(flow))


def load_flow(sealer: Sealer, row: Sequence[Any]) -> Flow:
    """The flow of a row. StoreError when any of its columns was changed."""
    elicitation_id, person, deadline, completed, proof = row
    flow = Flow(elicitation_id, person, deadline, bool(completed))
    sealer.open(proof, _flow_place(flow))
    return flow


def _open(sealer: Sealer, bound: Bound, column: str, sealed: bytes | None) -> Json:
    return None if sealed is None else json.loads(sealer.open(sealed, _place(bound, column)))


def _place(bound: Bound, column: str) -> str:
    return json.dumps(["tickets", *bound[:3], float(bound.deadline), column])


def _flow_place(flow: Flow) -> str:
    return json.dumps(["flows", flow.elicitation_id, flow.person, float(flow.deadline), flow.completed])
