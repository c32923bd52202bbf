"""The Merkle tree of RFC 6962."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.ledger.tree import (
    EMPTY_ROOT,
    Tree,
    includes,
    inclusion_path,
    leaf_hash,
    node_hash,
    root_of,
)

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


@pytest.mark.parametrize("size", range(1, 18))
def test_every_record_can_be_proved_to_be_in_every_tree(size: int) -> None:
    leaves = LEAVES[:size]
    root = root_of(leaves)
    for index, leaf in enumerate(leaves):
        path = inclusion_path(leaves, index)
        assert includes(root, size, index, leaf, path)
        assert not includes(root, size, index, leaf_hash(b"forged"), path)
        assert not any(
            includes(root, size, other, leaf, path) for other in range(-1, size + 1) if other != index
        )
        assert not includes(root, size, index, leaf, [*path, leaf])
        assert not path or not includes(root, size, index, leaf, path[:-1])


@given(st.integers(2, len(LEAVES)), st.data())
def test_a_proof_with_a_changed_hash_proves_nothing(size: int, data: st.DataObject) -> None:
    leaves, index = LEAVES[:size], data.draw(st.integers(0, size - 1))
    path = inclusion_path(leaves, index)
    at = data.draw(st.integers(0, len(path) - 1))
    path[at] = leaf_hash(path[at])
    assert not includes(root_of(leaves), size, index, leaves[index], path)


def test_what_is_not_in_the_tree_has_no_proof() -> None:
    for index in (-1, 3):
        with pytest.raises(IndexError):
            inclusion_path(LEAVES[:3], index)
