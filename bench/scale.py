"""Many pending questions on one PostgreSQL and two nodes: what each costs, how long an answer takes, how many a second.

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
from bench.measure import OUT, Bench, Figure
from bench.scale_chart import chart
from tests.postgres import PostgresServer, running_postgres

SIZES = (1_000, 10_000, 100_000)
CLIENTS = 64
ANSWERS = 3_000


def run(bench: Bench) -> None:
    """Measure, and draw."""
    with running_postgres(fsync=True) as postgres:
        rows = [_pending(bench, postgres, size) for size in SIZES]
        OUT.mkdir(exist_ok=True)
        (OUT / "scale.svg").write_text(chart(rows))
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
        """What came of it."""
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
    bench.progress(f"{size:,} pending questions")
    with nodes(postgres.new_database()) as (one, two):
        before = [node.do("memory") for node in (one, two)]
        for node in (one, two):
            node.tell("park", size // 2)
        seconds = max(node.told() for node in (one, two))
        after = [node.do("memory") for node in (one, two)]
        held = sum(after) - sum(before)
        times = []
        for _ in range(100):
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
        f"{size:,} pending, two nodes",
        [
            Figure("memory of a pending question", row["bytes"] / 1024, "KiB"),
            Figure("parking one", row["park"] * 1e6, "µs"),
            Figure("answer through the other node, p50", row["p50"] * 1e3, "ms"),
            Figure("answer through the other node, p99", row["p99"] * 1e3, "ms"),
        ],
    )
    return row


def _throughput(bench: Bench, postgres: PostgresServer) -> None:
    """Answers a second at 64 clients: ours with their event, and the same rows in bare transactions."""
    ratios, ours, bare = [], [], []
    for turn in range(5):
        bench.progress(f"answers a second: round {turn + 1} of 5")
        with nodes(postgres.new_database()) as (one, _):
            bare.append(one.do("bare", ANSWERS, CLIENTS))
            ours.append(one.do("consume", ANSWERS, CLIENTS))
            ratios.append(ours[-1] / bare[-1])
    bench.state(
        f"answers a second, {CLIENTS} clients, one node process",
        [
            Figure("handraise", median(ours), "a second"),
            Figure("bare transactions of the same rows", median(bare), "a second"),
            Figure("ratio", median(ratios), at_least=0.5),
        ],
    )


def _wakeups(bench: Bench, postgres: PostgresServer) -> None:
    """From the answer on one node to the body on the other, beside a bare NOTIFY across two processes."""
    bench.progress("wake-ups")
    with nodes(postgres.new_database()) as (one, two):
        ours, bare = [], []
        one.do("listen")
        for _ in range(200):
            token = one.do("ask")
            committed = two.do("answer_at", token)
            ours.append(one.do("woken", token) - committed)
            sent = two.do("notify")
            bare.append(one.do("heard") - sent)
    bench.state(
        "wake-up across processes",
        [
            Figure("handraise, answer committed to body awake, p50", median(ours) * 1e3, "ms"),
            Figure("bare NOTIFY to LISTEN, p50", median(bare) * 1e3, "ms"),
            Figure("ratio", median(ours) / median(bare), at_most=2.0),
        ],
    )
