"""The Merkle tree of RFC 6962: hashes, the root as it grows, and proofs. Pure.

A tree of n leaves is known by its peaks, the roots of the perfect trees that n splits into, largest first. They are all
that is needed to add leaves and to tell the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

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


def inclusion_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """What proves that leaf `index` is in the tree of these leaf hashes (RFC 6962, 2.1.1)."""
    if not 0 <= index < len(leaves):
        raise IndexError(index)
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_path(leaves[:split], index), root_of(leaves[split:])]
    return [*inclusion_path(leaves[split:], index - split), root_of(leaves[:split])]


def consistency_path(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """What proves that the tree of the first `size` leaf hashes grew into the tree of all (RFC 6962, 2.1.2)."""
    if not 0 < size <= len(leaves):
        raise IndexError(size)
    return _subproof(leaves, size, whole=True)


def includes(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path proves that the leaf hash stands at `index` of the tree with this size and root."""
    if not 0 <= index < size:
        return False
    inner = ((size - 1) ^ index).bit_length()
    if len(path) != inner + (index >> inner).bit_count():
        return False
    seen = leaf
    for at, sibling in enumerate(path):
        left = at >= inner or index >> at & 1
        seen = node_hash(sibling, seen) if left else node_hash(seen, sibling)
    return seen == root


def grew(old: bytes, old_size: int, new: bytes, new_size: int, path: Sequence[bytes]) -> bool:
    """Whether the path proves that the old tree is the beginning of the new one."""
    if not 0 < old_size <= new_size:
        return False
    if old_size == new_size:
        return not path and old == new
    proof = [old, *path] if old_size & (old_size - 1) == 0 else list(path)
    if not proof:
        return False
    node, last = old_size - 1, new_size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    was = now = proof[0]
    for sibling in proof[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            was, now = node_hash(sibling, was), node_hash(sibling, now)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            now = node_hash(now, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and was == old and now == new


def _subproof(leaves: Sequence[bytes], size: int, *, whole: bool) -> list[bytes]:
    if size == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = _split(len(leaves))
    if size <= split:
        return [*_subproof(leaves[:split], size, whole=whole), root_of(leaves[split:])]
    return [*_subproof(leaves[split:], size - split, whole=False), root_of(leaves[:split])]


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1
