"""Real node processes behind a load balancer that takes turns, and a client that tries again as clients do."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from bench.ask_http import ROOT, Wire

PATIENCE = 30.0


class Program:
    """A process of ours that takes lines and prints lines; it ends when nobody writes to it any more."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, line: str) -> None:
        """Write a line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        """The next line that it prints."""
        out: IO[str] | None = self._process.stdout
        assert out is not None
        return out.readline().strip()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class Node(NamedTuple):
    """A node process."""

    pid: int
    port: int

    def kill(self) -> None:
        """Kill -9, and wait until it is over."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """Wait until it is dead."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            assert select.select([handle], [], [], PATIENCE)[0], "the node lives"
        finally:
            os.close(handle)


class Use(NamedTuple):
    """An answer was used."""

    pid: int
    when: float


class Cluster:
    """Nodes that share one store, behind one load balancer."""

    def __init__(self, nursery: Program, where: str, folder: Path) -> None:
        self.where = where
        self.ledger = str(folder / "ledger")
        """What the key of the nodes' ledger lies beside."""
        self.nodes: list[Node] = []
        self.killed: dict[int, float] = {}
        """When each process that is no more was killed."""
        self._nursery = nursery
        self._log = folder / "log"
        self._balancer = Program("tests.stores.round_robin")
        self.port = int(self._balancer.hear())

    @property
    def url(self) -> str:
        """Where clients find the server."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self, *nodes: Mapping[str, str]) -> list[Node]:
        """More nodes, each with its options."""
        started = []
        for options in nodes:
            self._nursery.tell(json.dumps([self.where, str(self._log), dict(options)]))
            started.append(Node(*map(int, self._nursery.hear().split())))
        self.nodes += started
        self.send_to(*self.nodes)
        return started

    def kill(self, node: Node) -> None:
        """Kill -9."""
        node.kill()
        self.killed[node.pid] = time.monotonic()
        self.nodes.remove(node)
        self.send_to(*self.nodes)

    def send_to(self, *nodes: Node) -> None:
        """Have the load balancer send requests to these nodes."""
        self._balancer.tell(" ".join(str(node.port) for node in nodes))
        assert self._balancer.hear() == "taken"

    def end(self) -> None:
        for node in self.nodes:
            node.kill()
        self._balancer.end()

    def done(self, job: str = "") -> list[str]:
        """What the tools did, on all nodes; for one job, or for all."""
        return [line for line, _ in self._lines() if not job or line.split(" ")[0] == job]

    def uses(self) -> dict[str, list[Use]]:
        """Who used the answer of each job, in order."""
        uses: dict[str, list[Use]] = {}
        for line, use in self._lines():
            if " used " in line:
                uses.setdefault(line.split(" ")[0], []).append(use)
        return uses

    def _lines(self) -> list[tuple[str, Use]]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        parts = [line.split("\t") for line in lines]
        return [(what, Use(int(pid), float(when))) for what, pid, when in parts]

    async def call(self, tool: str, job: str, at: Node | None = None, **more: Any) -> dict[str, Any]:
        """One request; the same again when a node is gone in the middle of it, or the database is away."""
        while True:
            if (reply := await self.try_call(tool, job, at, **more)) is not None:
                return reply
            await asyncio.sleep(0.05)

    async def try_call(
        self, tool: str, job: str, at: Node | None = None, **more: Any
    ) -> dict[str, Any] | None:
        """One request, to a node or to the load balancer; None when nobody answers it."""
        with suppress(OSError, asyncio.IncompleteReadError, AssertionError):
            wire = await Wire.open(self.port if at is None else at.port)
            try:
                reply = await wire.call(tool, {"job": job}, **more)
            finally:
                wire.close()
            if not _is_away(reply):
                return reply
        return None


def _is_away(reply: dict[str, Any]) -> bool:
    """Whether a node said that its store is away: nothing happened, and the same may be sent again."""
    told = str(reply.get("error", "")) + str(reply.get("result", {}).get("content", ""))
    return "could not be kept safely" in told


@contextmanager
def running_cluster(nursery: Program, where: str, *nodes: Mapping[str, str]) -> Iterator[Cluster]:
    """Nodes with these options that run meanwhile."""
    with tempfile.TemporaryDirectory(prefix="hr-nodes-") as folder:
        cluster = Cluster(nursery, where, Path(folder))
        try:
            cluster.start(*nodes)
            yield cluster
        finally:
            cluster.end()


def asked(reply: dict[str, Any]) -> tuple[str, str]:
    """The requestState of a round, and the key of its question."""
    result = reply["result"]
    return result["requestState"], next(iter(result["inputRequests"]))


def answer(state: str, key: str, name: str) -> dict[str, Any]:
    """What a retry carries."""
    content = {"action": "accept", "content": {"answer": name}}
    return {"requestState": state, "inputResponses": {key: content}}


def text_of(reply: dict[str, Any]) -> str:
    """What the model would read."""
    return str(reply["result"]["content"][0]["text"]) if "result" in reply else str(reply["error"])
