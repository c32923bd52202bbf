"""Legacy sessions as rows: what of them is sealed, and to which place. Shared by every store that writes to a disk.

An address is sealed, so that whoever can write to the store cannot have requests, with the tokens they carry, sent to
an address of their own. Of a session's id, which lets its bearer in, a digest is kept.
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


def dump_address(sealer: Sealer, node: str, address: str | None) -> bytes:
    """The sealed column of a node's row."""
    return sealer.seal(json.dumps(address).encode(), f"hosts/{node}/address")


def load_residence(sealer: Sealer, row: Sequence[Any]) -> Residence:
    """Where a session is, from its node and the sealed address."""
    node, sealed = row
    return Residence(node, json.loads(sealer.open(sealed, f"hosts/{node}/address")))


def dump_letter(sealer: Sealer, letter: Letter) -> tuple[Any, ...]:
    """The values of a row, in the order of the letter's own."""
    plain = json.dumps(letter.message).encode()
    return letter.id, letter.node, sealer.seal(plain, f"letters/{letter.id}/{letter.node}"), letter.until


def load_letter(sealer: Sealer, row: Sequence[Any]) -> Letter:
    """The letter of a row."""
    id_, node, sealed, until = row
    return Letter(id_, node, json.loads(sealer.open(sealed, f"letters/{id_}/{node}")), until)


def sign(sealer: Sealer, text: str) -> bytes:
    """Nothing, sealed to a place that is the text: a MAC under the first key of the ring."""
    return sealer.seal(b"", f"signed/{text}")


def is_signed(sealer: Sealer, text: str, proof: bytes) -> bool:
    """Whether it is the MAC of the text under any key of the ring."""
    try:
        return sealer.open(proof, f"signed/{text}") == b""
    except StoreError:
        return False
