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


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1
