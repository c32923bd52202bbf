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

Signed notes
------------

A checkpoint says how many records the ledger had at one time, and which. It is a signed note as the logs of
certificates and of modules use them: the name of the ledger, the size and the root of its tree, a time, and an Ed25519
signature. It is text, so that it can be kept in a mail, a ticket or on paper. A person who kept one can find out later
whether the records of that day are still the same.

Two other kinds of note say which records were removed because they were too old (`cut`), and which contents were erased
(`erased`). A fourth kind is an alarm: a node of a cluster found that events which it had written were removed before
they had a place in the tree (`missing`).

The notes of a ledger form a chain: each has a number and the hash of the note before it. Each also has the public key,
so that a person who kept one checkpoint can check every later note without the ledger's key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from handraise.calls.ledger_tables import Anchor, Draft, EventColumns, Head
from handraise.errors import LedgerError, SetupError, StoreError
from handraise.ledger.events import dump_plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

HASH = 32
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of a record (RFC 6962, 2.1)."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two neighbours. Its prefix keeps a node from passing for a record."""
    return sha256(b"\x01" + left + right).digest()


class Tree(NamedTuple):
    """A tree that can grow: how many leaves it has, and its peaks."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def grown(self, leaves: Iterable[bytes]) -> Tree:
        """The tree with these leaf hashes added."""
        size, peaks = self.size, list(self.peaks)
        for leaf in leaves:
            carry, rest = leaf, size
            while rest & 1:
                carry, rest = node_hash(peaks.pop(), carry), rest >> 1
            peaks.append(carry)
            size += 1
        return Tree(size, tuple(peaks))

    @property
    def root(self) -> bytes:
        """The hash that stands for all leaves in their order."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of these leaf hashes."""
    return Tree().grown(leaves).root


NO_NOTE: Final = bytes(HASH)
"""Stands for the note before the first one."""
NoteKind: TypeAlias = Literal["at", "cut", "erased", "missing"]
NOTE_KINDS: Final[tuple[NoteKind, ...]] = get_args(NoteKind)

_ED25519 = b"\x01"
_NOTE = re.compile(
    r"(?P<origin>[^\s+]+)\n(?P<size>0|[1-9][0-9]{0,15})\n(?P<root>[A-Za-z0-9+/]{43}=)\n"
    r"(?P<word>at|cut|erased|missing) (?P<time>[0-9]{1,15})\n"
    r"note (?P<number>[1-9][0-9]{0,15}) (?P<previous>[A-Za-z0-9+/]{43}=)\n"
    r"key (?P<public>[A-Za-z0-9+/]{43}=)\n"
    r"(?P<names>(?:name [^\s]+\n)*)"
    r"\n— (?P<name>[^\s+]+) (?P<signature>[A-Za-z0-9+/]{90,92}={0,2})\n"
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A ledger at one time."""

    origin: str
    size: int
    root: bytes
    time: int
    """Wall clock, in milliseconds since 1970."""
    public: bytes
    """The public key of the ledger."""
    word: NoteKind = "at"
    """`cut`: the records up to `size` were removed, because they were too old. `erased`, `missing`: see `names`."""
    number: int = 1
    """Its place in the chain of the ledger's notes, from 1."""
    previous: bytes = NO_NOTE
    """The hash of the note before it."""
    names: tuple[str, ...] = ()
    """The contents that were erased, or the events that were missing."""

    @property
    def text(self) -> str:
        """The text that is signed."""
        names = "".join(f"name {name}\n" for name in self.names)
        return (
            f"{self.origin}\n{self.size}\n{_base64(self.root)}\n{self.word} {self.time}\n"
            f"note {self.number} {_base64(self.previous)}\nkey {_base64(self.public)}\n{names}"
        )


@dataclass(frozen=True, slots=True)
class Note:
    """A checkpoint with its signature, as it was found. The signature is not checked yet."""

    checkpoint: Checkpoint
    key: bytes
    """The first bytes of the hash of the key that is said to have signed it."""
    signature: bytes

    @property
    def text(self) -> str:
        """The note as its ledger wrote it."""
        checkpoint = self.checkpoint
        return f"{checkpoint.text}\n— {checkpoint.origin} {_base64(self.key + self.signature)}\n"

    @property
    def hash(self) -> bytes:
        """The hash that the next note has of this one."""
        return note_hash(self.text)


def note_hash(text: str) -> bytes:
    """The hash that stands for a note in the next note and in the head of the ledger."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


class LedgerKeys:
    """The secret of a ledger: signs its notes, authenticates its head, and makes digests of arguments.

    Notes and heads that were made with `older` secrets, before keys were rotated, still count.
    """

    def __init__(self, secret: bytes, *older: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(secret) < HASH:
            raise SetupError(f"the key of a ledger needs {HASH} bytes of randomness")
        secrets = (secret, *older)
        signers = [
            Ed25519PrivateKey.from_private_bytes(_derived(each, b"handraise/ledger/sign")) for each in secrets
        ]
        self._private = signers[0]
        self._digests = _derived(secret, b"handraise/ledger/arguments")
        self._macs = tuple(_derived(each, b"handraise/ledger/authenticate") for each in secrets)
        self.verifier: Verifier = Verifier(*(signer.public_key().public_bytes_raw() for signer in signers))

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint as a signed note."""
        signature = self._private.sign(checkpoint.text.encode())
        return Note(checkpoint, self.verifier.name, signature).text

    def mac(self, data: bytes) -> bytes:
        """A code that only somebody with the key can make for these bytes."""
        return hmac.digest(self._macs[0], data, "sha256")

    def is_authentic(self, data: bytes, mac: bytes) -> bool:
        """Whether somebody with the key made this code for these bytes."""
        return any(hmac.compare_digest(hmac.digest(key, data, "sha256"), mac) for key in self._macs)

    def digest(self, canonical: bytes) -> str:
        """The digest of a call's arguments: equal for equal ones, and nobody without the key can try values."""
        return hmac.digest(self._digests, canonical, "sha256").hex()


class Verifier:
    """Tells whether a ledger signed a note, with its key or with one that it had before."""

    def __init__(self, public: bytes, *older: bytes) -> None:
        self.public = public
        self.origin: str = f"handraise-ledger-{hashlib.sha256(public).hexdigest()[:16]}"
        self.name: bytes = hashlib.sha256(self.origin.encode() + b"\n" + _ED25519 + public).digest()[:4]
        self._older = tuple(map(Verifier, older))

    @classmethod
    def of_kept(cls, notes: Iterable[Note]) -> Verifier | None:
        """The verifier of a person who has no key, and trusts the notes that they kept themselves."""
        known = list(dict.fromkeys(note.checkpoint.public for note in notes))
        return cls(*known) if known else None

    def signed(self, note: Note) -> bool:
        """Whether this ledger signed the note."""
        from cryptography.exceptions import InvalidSignature

        checkpoint = note.checkpoint
        if checkpoint.public != self.public:
            return any(verifier.signed(note) for verifier in self._older)
        if note.key != self.name or checkpoint.origin != self.origin:
            return False
        try:
            self._key.verify(note.signature, checkpoint.text.encode())
        except InvalidSignature:
            return False
        return True

    @cached_property
    def _key(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.public)


def parse_notes(text: str) -> list[Note]:
    """The notes in a text, in their order. Raises `LedgerError` when there is anything else in it."""
    return list(_notes(text.replace("\r\n", "\n").strip("\n") + "\n"))


def _notes(text: str) -> Iterator[Note]:
    at = 0
    while at < len(text):
        found = _NOTE.match(text, at)
        if found is None:
            raise LedgerError("this is no checkpoint of a ledger")
        yield _note(found)
        at = found.end()
        while text[at : at + 1] == "\n":
            at += 1


def _note(found: re.Match[str]) -> Note:
    try:
        root, previous, public, signed = (
            base64.b64decode(found[part]) for part in ("root", "previous", "public", "signature")
        )
    except binascii.Error:
        raise LedgerError("this is no checkpoint of a ledger") from None
    if len(signed) != 4 + 64 or found["name"] != found["origin"]:
        raise LedgerError("this is no checkpoint of a ledger")
    (word,) = (word for word in NOTE_KINDS if word == found["word"])
    checkpoint = Checkpoint(
        found["origin"],
        int(found["size"]),
        root,
        int(found["time"]),
        public,
        word,
        int(found["number"]),
        previous,
        tuple(line.removeprefix("name ") for line in found["names"].splitlines()),
    )
    return Note(checkpoint, signed[:4], signed[4:])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, purpose, "sha256")


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
