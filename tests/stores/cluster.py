"""Real node processes behind a round-robin proxy, and a client that tries again as clients do."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.ask_http import ROOT, Wire
from tests.postgres import PostgresServer


class Cluster:
    """Nodes that share one database."""

    def __init__(self, postgres: PostgresServer, folder: Path) -> None:
        self.postgres = postgres
        self.url = postgres.new_database()
        self.log = folder / "log"
        self.nodes: list[tuple[subprocess.Popen[str], int]] = []
        self._turns = itertools.count()

    def start(self) -> None:
        """One more node."""
        command = [sys.executable, "-m", "tests.stores.node", self.url, str(self.log)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        self.nodes.append((process, int(process.stdout.readline())))

    def kill(self, at: int) -> None:
        """Kill -9."""
        process, _ = self.nodes.pop(at)
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def done(self) -> list[str]:
        """What the tools did, on all nodes."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    async def call(self, tool: str, job: str, **more: Any) -> dict[str, Any]:
        """One request to the next node in turn; again to another when a node is gone or the database is away."""
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, AssertionError):
                _, port = self.nodes[next(self._turns) % len(self.nodes)]
                wire = await Wire.open(port)
                try:
                    reply = await wire.call(tool, {"job": job}, **more)
                finally:
                    wire.close()
                if not _is_away(reply):
                    return reply
            await asyncio.sleep(0.05)


def _is_away(reply: dict[str, Any]) -> bool:
    """Whether a node said that its store is away: nothing happened, and the same may be sent again."""
    told = str(reply.get("error", "")) + str(reply.get("result", {}).get("content", ""))
    return "could not be kept safely" in told


@contextmanager
def running_cluster(postgres: PostgresServer, nodes: int = 2) -> Iterator[Cluster]:
    """Nodes that run meanwhile."""
    with tempfile.TemporaryDirectory(prefix="hr-nodes-") as folder:
        cluster = Cluster(postgres, Path(folder))
        try:
            for _ in range(nodes):
                cluster.start()
            yield cluster
        finally:
            for _ in range(len(cluster.nodes)):
                cluster.kill(0)


def asked(reply: dict[str, Any]) -> tuple[str, str]:
    """The requestState of a round, and the key of its question."""
    result = reply["result"]
    return result["requestState"], next(iter(result["inputRequests"]))


def answer(state: str, key: str, name: str) -> dict[str, Any]:
    """What a retry carries."""
    content = {"action": "accept", "content": {"answer": name}}
    return {"requestState": state, "inputResponses": {key: content}}
