"""Run every client that is installed, and print what came of each scenario: `python -m tests.clients.table [NAME…]`.

The clients run in a network namespace with nothing but loopback, where the system allows one. RECORD=1 writes the
runs to src/handraise/gateway/clients/runs.json, from which docs/clients.md is made. JOBS is how many run at once:
they mostly wait, so that four keep two cores busy.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.clients.dialogs import DIALOGS
from tests.clients.drivers import DECIDING_ALONE, DRIVERS, LIMITED
from tests.clients.install import load_pins, missing
from tests.clients.scenarios import FAILED, SCENARIOS, TIMER, judge, scenarios_of
from tests.clients.session import Way, run
from tests.command import ROOT

RUNS = ROOT / "src" / "handraise" / "gateway" / "clients" / "runs.json"
WAYS: tuple[Way, ...] = ("directly", "gateway", "gateway over HTTP")


@dataclass(frozen=True, slots=True)
class Session:
    """What is run at once: a client, on one way, at its own terminal or without one."""

    client: str
    way: Way
    kind: str = "scripted"
    """`scripted`, `dialog` where a person sits at the client's own terminal, `timer` where the client gives up."""

    @property
    def title(self) -> str:
        """For the table."""
        return {
            "scripted": self.way,
            "dialog": f"{self.way}, own dialog",
            "timer": f"{self.way}, short limit",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a session."""

    session: Session
    outcomes: dict[str, str]
    revision: str
    asks: str
    elsewhere: list[str]
    seconds: float


def sessions(names: Sequence[str]) -> Iterator[Session]:
    """The sessions of these clients. One with a dialog of its own is not run directly without a terminal.

    There it decides for a person who saw nothing, and no server can tell.
    """
    for name in names:
        for way in WAYS:
            asks = name in DIALOGS or name in DECIDING_ALONE
            if (way != "directly" or not asks) and (name not in DIALOGS or DIALOGS[name].headless):
                yield Session(name, way)
            if name in DIALOGS and way != "gateway over HTTP":
                yield Session(name, way, "dialog")
        if name in LIMITED:
            yield Session(name, "gateway", "timer")


def run_session(session: Session) -> Result:
    """Run one session, and judge it."""
    begun = time.monotonic()
    dialog = DIALOGS[session.client] if session.kind == "dialog" else None
    chosen = [TIMER] if session.kind == "timer" else list(scenarios_of(session.way))
    if dialog:
        out = (*dialog.left_out, "park and resume")
        chosen = [each for each in chosen if each.name not in out]
    steps = [each.step for each in chosen]
    options = ["--hold", "3" if session.kind == "scripted" else "60"]
    driver = dialog.driver if dialog else DRIVERS[session.client]
    sit = dialog.sit if dialog else None
    limit = 12.0 if session.kind == "timer" else None
    try:
        seen = run(session.client, driver, session.way, steps, options, limit, sit)
    except Exception:  # one client does not stop the others
        failed = f"{FAILED}: {traceback.format_exc()[-1500:]}"
        return Result(session, {each.name: failed for each in chosen}, "", "", [], time.monotonic() - begun)
    judged = {each.name: judge(each.step, seen, dialog=dialog is not None) for each in chosen}
    if not seen.made:
        screen = " ".join(seen.output.split())[-400:]
        judged = dict.fromkeys(judged, f"{FAILED}: no call was made. {screen}")
    revision, asks = seen.declared()
    return Result(session, judged, revision, asks, sorted(set(seen.elsewhere)), time.monotonic() - begun)


def main(names: Sequence[str]) -> int:
    """Run the clients; 1 when a scenario failed."""
    begun = time.monotonic()
    absent = missing()
    chosen = [name for name in names or DRIVERS if name not in absent]
    results: list[Result] = []
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "4"))) as pool:
        for done in as_completed([pool.submit(run_session, each) for each in sessions(chosen)]):
            result = done.result()
            results.append(result)
            failed = sum(outcome.startswith(FAILED) for outcome in result.outcomes.values())
            said = f"{failed} FAILED" if failed else "ok"
            print(
                f"{result.session.client}, {result.session.title}: {said}, {result.seconds:.0f} s", flush=True
            )
    results.sort(key=lambda each: (list(DRIVERS).index(each.session.client), each.session.title))
    for line in table(results):
        print(line)
    for name in names or load_pins():
        if name in absent:
            print(f"not installed: {name}: {absent[name]}")
    print(f"{len(results)} sessions in {time.monotonic() - begun:.0f} seconds")
    if os.environ.get("RECORD"):
        record(results)
    return int(any(outcome.startswith(FAILED) for each in results for outcome in each.outcomes.values()))


def table(results: Sequence[Result]) -> Iterator[str]:
    """The table, and below it the reason of each failure."""
    short = {"answered in the client": "client", "answered at the desk": "desk", "told why not": "told"}
    columns = [each.name for each in (*SCENARIOS, TIMER)]
    yield "client: answered in its own dialog. desk: answered at the desk. told: both are told why not."
    rows = [["client", *columns]]
    for each in results:
        cells = [short.get(each.outcomes.get(name, ""), each.outcomes.get(name, "")[:6]) for name in columns]
        rows.append([f"{each.session.client}, {each.session.title}", *(cell or "-" for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for each in results:
        for name, outcome in each.outcomes.items():
            if outcome.startswith(FAILED):
                yield f"{each.session.client}, {each.session.title}, {name}: {outcome}"


def record(results: Sequence[Result]) -> None:
    """Write what was seen into the package. A client that was not run this time keeps its entry."""
    pins = load_pins()
    runs = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {}
    for name in dict.fromkeys(each.session.client for each in results):
        own = [each for each in results if each.session.client == name]
        spoken = next((each for each in own if each.revision), own[0])
        runs[name] = {
            "title": pins[name].title,
            "version": pins[name].version,
            "date": datetime.now(UTC).date().isoformat(),
            "revision": spoken.revision,
            "asks": spoken.asks,
            "note": pins[name].note,
            "runs": {
                each.session.title: {k: v.split(":")[0] for k, v in each.outcomes.items()} for each in own
            },
        }
    runs = {name: runs[name] for name in DRIVERS if name in runs}
    RUNS.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")


def alone(arguments: Sequence[str]) -> None:
    """Become a process without a network, where the system allows it; loopback stays."""
    if os.environ.get("HANDRAISE_ALONE"):
        _raise_loopback()
        return
    unshare = [shutil.which("unshare") or "", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net"]
    if not unshare[0] or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        print("This system gives no network namespace: clients are kept from the network by a proxy only.")
        return
    os.environ["HANDRAISE_ALONE"] = "1"
    os.execv(unshare[0], [*unshare, sys.executable, "-m", "tests.clients.table", *arguments])


def _raise_loopback() -> None:
    get, put, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh22x", b"lo", 0)
        (flags,) = struct.unpack("16xh22x", fcntl.ioctl(any_socket, get, asked))
        fcntl.ioctl(any_socket, put, struct.pack("16sh22x", b"lo", flags | up))


if __name__ == "__main__":
    alone(sys.argv[1:])
    sys.exit(main(sys.argv[1:]))
