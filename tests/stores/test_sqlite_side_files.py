"""The anchor of a ledger: it only goes forward, and is private."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handraise.calls.ledger_tables import Anchor, Record
from handraise.stores import SqliteStore
from handraise.stores.sqlite_side_files import AnchorFile, Presence
from handraise.testing.ledgers import a_record, bodies, keyed


def an_anchor(size: int, notes: int = 0) -> Anchor:
    return Anchor(size, notes, size.to_bytes(32), b"n" * 32, b"m" * 32)


@pytest.mark.shows("G4")
def test_an_anchor_comes_back_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    assert file.read() is None
    file.create(an_anchor(3, 1))
    assert file.read() == an_anchor(3, 1)
    assert file.path.name == "ledger.db.head"
    assert [stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()] == [0o600]


@pytest.mark.shows("G4", "S6")
def test_nobody_who_made_files_before_owns_the_anchor_or_has_it_written_elsewhere(tmp_path: Path) -> None:
    """A name that can be guessed is one that another user of a shared folder takes first."""
    (elsewhere := tmp_path / "elsewhere").write_text("theirs")
    for pid in range(os.getpid() - 3, os.getpid() + 3):
        (tmp_path / f".ledger.db.head.{pid}").symlink_to(elsewhere)
    file = AnchorFile(tmp_path / "ledger.db")
    file.create(an_anchor(3))
    assert file.read() == an_anchor(3)
    assert not file.path.is_symlink()
    assert elsewhere.read_text() == "theirs"


@pytest.mark.shows("G4")
def test_an_older_anchor_never_replaces_a_newer_one_whoever_comes_last(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    file.create(an_anchor(0))
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(file.advance, map(an_anchor, [*range(100), *reversed(range(100))])):
            found = file.read()
            assert found is not None
            assert found == an_anchor(found.size)
    assert file.read() == an_anchor(99)


@pytest.mark.shows("G4")
@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 116])
def test_a_damaged_anchor_is_one_that_nobody_wrote(tmp_path: Path, damage: bytes) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    file.path.write_bytes(damage)
    assert file.read() == Anchor(0, 0, b"", b"", b"")


@pytest.mark.shows("G4")
def test_an_anchor_that_is_gone_is_not_made_anew_in_passing(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "ledger.db")
    with pytest.raises(FileNotFoundError):
        file.advance(an_anchor(1))
    assert file.read() is None


KILLED = """
    import asyncio, os, signal, sys
    from handraise.stores import SqliteStore
    from handraise.testing.ledgers import a_record, keyed

    async def main(path):
        tables = keyed(SqliteStore(path))
        await tables.record([a_record("open", open=True), a_record("decided", open=True)])
        await tables.record([a_record("decided")._replace(body=b"yes")])
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main(sys.argv[1]))
"""


def be_killed(path: Path) -> None:
    code = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    assert subprocess.run(code, timeout=60, check=False).returncode == -9


HOLDING = """
    import sys
    from pathlib import Path
    from handraise.stores.sqlite_side_files import Presence

    print(Presence(Path(sys.argv[1]), "holder").enter(), flush=True)
    sys.stdin.read()
"""


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if "writer" in file.name)


@pytest.mark.slow
def test_a_writer_is_present_until_it_leaves(tmp_path: Path) -> None:
    one, other = (Presence(tmp_path / "x.db", "writer") for _ in range(2))
    name = one.enter()
    assert one.enter() == name != other.enter()
    with other.gone() as gone:
        assert gone == []
    one.leave()
    one.leave()
    other.leave()
    assert files(tmp_path) == []


@pytest.mark.slow
def test_another_process_is_there_until_it_is_killed_whatever_its_number_is(tmp_path: Path) -> None:
    code = [sys.executable, "-c", textwrap.dedent(HOLDING), str(tmp_path / "x.db")]
    here, other = Presence(tmp_path / "x.db", "holder"), Presence(tmp_path / "x.db", "writer")
    with subprocess.Popen(code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert here.is_there(name)
        assert not here.is_there("nobody")
        assert not other.is_there(name)
        process.kill()
        process.wait(60)
    assert not here.is_there(name)
    with here.gone() as gone:
        assert gone == [name]
    assert not here.is_there(name)


@pytest.mark.slow
@pytest.mark.shows("G5")
async def test_what_a_killed_process_left_in_flight_is_settled_once(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    be_killed(path)
    assert len(files(tmp_path)) == 1
    first, second = SqliteStore(path), SqliteStore(path)
    asked = []

    def settle(body: bytes) -> Record:
        asked.append(body)
        return a_record("open")._replace(body=b"ambiguous")

    assert await keyed(first).settle_orphans(settle) == 1
    assert await keyed(second).settle_orphans(settle) == 0
    assert asked == [b"open"]
    assert await bodies(second) == [b"open", b"decided", b"yes", b"ambiguous"]
    await first.aclose()
    await second.aclose()
    assert files(tmp_path) == []


@pytest.mark.slow
async def test_when_settling_fails_somebody_else_can_do_it(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    be_killed(path)
    store = SqliteStore(path)

    def fail(body: bytes) -> Record:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await keyed(store).settle_orphans(fail)
    assert await store.ledger.settle_orphans(lambda body: a_record("open")) == 1
    await store.aclose()
