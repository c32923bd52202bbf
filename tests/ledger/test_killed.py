"""Nothing that was acknowledged is missing after kill -9, however often it happens and whoever writes meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import selectors
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from tests.campaigns import steps

from handraise.ledger import Ledger
from handraise.ledger.verify import LedgerVerdict

ROUNDS = steps(20)

WRITER = """
    import asyncio, os, sys
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from handraise.ledger import Ledger
    from tests.ledger.examples import a_trail

    async def write(ledger, name):
        for number in range(1_000_000):
            trail = a_trail(ledger, f"{name}_{number}")
            for record in (trail.asked(), trail.decided("accept", "human", content={"which": "b"})):
                await ledger.record(record)
                kind = int(b'"kind":"decided"' in record.body)
                os.write(1, f"{trail.question} {kind}\\n".encode())

    async def live(path):
        ledger = Ledger.at(path)
        ledger._later._delay = 0.01
        await ledger.start()
        await asyncio.gather(*(write(ledger, f"{os.getpid()}_{at}") for at in range(4)))

    while child := os.fork():  # one life after the other, each to be killed: starting Python anew would take longer
        os.write(1, f"started {child}\\n".encode())
        os.waitpid(child, 0)
    asyncio.run(live(sys.argv[1]))
"""


def lives_of(path: Path, rounds: int) -> set[tuple[str, str]]:
    """Let a process write and be killed again and again; everything that it was told is safe."""
    code = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
    told: set[tuple[str, str]] = set()
    chance = random.Random(7)
    root = Path(__file__).parents[2]
    with subprocess.Popen(code, stdout=subprocess.PIPE, cwd=root, start_new_session=True) as process:
        assert process.stdout is not None
        lines = Lines(process.stdout.fileno())
        try:
            for _ in range(rounds):
                word, child = lines.next_pair()
                while word != "started":
                    told.add((word, child))
                    word, child = lines.next_pair()
                for _ in range(chance.randrange(1, 5)):
                    told.add(lines.next_pair())
                os.kill(int(child), signal.SIGKILL)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with the life that it may just have begun
    return told


class Lines:
    """What a process writes, a line at a time, and never waiting for ever."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._buffer = b""
        self._ready = selectors.DefaultSelector()
        self._ready.register(handle, selectors.EVENT_READ)

    def next_pair(self) -> tuple[str, str]:
        while b"\n" not in self._buffer:
            assert self._ready.select(timeout=60), "nothing was written for a minute"
            self._buffer += os.read(self._handle, 65536)
        line, self._buffer = self._buffer.split(b"\n", 1)
        first, second = line.decode().split()
        return first, second


async def all_settled(ledger: Ledger, path: Path) -> None:
    """Wait until nobody but us is present; the last of the killed may still be dying."""
    async with asyncio.timeout(60):
        while True:
            await ledger.start()
            present = {file.name.rpartition("-")[2] for file in path.parent.glob(f"{path.name}.writer-*")}
            if present <= {ledger.store.ledger._presence._name}:  # type: ignore[attr-defined]
                return
            await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.shows("G5")
async def test_nothing_that_was_acknowledged_is_missing_after_many_kills(path: Path) -> None:
    other = Ledger.at(path)  # somebody else who has the ledger open all the time
    await other.start()
    told = lives_of(path, ROUNDS)
    assert len(told) > ROUNDS
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await all_settled(other, path)
    there, ambiguous = set(), set()
    async for _, event in other.events():
        if event.kind == "ambiguous":
            ambiguous.add(event.question)
        else:
            there.add((event.question, "1" if event.kind == "decided" else "0"))
    assert told <= there
    in_flight = {question for question, _ in there} - {q for q, decided in there if decided == "1"}
    assert ambiguous == in_flight
    await other.place()
    report = await other.verify()
    assert report.verdict is LedgerVerdict.SOUND, report
    await other.aclose()
