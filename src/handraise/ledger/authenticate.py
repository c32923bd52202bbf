"""How the ledger proves that nobody changed it.

Theory of operation
-------------------

The ledger's key is a secret outside of the database: a private file beside an SQLite file, or derived from the keys
of a PostgreSQL store. Everything in the database hangs on the *head*, one row that carries a MAC under this key:

    head        size and root of the tree, number of notes, hash of the last note        MAC
      ├─ tree     one leaf hash for each event (RFC 6962)
      │    └─ event    body, question, open, writer, name, and a digest of each content     in the leaf hash
      │         └─ content   the key and the ciphertext of a message or an answer           in that digest
      └─ notes    checkpoints, cuts, erasures: each signed, with the hash of the one before it

- A writer checks the head before it adds to it. Only the key's holder can make a head, and an honest writer never
  signs on top of a changed one.
- An event that is gone is one that a signed `cut` note covers. A content that is gone is one that a signed `erased`
  note names, or that went with its event. Anything else that is missing was removed. Anything that is there beyond
  this was added.
- An old copy of the whole database is authentic. So SQLite keeps an *anchor*: a copy of the head in a private file
  beside the key. A writer commits, then writes the anchor, then tells its caller. So the anchor is never ahead of the
  database, and no event that a caller relies on is ahead of the anchor. After `kill -9` in between, the anchor is
  older than the database: that is fine, as long as the database continues the tree and the chain of the anchor.
  A database that is older than the anchor was cut off or restored from a backup. A writer refuses to write to it, for
  otherwise the next event would make the old copy the newest state.
- An event that has a name is written once. A writer that finds one of that name checks its MAC. Otherwise somebody
  could add an event of that name for a moment, so that the real one is never written.
- Places in the tree: SQLite and memory have one writer at a time, so an event gets its place in the transaction that
  writes it. In PostgreSQL many nodes write at once. There an event carries another MAC until, about a second later, one
  node gives it its place. The node that wrote it then looks for it, and signs an alarm if it is gone.

An attacker with write access to the database and without the key can destroy the ledger, but every change is found:
they cannot make a head, a note or a waiting event. Two things remain for them in PostgreSQL, where no anchor exists: to
remove an event before it has its place, when its node dies in that second, and to restore an old copy of the whole
database while no node runs. A checkpoint that was kept elsewhere shows the second. An attacker who also has the key can
rebuild everything; a checkpoint that was kept elsewhere shows that too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from handraise.calls.ledger_tables import Anchor, Draft, EventColumns, Head
from handraise.errors import StoreError
from handraise.ledger.checkpoints import (
    HASH,
    NO_NOTE,
    Checkpoint,
    LedgerKeys,
    NoteKind,
    Tree,
    leaf_hash,
    note_hash,
)
from handraise.ledger.events import dump_plain

_HEAD: Final = b"handraise/ledger/head\n"
_WAITING: Final = b"handraise/ledger/event that waits\n"
_PLACED: Final = b"handraise/ledger/event\n"
_ADVICE: Final = (
    "Run `handraise ledger verify`. Keep this ledger as evidence, move it away with all files whose names begin "
    "like its own, and a new one is begun."
)


def tree_of(head: Head) -> Tree:
    """The tree of a head."""
    parts = (head.peaks[at : at + HASH] for at in range(0, len(head.peaks), HASH))
    return Tree(head.size, tuple(parts))


def leaf_data(row: EventColumns) -> bytes:
    """The bytes that a leaf hash is made of: canonical JSON of the event's hash and of the columns beside it."""
    body, question, is_open, writer, name, kept, mac = row
    columns = {"question": question, "open": is_open, "writer": writer, "name": name, "kept": kept}
    return dump_plain({"body": sha256(body).hexdigest(), "mac": mac.hex(), **columns})


def is_authentic(keys: LedgerKeys, anchor: Anchor) -> bool:
    """Whether somebody with the ledger's key wrote this head, or this copy of a head."""
    return keys.is_authentic(_head_data(anchor), anchor.mac)


def anchor_of(head: Head) -> Anchor:
    """The copy of a head to keep outside of the database."""
    return Anchor(head.size, head.notes, tree_of(head).root, head.last, head.mac)


def is_authentic_head(keys: LedgerKeys, head: Head) -> bool:
    """Whether somebody with the ledger's key wrote this head."""
    # Fewer peaks than the size asks for could have the same root: only the right number of them counts.
    whole = head.size >= 0 and head.notes >= 0 and len(head.peaks) == HASH * head.size.bit_count()
    return whole and len(head.last) == HASH and is_authentic(keys, anchor_of(head))


def is_authentic_event(keys: LedgerKeys, row: EventColumns, *, placed: bool) -> bool:
    """Whether somebody with the ledger's key wrote this event."""
    return keys.is_authentic(_event_data(row, placed=placed), row.mac)


class KeyedAuthenticator:
    """The ledger's key as stores use it. `keys` is called when something is first written."""

    def __init__(self, keys: Callable[[], LedgerKeys]) -> None:
        self._keys = keys

    def first(self) -> Head:
        return self._made(Tree(), 0, NO_NOTE)

    def require(self, head: Head) -> None:
        if not is_authentic_head(self._keys(), head):
            raise StoreError(f"the head of the ledger was not written with the ledger's key. {_ADVICE}")

    def place(self, head: Head, rows: Sequence[EventColumns]) -> tuple[Head, list[bytes]]:
        leaves = [leaf_hash(leaf_data(row)) for row in rows]
        return self._made(tree_of(head).grown(leaves), head.notes, head.last), leaves

    def marked(self, row: EventColumns, *, placed: bool) -> EventColumns:
        return row._replace(mac=self._keys().mac(_event_data(row, placed=placed)))

    def require_row(self, row: EventColumns, *, placed: bool) -> None:
        if not is_authentic_event(self._keys(), row, placed=placed):
            raise StoreError(f"an event of the ledger was not written with the ledger's key. {_ADVICE}")

    def anchor_of(self, head: Head) -> Anchor:
        return anchor_of(head)

    def require_newest(self, head: Head | None, anchor: Anchor | None) -> None:
        if head is None and anchor is None:
            return
        if anchor is None:
            raise StoreError(
                f"the file beside the ledger that ends in .head is missing: restore it. {_ADVICE}"
            )
        if not is_authentic(self._keys(), anchor):
            raise StoreError(f"the file beside the ledger that ends in .head was changed. {_ADVICE}")
        there = anchor_of(self.first() if head is None else head)
        if there.age < anchor.age or (there.age == anchor.age and there != anchor):
            raise StoreError(
                f"the ledger is older than it was: it has {there.size} records and had {anchor.size}. "
                f"Somebody cut it off, or restored an old copy. {_ADVICE}"
            )

    # Notes. A store calls what these return inside of its transaction, with the head as it is then.

    def checkpoint(self, now: int) -> Draft:
        """Sign the ledger as it is."""
        return lambda head, _: self._signed(head, head.size, tree_of(head).root, now, "at", ())

    def erasure(self, now: int) -> Draft:
        """Sign that contents were erased."""
        return lambda head, refs: self._signed(
            head, head.size, tree_of(head).root, now, "erased", tuple(sorted(refs))
        )

    def removal(self, now: int, upto: Tree) -> Draft:
        """Sign that the events of this tree, with which the ledger begins, were removed."""
        return lambda head, _: self._signed(head, upto.size, upto.root, now, "cut", ())

    def loss(self, now: int) -> Draft:
        """Sign that events were removed before they had a place."""
        return lambda head, names: self._signed(
            head, head.size, tree_of(head).root, now, "missing", tuple(sorted(names))
        )

    def _signed(
        self, head: Head, size: int, root: bytes, now: int, word: NoteKind, names: tuple[str, ...]
    ) -> tuple[Head, str]:
        if any(name.split() != [name] for name in names):  # a second line in a name would sign another name
            raise StoreError(
                "a name in the ledger has a space or a line break. Run `handraise ledger verify`."
            )
        verifier, number = self._keys().verifier, head.notes + 1
        made = Checkpoint(verifier.origin, size, root, now, verifier.public, word, number, head.last, names)
        note = self._keys().sign(made)
        return self._made(tree_of(head), number, note_hash(note)), note

    def _made(self, tree: Tree, notes: int, last: bytes) -> Head:
        anchor = Anchor(tree.size, notes, tree.root, last, b"")
        return Head(tree.size, b"".join(tree.peaks), notes, last, self._keys().mac(_head_data(anchor)))


def _event_data(row: EventColumns, *, placed: bool) -> bytes:
    return (_PLACED if placed else _WAITING) + leaf_data(row._replace(mac=b""))


def _head_data(anchor: Anchor) -> bytes:
    return _HEAD + struct.pack(">QQ", anchor.size, anchor.notes) + anchor.root + anchor.last
