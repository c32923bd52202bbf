"""Encryption of what a store writes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import SetupError, StoreError
from handraise.stores.sealing import Sealer, key_file_beside

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.mark.shows("S6")
@given(st.binary(max_size=300), st.text(max_size=50))
def test_what_was_sealed_opens_at_its_own_place_only(plain: bytes, place: str) -> None:
    sealer = Sealer([KEY])
    sealed = sealer.seal(plain, place)
    assert sealer.open(sealed, place) == plain
    with pytest.raises(StoreError, match="changed or moved"):
        sealer.open(sealed, place + "/")


@pytest.mark.shows("S6")
@given(st.data())
def test_what_was_changed_does_not_open(data: st.DataObject) -> None:
    sealer = Sealer([KEY])
    sealed = bytearray(sealer.seal(b"the answer is yes", "here"))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(StoreError):
        sealer.open(bytes(sealed), "here")


@given(st.binary(max_size=100))
def test_what_was_never_sealed_does_not_open(rubbish: bytes) -> None:
    with pytest.raises(StoreError):
        Sealer([KEY]).open(rubbish, "here")


@pytest.mark.shows("S6")
@pytest.mark.parametrize("keys", [KEY, KEY.decode(), bytearray(KEY), memoryview(KEY), 64, None])
def test_one_key_in_the_place_of_a_list_is_refused(keys: Any) -> None:
    with pytest.raises(SetupError, match=r"list of keys.*write keys=\[key\]"):
        Sealer(keys)


@pytest.mark.shows("S6")
@pytest.mark.parametrize("key", [64, None, 1.5, [KEY], Path("key")])
def test_what_is_neither_text_nor_bytes_is_no_key(key: Any) -> None:
    with pytest.raises(SetupError, match="text or bytes"):
        Sealer([KEY, key])


@pytest.mark.parametrize("length", [0, 3, 4, 15, 16, 20, 31])
def test_what_was_cut_off_does_not_open(length: int) -> None:
    sealer = Sealer([KEY])
    with pytest.raises(StoreError):
        sealer.open(sealer.seal(b"the answer is yes", "here")[:length], "here")


def test_the_same_value_is_never_sealed_the_same_way_twice() -> None:
    sealer = Sealer([KEY])
    assert len({sealer.seal(b"yes", "here") for _ in range(100)}) == 100


def test_sealed_bytes_do_not_show_what_is_in_them() -> None:
    sealed = Sealer([KEY]).seal(b"the answer is yes", "here")
    assert b"answer" not in sealed
    assert KEY not in sealed


@pytest.mark.shows("S6")
def test_the_first_key_seals_and_every_key_opens() -> None:
    before, during, after = Sealer([KEY]), Sealer([OTHER, KEY]), Sealer([OTHER])
    old = before.seal(b"old", "here")
    new = during.seal(b"new", "here")
    assert during.open(old, "here") == b"old"
    assert after.open(new, "here") == b"new"
    with pytest.raises(StoreError, match="not in the ring"):
        after.open(old, "here")
    with pytest.raises(StoreError, match="not in the ring"):
        before.open(new, "here")


def test_a_key_may_be_text_and_may_be_named_twice() -> None:
    sealer = Sealer(["k" * 32, KEY])
    assert Sealer([KEY]).open(sealer.seal(b"yes", "here"), "here") == b"yes"


@pytest.mark.parametrize("keys", [[], [b""], [b"short"], [KEY, "k" * 31]])
def test_a_key_that_can_be_guessed_is_refused_with_the_way_to_a_better_one(keys: list[bytes | str]) -> None:
    with pytest.raises(SetupError, match="token_hex"):
        Sealer(keys)


@pytest.mark.shows("S6")
def test_a_store_without_a_key_gets_one_that_stays_and_that_nobody_else_can_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    key = key_file_beside(path)
    assert len(key) == 32
    assert key_file_beside(path) == key
    assert stat.S_IMODE((tmp_path / "store.db.key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["store.db.key"]
    assert key_file_beside(tmp_path / "other.db") != key


def test_a_key_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    file = tmp_path / "store.db.key"
    file.write_bytes(KEY)
    file.chmod(0o644)
    assert key_file_beside(tmp_path / "store.db") == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_is_no_key_is_named_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "store.db.key"
    file.write_bytes(b"half a")
    with pytest.raises(SetupError, match=r"store\.db\.key is no key"):
        key_file_beside(tmp_path / "store.db")
    assert file.read_bytes() == b"half a"


def test_a_key_that_could_not_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        key_file_beside(tmp_path / "store.db")
    assert list(tmp_path.iterdir()) == []


def test_of_many_who_make_the_key_at_once_all_get_the_same(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / f"{attempt}.db"
        start = threading.Barrier(8)
        keys: list[bytes] = []

        def make(path: Path = path, start: threading.Barrier = start, keys: list[bytes] = keys) -> None:
            start.wait()
            keys.append(key_file_beside(path))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 8
        assert len(set(keys)) == 1
