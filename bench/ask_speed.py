"""The cost of a question in time: calls on three transports, every contender in every round.

Compared is the processor time of client and server together: it stays what it is while others use the machine,
and on an idle one it is the time that passes, but for the moments in which the processes wake up. The time that
passed is told beside it. Both are on one processor: to wake up another one costs a virtual machine as much as a third
of a call, and that is neither side's work.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from bench.ask_http import LEGACY, REVISION, ROOT, serving
from bench.ask_servers import ANSWER, CHAIN, SERVERS
from bench.machine import on_one_processor
from bench.measure import OURS, Bench, Figure, progress
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

TRANSPORTS: Final = ("memory", "stdio", "http")
PROCESSES: Final = {"memory": 24, "stdio": 12, "http": 7}
"""How many processes run each server. Two that run the same one differ by up to a tenth for as long as they live, by
where their memory happens to lie; one of each would compare that."""


class Case(NamedTuple):
    """One tool of one server, called on one revision."""

    server: str
    revision: str
    tool: str


SDK_PLAIN = Case("sdk", REVISION, "plain")
SDK_PLAIN_LEGACY = Case("sdk", LEGACY, "plain")
PLAIN = Case("handraise", REVISION, "plain")
PLAIN_LEGACY = Case("handraise", LEGACY, "plain")
ASK = Case("handraise", REVISION, "ask_once")
ASK_LEGACY = Case("handraise", LEGACY, "ask_once")
RESOLVE = Case("sdk", REVISION, "resolve")
ELICIT = Case("sdk", LEGACY, "elicit")
ASK_CHAIN = Case("handraise", REVISION, "ask_chain")
ASK_CHAIN_LEGACY = Case("handraise", LEGACY, "ask_chain")
RESOLVE_CHAIN = Case("sdk", REVISION, "resolve_chain")
ELICIT_CHAIN = Case("sdk", LEGACY, "elicit_chain")

SINGLE = (SDK_PLAIN, SDK_PLAIN_LEGACY, PLAIN, PLAIN_LEGACY, ASK, ASK_LEGACY, RESOLVE, ELICIT)
CHAINS = (ASK_CHAIN, ASK_CHAIN_LEGACY, RESOLVE_CHAIN, ELICIT_CHAIN)


class Spent(NamedTuple):
    """The duration of one call, in seconds."""

    processor: float
    passed: float


class Connection(NamedTuple):
    """An open client, and the process of its server when that is another one."""

    client: Client
    process: int | None

    def processor_time(self) -> float:
        """The processor time of both sides so far."""
        # The second is Linux's own number for the clock of another process; it counts all threads.
        theirs = 0.0 if self.process is None else time.clock_gettime((~self.process << 3) | 2)
        return time.process_time() + theirs


Connections = dict[tuple[str, str], list[Connection]]
Samples = dict[Case, list[Spent]]


def measure_speed(bench: Bench, transport: str, *, rounds: int, calls: int) -> None:
    """Measure everything on one transport."""
    rounds, processes = bench.rounds(rounds), 1 if bench.quick else PROCESSES[transport]
    with on_one_processor():
        if transport != "memory":
            samples = _sampled(transport, range(rounds), calls, processes)
        else:  # the client is in the server's process
            samples = {case: [] for case in (*SINGLE, *CHAINS)}
            with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
                for first in range(processes):
                    share = range(first * rounds // processes, (first + 1) * rounds // processes)
                    for case, spent in pool.submit(_sampled, transport, share, calls, 1).result().items():
                        samples[case] += spent
    _report(bench, transport, samples)


def _sampled(transport: str, rounds: range, calls: int, processes: int) -> Samples:
    """The time of every case in each of some rounds, on servers in so many processes."""
    logging.disable(logging.CRITICAL)
    return asyncio.run(_sample(transport, rounds, calls, processes))


async def _sample(transport: str, rounds: range, calls: int, processes: int) -> Samples:
    samples: Samples = {case: [] for case in (*SINGLE, *CHAINS)}
    order = random.Random(rounds.start + 1)
    async with _connections(transport, processes) as connections:
        for case in samples:
            for connection in connections[case.server, case.revision]:
                await _turn(connection, case, min(5, calls))
        gc.collect()
        gc.freeze()
        try:
            for number in rounds:
                progress(f"{transport}: round {number + 1}, until {rounds.stop}")
                for case in order.sample(list(samples), len(samples)):
                    serving_ones = connections[case.server, case.revision]
                    connection = serving_ones[_who_serves(case.server, number, processes)]
                    samples[case].append(await _turn(connection, case, 1 if case in CHAINS else calls))
        finally:
            gc.unfreeze()
    return samples


def _who_serves(server: str, number: int, processes: int) -> int:
    """Which process serves a round: in time each of ours meets each of theirs."""
    return (number + (number // processes if server == OURS else 0)) % processes


async def _turn(connection: Connection, case: Case, calls: int) -> Spent:
    """The time of one call. One more is made before: the turn before left its own code in the caches.

    Not before a chain, which is warm from its second question on.
    """
    call, arguments = connection.client.call_tool, {"trip": "Oslo"}
    if case not in CHAINS:
        await call(case.tool, arguments)
    passed = []
    used = connection.processor_time()
    for _ in range(calls):
        began = time.perf_counter()
        result = await call(case.tool, arguments)
        passed.append(time.perf_counter() - began)
    used = connection.processor_time() - used
    assert not result.is_error, result
    return Spent(used / calls, median(passed))


def _report(bench: Bench, transport: str, samples: Samples) -> None:
    memory = transport == "memory"
    never = 1.3 if memory else 1.1
    passed: list[Figure] = []

    def compare(title: str, ours: Case, **theirs: tuple[Case, float | None]) -> None:
        used = {OURS: _processor(samples[ours])}
        bars = {}
        for key, (case, bar) in theirs.items():
            name = key.replace("_", " ")
            used[name] = _processor(samples[case])
            if bar is not None:
                bars[name] = bar
            ratio = _ratio(_passed(samples[ours]), _passed(samples[case]))
            passed.append(Figure(f"{title}, to {name}", ratio))
        bench.record(f"{transport}, {title}", used, bars=bars)

    compare(f"a tool that never asks, {REVISION}", PLAIN, mcp_alone=(SDK_PLAIN, never))
    compare(f"a tool that never asks, {LEGACY}", PLAIN_LEGACY, mcp_alone=(SDK_PLAIN_LEGACY, never))
    compare(
        f"one question, {REVISION}",
        ASK,
        plain_call=(PLAIN, None),
        mcp_Resolve=(RESOLVE, 0.55 if memory else None),
    )
    compare(
        f"one question, {LEGACY}",
        ASK_LEGACY,
        plain_call=(PLAIN_LEGACY, None),
        mcp_elicit=(ELICIT, 0.80 if memory else None),
    )
    compare(
        f"{CHAIN} questions, {REVISION}",
        ASK_CHAIN,
        one_question=(ASK, CHAIN + 1),
        mcp_Resolve=(RESOLVE_CHAIN, None),
    )
    compare(
        f"{CHAIN} questions, {LEGACY}",
        ASK_CHAIN_LEGACY,
        one_question=(ASK_LEGACY, CHAIN + 1),
        mcp_elicit=(ELICIT_CHAIN, None),
    )
    alone = {
        "one question by Resolve, to plain call": (RESOLVE, SDK_PLAIN),
        "one question by ctx.elicit, to plain call": (ELICIT, SDK_PLAIN_LEGACY),
        f"{CHAIN} questions by Resolve, to one": (RESOLVE_CHAIN, RESOLVE),
        f"{CHAIN} questions by ctx.elicit, to one": (ELICIT_CHAIN, ELICIT),
    }
    figures = [
        Figure(name, _ratio(_processor(samples[one]), _processor(samples[other])))
        for name, (one, other) in alone.items()
    ]
    bench.state(f"{transport}, mcp alone, for comparison", figures)
    bench.state(f"{transport}, by the time that passed", passed)


def _ratio(one: list[float], other: list[float]) -> float:
    return median(a / b for a, b in zip(one, other, strict=True))


def _processor(spent: list[Spent]) -> list[float]:
    return [one.processor for one in spent]


def _passed(spent: list[Spent]) -> list[float]:
    return [one.passed for one in spent]


@asynccontextmanager
async def _connections(transport: str, processes: int) -> AsyncIterator[Connections]:
    """Clients for each server and revision, all open at the same time."""
    connections: Connections = {}
    async with AsyncExitStack() as stack:
        for server in ("sdk", "handraise") * processes:
            target: Any = SERVERS[server]()
            process = None
            if transport == "http":
                served = stack.enter_context(serving(server))
                target, process = f"http://127.0.0.1:{served.port}/mcp", served.process
            elif transport == "stdio":
                command = ["-m", "bench.ask_servers", server, "stdio"]
                target = StdioServerParameters(
                    command=sys.executable, args=command, cwd=ROOT, env=dict(os.environ)
                )
            for revision in (LEGACY, REVISION):
                client = Client(
                    target,
                    mode="legacy" if revision == LEGACY else revision,
                    elicitation_callback=_person,
                    input_required_max_rounds=CHAIN,
                )
                before = _children()
                await stack.enter_async_context(client)
                if transport == "stdio":
                    (process,) = _children() - before
                connections.setdefault((server, revision), []).append(Connection(client, process))
        yield connections


def _children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


async def _person(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content=ANSWER)
