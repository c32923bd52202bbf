"""Events get their places once, whoever writes and whoever gives places meanwhile."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from handraise.ledger import Ledger
from handraise.ledger.audit import Verdict, verify

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
    report = await verify(ledger)
    assert (report.verdict, report.records, report.waiting) == (Verdict.SOUND, 2 * EVENTS, 0)
    await ledger.aclose()
