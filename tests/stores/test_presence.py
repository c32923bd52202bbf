"""Which processes write to a ledger, and what those that are gone left in flight."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from handraise.conversation.recorded import Record
from handraise.stores import SqliteStore
from handraise.stores.sqlite.presence import Presence
from handraise.testing.ledgers import a_record, bodies, keyed

pytestmark = pytest.mark.slow

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
    from handraise.stores.sqlite.presence import Presence

    print(Presence(Path(sys.argv[1]), "holder").enter(), flush=True)
    sys.stdin.read()
"""


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if "writer" in file.name)


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
