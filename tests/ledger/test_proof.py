"""Checkpoints: what they say, and who can have said it."""

from __future__ import annotations

import base64
import stat
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handraise.errors import LedgerError, SetupError
from handraise.ledger import Ledger
from handraise.ledger.proof import (
    EMPTY_ROOT,
    NOTE_KINDS,
    Checkpoint,
    LedgerKeys,
    NoteKind,
    Tree,
    Verifier,
    leaf_hash,
    node_hash,
    parse_notes,
    root_of,
)
from handraise.stores import MemoryStore

KEYS, OTHERS = LedgerKeys(b"k" * 32), LedgerKeys(b"o" * 32)
CHECKPOINT = Checkpoint(KEYS.verifier.origin, 5, leaf_hash(b"root"), 1_700_000_000_000, KEYS.verifier.public)


@pytest.mark.shows("G4")
@settings(max_examples=30)
@given(
    st.integers(0, 2**53),
    st.integers(0, 10**14),
    st.sampled_from(NOTE_KINDS),
    st.integers(1, 2**53),
    st.lists(st.from_regex(r"c_[0-9a-f]{28}", fullmatch=True), max_size=3).map(tuple),
)
def test_a_checkpoint_comes_back_from_its_note_and_its_ledger_knows_it(
    size: int, time: int, word: NoteKind, number: int, names: tuple[str, ...]
) -> None:
    checkpoint = replace(
        CHECKPOINT, size=size, time=time, word=word, number=number, previous=b"p" * 32, names=names
    )
    (note,) = parse_notes(KEYS.sign(checkpoint))
    assert note.checkpoint == checkpoint
    assert KEYS.verifier.signed(note)
    assert not OTHERS.verifier.signed(note)


def test_a_note_reads_like_those_of_other_logs() -> None:
    origin = KEYS.verifier.origin
    lines = KEYS.sign(CHECKPOINT).split("\n")
    assert lines[:4] == [origin, "5", "PAb5plclr2BSYfY2ZyyWINQJcx2JpFHXRV/pxK4WeCk=", "at 1700000000000"]
    assert lines[4] == f"note 1 {'A' * 43}="
    assert lines[5] == f"key {base64.b64encode(KEYS.verifier.public).decode()}"
    assert lines[6] == ""
    assert lines[7].startswith(f"— {origin} ")
    assert lines[8:] == [""]


@given(st.data())
def test_a_note_that_was_changed_is_known_by_nobody(data: st.DataObject) -> None:
    note = KEYS.sign(CHECKPOINT)
    at = data.draw(st.integers(0, len(note) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda character: character != note[at]))
    try:
        notes = parse_notes(note[:at] + other + note[at + 1 :])
    except LedgerError:
        return
    assert not all(KEYS.verifier.signed(found) for found in notes) or [
        found.checkpoint for found in notes
    ] == [CHECKPOINT]


def test_a_cut_does_not_pass_for_a_checkpoint() -> None:
    note = KEYS.sign(replace(CHECKPOINT, word="cut")).replace("cut ", "at ")
    assert not KEYS.verifier.signed(parse_notes(note)[0])


def test_several_notes_in_one_file_are_read_in_order_whatever_the_lines_end_with() -> None:
    later = replace(CHECKPOINT, size=9)
    text = f"{KEYS.sign(CHECKPOINT)}\n{KEYS.sign(later)}\n\n"
    for written in (text, text.replace("\n", "\r\n"), KEYS.sign(CHECKPOINT) + KEYS.sign(later)):
        assert [note.checkpoint for note in parse_notes(written)] == [CHECKPOINT, later]


@pytest.mark.parametrize(
    "text", ["", "hello", "a\n1\n", KEYS.sign(CHECKPOINT)[:-9], "x" + KEYS.sign(CHECKPOINT)]
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(LedgerError, match="no checkpoint"):
        parse_notes(text)


def test_the_key_lies_beside_the_ledger_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"
    public = Ledger.at(path).keys.verifier.public
    assert Ledger.at(path).keys.verifier.public == public
    assert stat.S_IMODE((tmp_path / "new" / "ledger.db.signing.key").stat().st_mode) == 0o600
    assert Ledger.at(tmp_path / "other.db").keys.verifier.public != public


def test_what_was_signed_before_keys_were_rotated_is_still_the_ledgers() -> None:
    old, new = b"o" * 32, b"n" * 32
    theirs = replace(CHECKPOINT, origin=OTHERS.verifier.origin, public=OTHERS.verifier.public)
    (note,) = parse_notes(OTHERS.sign(theirs))
    assert LedgerKeys(new, old).verifier.signed(note)
    assert not LedgerKeys(new).verifier.signed(note)
    assert LedgerKeys(new, old).verifier.origin == LedgerKeys(new).verifier.origin


@pytest.mark.shows("G4")
def test_somebody_who_kept_a_note_needs_no_key_to_know_the_next() -> None:
    kept, later = parse_notes(KEYS.sign(CHECKPOINT) + KEYS.sign(replace(CHECKPOINT, number=2)))
    (foreign,) = parse_notes(OTHERS.sign(replace(CHECKPOINT, number=2)))
    verifier = Verifier.of_kept([kept])
    assert verifier is not None
    assert (verifier.signed(kept), verifier.signed(later), verifier.signed(foreign)) == (True, True, False)
    assert Verifier.of_kept([]) is None


def test_a_mac_is_known_by_the_ledgers_keys_only_also_after_they_were_rotated() -> None:
    mac = KEYS.mac(b"head")
    assert KEYS.is_authentic(b"head", mac)
    assert LedgerKeys(b"n" * 32, b"k" * 32).is_authentic(b"head", mac)
    assert not KEYS.is_authentic(b"other", mac)
    assert not OTHERS.is_authentic(b"head", mac)


def test_a_store_without_a_key_for_a_ledger_says_what_to_do() -> None:
    with pytest.raises(SetupError, match="give it one"):
        Ledger.of(MemoryStore())


def test_a_key_that_is_too_short_is_refused() -> None:
    with pytest.raises(SetupError, match="32 bytes"):
        LedgerKeys(b"short")


def test_digests_of_arguments_are_equal_for_equal_ones_of_the_same_ledger_only() -> None:
    assert KEYS.digest(b"{}") == KEYS.digest(b"{}") != KEYS.digest(b"[]")
    assert KEYS.digest(b"{}") != OTHERS.digest(b"{}")


LEAVES = [leaf_hash(f"record {number}".encode()) for number in range(40)]

VECTORS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
"""The records of the test vectors that implementations of RFC 6962 share."""
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def by_definition(leaves: list[bytes]) -> bytes:
    """The root as the RFC defines it, word for word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + by_definition(leaves[:split]) + by_definition(leaves[split:])).digest()


@pytest.mark.parametrize(("size", "root"), ROOTS.items())
def test_roots_are_those_of_the_shared_test_vectors(size: int, root: str) -> None:
    leaves = [leaf_hash(bytes.fromhex(record)) for record in VECTORS[:size]]
    assert root_of(leaves).hex() == root


@pytest.mark.parametrize("size", range(len(LEAVES) + 1))
def test_the_root_is_the_one_of_the_definition_at_every_size(size: int) -> None:
    assert root_of(LEAVES[:size]) == by_definition(LEAVES[:size])


@given(st.lists(st.integers(0, 12), max_size=5))
def test_a_tree_that_grows_in_any_portions_has_the_same_root(portions: list[int]) -> None:
    tree, leaves = Tree(), [leaf_hash(bytes([number])) for number in range(sum(portions))]
    for portion in portions:
        tree = tree.grown(leaves[tree.size : tree.size + portion])
    assert (tree.size, tree.root) == (len(leaves), by_definition(leaves))
    assert len(tree.peaks) == tree.size.bit_count()


def test_a_record_cannot_pass_for_two_neighbours() -> None:
    left, right = LEAVES[:2]
    assert leaf_hash(left + right) != node_hash(left, right)
    assert Tree().root == EMPTY_ROOT
