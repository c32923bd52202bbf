"""Parked calls as rows: what of them is sealed, and to which place. Shared by every store that writes to a disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from handraise.conversation.records import Json
from handraise.conversation.tickets import Ticket
from handraise.stores.seal import Sealer


def dump_ticket(sealer: Sealer, ticket: Ticket) -> tuple[Any, ...]:
    """The values of a row, in the order of the ticket's own."""
    return (
        *ticket[:5],
        seal(sealer, ticket.key, "call", ticket.call),
        seal(sealer, ticket.key, "round", ticket.round),
        ticket.sent,
        seal(sealer, ticket.key, "outcome", ticket.outcome),
    )


def load_ticket(sealer: Sealer, row: Sequence[Any]) -> Ticket:
    """The ticket of a row."""
    key, person, server, holder, deadline, call, round, sent, outcome = row
    return Ticket(
        key,
        person,
        server,
        holder,
        deadline,
        _open(sealer, key, "call", call),
        _open(sealer, key, "round", round),
        bool(sent),
        _open(sealer, key, "outcome", outcome),
    )


def seal(sealer: Sealer, key: str, column: str, value: Json) -> bytes | None:
    """The value of a sealed column."""
    if value is None:
        return None
    return sealer.seal(json.dumps(value).encode(), f"tickets/{key}/{column}")


def _open(sealer: Sealer, key: str, column: str, sealed: bytes | None) -> Json:
    return None if sealed is None else json.loads(sealer.open(sealed, f"tickets/{key}/{column}"))
