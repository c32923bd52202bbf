"""The ledger: writing, reading, checkpoints, and what a process that was killed leaves."""

from __future__ import annotations

import asyncio
import logging
import stat
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.ledger.examples import a_trail, fill

from handraise.errors import StoreError
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.ledger import DelayedTask
from handraise.ledger.own_ledger import CheckpointCommand, CheckpointFile
from handraise.ledger.proof import LedgerKeys, parse_notes
from handraise.ledger.verify import LedgerVerdict
from handraise.policy.settings import LedgerSettings
from handraise.stores import MemoryStore


async def listed(events: AsyncIterator[tuple[int, LedgerEvent]]) -> list[tuple[int, str]]:
    return [(number, event.kind) async for number, event in events]


async def test_events_come_back_in_order_and_the_newest_first(ledger: Ledger) -> None:
    await fill(ledger, 2)
    every = [(1, "asked"), (2, "decided"), (3, "asked"), (4, "decided")]
    assert await listed(ledger.events()) == every
    assert await listed(ledger.events(2)) == every[2:]
    assert await listed(ledger.newest()) == every[::-1]


async def test_a_ledger_in_memory_works_the_same() -> None:
    ledger = Ledger(MemoryStore(), keys=LedgerKeys(b"k" * 32))
    await fill(ledger, 3)
    note, _ = await ledger.checkpoint()
    report = await ledger.verify(parse_notes(note))
    assert report.verdict is LedgerVerdict.SOUND, report
    assert report.records == 6
    await ledger.aclose()


@pytest.mark.shows("G3")
async def test_no_contents_are_kept_unless_somebody_says_so(ledger: Ledger) -> None:
    assert LedgerSettings().keep == ledger.keeping == "none"
    trail = a_trail(ledger)
    await ledger.record(trail.asked(), trail.decided("accept", "human", content={"name": "Ada"}))
    events = [event async for _, event in ledger.events()]
    said = [content.ref for event in events for content in (event.message, event.answer) if content]
    kept = await ledger.tables.contents(said)
    assert [kept[ref].body for ref in said] == [None, None]


@pytest.mark.shows("G2")
async def test_arguments_are_a_digest_that_is_equal_for_equal_ones_and_nobody_can_guess(
    ledger: Ledger,
) -> None:
    def digest(of: Ledger, **arguments: str) -> str | None:
        return of.request("tools/call", "greet", arguments).arguments

    assert digest(ledger, name="Ada", city="Bern") == digest(ledger, city="Bern", name="Ada")
    assert digest(ledger, name="Ada") != digest(ledger, name="Bob")
    other = Ledger(MemoryStore(), keys=LedgerKeys(b"k" * 32))
    assert digest(ledger, name="Ada") != digest(other, name="Ada")


@pytest.mark.slow
async def test_more_events_than_fit_a_page_are_all_read_and_verified(ledger: Ledger) -> None:
    trail = a_trail(ledger)
    await ledger.record(*(trail.asked() for _ in range(1700)))
    assert len(await listed(ledger.events())) == len(await listed(ledger.newest())) == 1700
    await ledger.place()
    report = await ledger.verify()
    assert (report.verdict, report.records) == (LedgerVerdict.SOUND, 1700)


async def test_events_get_their_places_a_moment_later_by_themselves(path: Path) -> None:
    ledger = Ledger.at(path)
    placed = asyncio.Event()

    async def place() -> None:
        await ledger.place()
        placed.set()

    ledger._later = DelayedTask("placing", place, 0.01)
    await fill(ledger, 1)
    await asyncio.wait_for(placed.wait(), 10)
    assert await ledger.tables.size() >= 1
    await ledger.aclose()


async def test_a_ledger_that_is_closed_ends_with_a_checkpoint(path: Path) -> None:
    first = Ledger.at(path)
    await fill(first, 2)
    await first.aclose()
    second = Ledger.at(path)
    assert [note.checkpoint.size for note in await second.notes()] == [4]
    await second.start()
    await second.aclose()
    third = Ledger.at(path)
    assert len(await third.notes()) == 1  # nothing was added, so nothing was signed
    assert (await third.verify()).checkpoints == 1
    await third.store.aclose()


async def test_every_file_of_a_ledger_is_private(path: Path) -> None:
    ledger = Ledger.at(path)
    await fill(ledger, 1)
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    await ledger.aclose()


@pytest.mark.shows("G4")
async def test_checkpoints_go_to_a_file_and_a_command_too(path: Path, tmp_path: Path) -> None:
    kept, fed = tmp_path / "elsewhere" / "checkpoints", tmp_path / "fed"
    copy = "import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write(sys.stdin.read())"
    command = CheckpointCommand((sys.executable, "-c", copy, str(fed)))
    ledger = Ledger.at(path, elsewhere=[CheckpointFile(kept), command])
    await fill(ledger, 1)
    first, problems = await ledger.checkpoint()
    assert problems == []
    await fill(ledger, 1)
    await ledger.aclose()
    notes = parse_notes(kept.read_text())
    assert [note.checkpoint.size for note in notes] == [2, 4]
    assert parse_notes(fed.read_text()) == notes
    assert parse_notes(first) == notes[:1]


async def test_a_second_place_that_fails_is_told_of_and_hinders_nobody(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing = CheckpointCommand((sys.executable, "-c", "raise SystemExit(3)"))
    ledger = Ledger.at(
        path, elsewhere=[CheckpointFile(tmp_path), failing, CheckpointCommand(("/no/such/command",))]
    )
    await fill(ledger, 1)
    with caplog.at_level(logging.WARNING):
        _, problems = await ledger.checkpoint()
    assert len(problems) == len(caplog.records) == 3
    assert "status 3" in problems[1]
    await ledger.aclose()


async def test_an_event_that_cannot_be_read_names_its_record_and_what_to_do(ledger: Ledger) -> None:
    await fill(ledger, 1)
    record = a_trail(ledger).asked()._replace(body=b"{}")
    await ledger.record(record)
    with pytest.raises(StoreError, match=r"record 3 was changed.*ledger verify"):
        await listed(ledger.events())


async def test_events_that_cannot_be_placed_are_told_of_in_the_log(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    called = asyncio.Event()

    async def fail() -> None:
        called.set()
        raise StoreError("an event was removed")

    later = DelayedTask("placing", fail, 0.0)
    later.call()
    later.call()
    await asyncio.wait_for(called.wait(), 10)
    await later.stop()
    assert "placing failed" in caplog.text


IN_FLIGHT = """
    import asyncio, os, signal, sys
    from handraise.ledger import Ledger
    from tests.ledger.examples import a_trail

    async def main(path):
        ledger = Ledger.at(path)
        answered, open = a_trail(ledger, 1), a_trail(ledger, 2)
        await ledger.record(answered.asked(), open.asked(), open.shown())
        await ledger.record(answered.decided("decline", "human"))
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main(sys.argv[1]))
"""


def be_killed(path: Path) -> None:
    code = [sys.executable, "-c", textwrap.dedent(IN_FLIGHT), str(path)]
    done = subprocess.run(code, timeout=60, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -9


@pytest.mark.slow
@pytest.mark.shows("G1", "G5")
async def test_what_was_in_flight_when_a_process_was_killed_is_ambiguous_at_the_next_start(
    path: Path,
) -> None:
    be_killed(path)
    ledger = Ledger.at(path)
    assert await ledger.start() == 1
    events = [event async for _, event in ledger.events()]
    assert [event.kind for event in events] == ["asked", "asked", "shown", "decided", "ambiguous"]
    assert events[-1].question == "q_2"
    assert events[-1].about == events[1].about
    assert await ledger.start() == 0
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    await ledger.aclose()


EVENTS = 200
"""How many each of them writes."""

WRITER = """
    import asyncio, sys
    from handraise.ledger import Ledger
    from tests.ledger.examples import fill

    async def main(path):
        ledger = Ledger.at(path)
        ledger._later._delay = 0.002
        print("ready", flush=True)
        sys.stdin.readline()
        await asyncio.gather(*(fill(ledger, 20) for _ in range(5)))
        await ledger.aclose()

    asyncio.run(main(sys.argv[1]))
"""


def write_at_once(path: Path) -> None:
    code, root = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)], Path(__file__).parents[2]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen(code, stdin=pipe, stdout=pipe, text=True, cwd=root) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


@pytest.mark.slow
@pytest.mark.shows("G4")
async def test_two_processes_write_to_one_file_and_give_places_at_once(path: Path) -> None:
    write_at_once(path)
    ledger = Ledger.at(path)
    numbers = [number async for number, _ in ledger.events()]
    assert numbers == list(range(1, 2 * EVENTS + 1))
    report = await ledger.verify()
    assert (report.verdict, report.records, report.waiting) == (LedgerVerdict.SOUND, 2 * EVENTS, 0)
    await ledger.aclose()
