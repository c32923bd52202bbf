"""Many pending questions on one PostgreSQL and two nodes: the cost of each, the time of an answer, the rate.

The nodes are processes of `bench.scale_node`, without an SDK around them. "Bare" is the same rows written, or the same
hint sent, with psycopg alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

from bench.ask_http import ROOT
from bench.measure import OURS, OUT, Bench, Figure, progress
from bench.scale_chart import chart
from bench.sizing import EVENT_ON_DISK, PROCESSOR, QUESTION_ON_DISK
from tests.postgres import PostgresServer, running_postgres

SIZES = (1_000, 10_000, 100_000)
CLIENTS = 64
TURNS = 5
WAKEUPS, WARM_UP = 300, 20
BARE = "bare transactions of the same rows"
NOTIFY = "bare NOTIFY to LISTEN"


def run(bench: Bench) -> None:
    """Measure, and draw."""
    with running_postgres(fsync=True) as postgres:
        plot = chart([_pending(bench, postgres, size) for size in ((100,) if bench.quick else SIZES)])
        if not bench.quick:
            OUT.mkdir(exist_ok=True)
            (OUT / "scale.svg").write_text(plot)
        _throughput(bench, postgres)
        _wakeups(bench, postgres)


class Node:
    """One node process, told by lines of JSON what to do."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "bench.scale_node", url]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, what: str, *args: Any) -> None:
        """Start something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([what, *args]) + "\n")
        self._process.stdin.flush()

    def told(self) -> Any:
        """The result."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def do(self, what: str, *args: Any) -> Any:
        """Both."""
        self.tell(what, *args)
        return self.told()

    def end(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(60)


@contextmanager
def nodes(url: str) -> Iterator[tuple[Node, Node]]:
    """Two nodes on one database."""
    both = Node(url), Node(url)
    try:
        yield both
    finally:
        for node in both:
            node.end()


def _pending(bench: Bench, postgres: PostgresServer, size: int) -> dict[str, float]:
    """Park half of them on each node; then ask on one and answer on the other, again and again."""
    progress(f"{size:,} pending questions")
    with nodes(postgres.new_database()) as (one, two):
        before = [node.do("memory") for node in (one, two)]
        for node in (one, two):
            node.tell("park", size // 2)
        seconds = max(node.told() for node in (one, two))
        after = [node.do("memory") for node in (one, two)]
        held = sum(after) - sum(before)
        disk = one.do("disk", "rounds") / size
        times = []
        for _ in range(2 if bench.quick else 100):
            token = one.do("ask")
            times.append(two.do("answer", token))
        cuts = quantiles(times, n=100)
    row = {
        "size": float(size),
        "bytes": held / size,
        "park": seconds / size,
        "p50": median(times),
        "p99": cuts[98],
    }
    bench.state(
        f"{size:,} pending on two nodes",
        [
            Figure("memory of a pending question", row["bytes"] / 1024, "KiB"),
            Figure(QUESTION_ON_DISK, disk, "bytes"),
            Figure("parking one", row["park"] * 1e6, "µs"),
            Figure("answer through the other node, p50", row["p50"] * 1e3, "ms"),
            Figure("answer through the other node, p99", row["p99"] * 1e3, "ms"),
        ],
    )
    return row


def _throughput(bench: Bench, postgres: PostgresServer) -> None:
    """Answers at 64 clients: ours with their event, and the same rows in bare transactions."""
    passed: dict[str, list[float]] = {OURS: [], BARE: []}
    used, disk = [], 0.0
    count = CLIENTS if bench.quick else 3_000
    for turn in range(bench.rounds(TURNS)):
        progress(f"answers a second: round {turn + 1} of {bench.rounds(TURNS)}")
        with nodes(postgres.new_database()) as (node, _):
            passed[BARE].append(node.do("bare", count, CLIENTS)[0])
            each, processor = node.do("consume", count, CLIENTS)
            passed[OURS].append(each)
            used.append(processor)
            disk = node.do("disk", "events") / (2 * count)
    bench.record(f"an answer, {CLIENTS} clients of one node", passed, bars={BARE: 2.0})
    bench.state(
        f"answers, {CLIENTS} clients of one node",
        [
            Figure("handraise", 1 / median(passed[OURS]), "a second"),
            Figure(BARE, 1 / median(passed[BARE]), "a second"),
            Figure(PROCESSOR, 1e6 * median(used), "µs"),
            Figure(EVENT_ON_DISK, disk, "bytes"),
        ],
    )


def _wakeups(bench: Bench, postgres: PostgresServer) -> None:
    """From the answer committed on one node to the body awake on the other.

    Bare is the same row committed, and from then on a NOTIFY of as many bytes until it is heard on the other.
    """
    passed: dict[str, list[float]] = {OURS: [], NOTIFY: []}
    with nodes(postgres.new_database()) as (one, two):
        one.do("listen")
        for turn in range(-WARM_UP, bench.rounds(WAKEUPS)):
            progress(f"wake-ups: {turn} of {bench.rounds(WAKEUPS)}")
            token = one.do("ask")
            committed = two.do("answer_at", token)
            ours = one.do("woken", token) - committed
            sent = two.do("notify", token)
            bare = one.do("heard") - sent
            if turn >= 0:
                passed[OURS].append(ours)
                passed[NOTIFY].append(bare)
    bench.record("a wake-up across processes", passed, bars={NOTIFY: 2.0})
