"""The anchor of a ledger: it only goes forward, and is private."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handraise.conversation.recorded import Anchor
from handraise.stores.sqlite.anchor import AnchorFile

pytestmark = pytest.mark.shows("G4")


def an_anchor(size: int, notes: int = 0) -> Anchor:
    return Anchor(size, notes, size.to_bytes(32), b"n" * 32, b"m" * 32)


def test_an_anchor_comes_back_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    assert file.read() is None
    file.create(an_anchor(3, 1))
    assert file.read() == an_anchor(3, 1)
    assert file.path.name == "ledger.db.head"
    assert [stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()] == [0o600]


def test_an_older_anchor_never_replaces_a_newer_one_whoever_comes_last(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    file.create(an_anchor(0))
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(file.advance, map(an_anchor, [*range(100), *reversed(range(100))])):
            found = file.read()
            assert found is not None
            assert found == an_anchor(found.size)
    assert file.read() == an_anchor(99)


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 116])
def test_a_damaged_anchor_is_one_that_nobody_wrote(tmp_path: Path, damage: bytes) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    file.path.write_bytes(damage)
    assert file.read() == Anchor(0, 0, b"", b"", b"")


def test_an_anchor_that_is_gone_is_not_made_anew_in_passing(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    with pytest.raises(FileNotFoundError):
        file.advance(an_anchor(1))
    assert file.read() is None
