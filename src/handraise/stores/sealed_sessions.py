"""Legacy sessions as rows: their sealed columns, and what these are bound to. For every store on a disk.

An address is sealed together with its end, so that somebody who can write to the store cannot have requests, with the
tokens they carry, sent to an address of their own, or to one that a node had long ago. Of a session's id, which lets
its bearer in, a digest is kept. A session that is moved to another node, or prolonged, leads to a node of ours that
does not know it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from handraise.conversation.sessions import Letter, Residence
from handraise.errors import StoreError
from handraise.stores.seal import Sealer


def name_of(session: str) -> str:
    """What a session is called in the table."""
    return hashlib.sha256(session.encode()).hexdigest()


def dump_address(sealer: Sealer, node: str, address: str | None, until: float) -> bytes:
    """The sealed column of a node's row."""
    return sealer.seal(json.dumps(address).encode(), _place("hosts", node, until))


def load_residence(sealer: Sealer, row: Sequence[Any]) -> Residence:
    """Where a session is, from its node, the sealed address and the end of that."""
    node, sealed, until = row
    return Residence(node, json.loads(sealer.open(sealed, _place("hosts", node, until))))


def dump_letter(sealer: Sealer, letter: Letter) -> tuple[Any, ...]:
    """The values of a row, in the order of the letter's own."""
    plain = json.dumps(letter.message).encode()
    place = _place("letters", letter.id, letter.node, letter.until)
    return letter.id, letter.node, sealer.seal(plain, place), letter.until


def load_letter(sealer: Sealer, row: Sequence[Any]) -> Letter:
    """The letter of a row."""
    id_, node, sealed, until = row
    return Letter(id_, node, json.loads(sealer.open(sealed, _place("letters", id_, node, until))), until)


def sign(sealer: Sealer, text: str) -> bytes:
    """Nothing, sealed to a place that is the text: a MAC under the first key of the ring."""
    return sealer.seal(b"", f"signed/{text}")


def is_signed(sealer: Sealer, text: str, proof: bytes) -> bool:
    """Whether it is the MAC of the text under any key of the ring."""
    try:
        return sealer.open(proof, f"signed/{text}") == b""
    except StoreError:
        return False


def _place(table: str, *parts: str | float) -> str:
    *names, until = parts
    return json.dumps([table, *names, float(until)])
