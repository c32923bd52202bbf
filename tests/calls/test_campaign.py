"""A campaign: clients repeat themselves, contradict themselves and hang up, while processes that share a store die."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from tests.calls.bare_server import ALICE, BareServer, Gate, UnsteadyStore, ask, once, within
from tests.campaigns import SEED, steps

from handraise.calls import Call, CallBinding, SettledError, Store
from handraise.errors import NotReplayable, StateRefused, StoreError
from handraise.stores import MemoryStore

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

CLIENTS = 8
LEASE = 0.3
LOST = "lost"
"""The outcome of a call whose process died, if its tool is not replayable."""


class Connection(UnsteadyStore):
    """The connection of one process to the store that all share. Takes its time; hangs once the process is dead."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        super().__init__(store)
        self.dead, self.buried = asyncio.Event(), asyncio.Event()
        self._dice = dice

    async def pause(self, name: str, gates: Mapping[str, Gate]) -> None:
        for _ in range(self._dice.choice((0, 0, 1, 2, 5, 9))):
            await asyncio.sleep(0)
        await self.live_on()

    async def live_on(self) -> None:
        """A dead process does nothing more."""
        if self.dead.is_set():
            await self.buried.wait()
            raise StoreError("the process is dead")


class Process(BareServer):
    """A process with a tool whose every effect is written down."""

    def __init__(self, campaign: Campaign) -> None:
        self.connection = Connection(campaign.store, campaign.dice)
        forgets = campaign.dice.random() < 0.3
        super().__init__(self._work, self.connection, lease=LEASE, forget_handlers=forgets)
        self._campaign = campaign

    def may_replay(self, binding: CallBinding) -> bool:
        return binding.method == "replayable"

    async def _work(self, call: Call) -> Any:
        first = await ask(call, "first")
        await self._do(call, "one", [first])
        pair = await asyncio.gather(*(ask(call, key) for key in ("left", "right")))
        await self._do(call, "two", pair)
        return [first, *pair]

    async def _do(self, call: Call, step: str, given: list[Any]) -> None:
        async def effect() -> None:
            await self.connection.live_on()
            self._campaign.effects.setdefault((call.binding.target, step), []).append((self, given))

        await (once(call, step, effect) if call.replays else effect())

    def die(self) -> None:
        """As by `kill -9`: nothing of it goes on, and every request that waits is cut off."""
        self.connection.dead.set()


class Campaign:
    """Processes, and clients that call them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.store: Any = MemoryStore()
        self.effects: dict[tuple[str, str], list[tuple[Process, list[Any]]]] = {}
        self.processes = [Process(self) for _ in range(3)]
        self.dead: list[Process] = []
        self.is_replayable: dict[str, bool] = {}
        self.lost: set[str] = set()

    async def run(self) -> None:
        clients = asyncio.gather(*(self.client(f"call {number}") for number in range(CLIENTS)))
        while not clients.done():
            await asyncio.sleep(self.dice.uniform(0.0, 0.1))
            if self.dice.random() < 0.5:
                self.kill()
        await clients

    def kill(self) -> None:
        """One process dies, and another starts."""
        dying = self.processes.pop(self.dice.randrange(len(self.processes)))
        dying.die()
        self.dead.append(dying)
        self.processes.append(Process(self))

    async def client(self, target: str) -> None:
        """One call, answered to its end, however often that takes."""
        replayable = self.is_replayable[target] = self.dice.random() < 0.5
        binding = ALICE._replace(method="replayable" if replayable else "plain", target=target)
        given: dict[str, Any] = {}
        while (result := await self.request(lambda process: process.call(binding))) is None:
            pass
        while isinstance(result, dict):
            result = await self.answer(result, binding, given)
        if result == LOST:
            assert not replayable, "an answer was lost"
            self.lost.add(target)
        else:
            assert result == [given[key] for key in ("first", "left", "right")]

    async def request(self, send: Any) -> Any:
        """Send a request to a process; None if that dies meanwhile."""
        process = self.dice.choice(self.processes)
        sent = asyncio.ensure_future(send(process))
        died = asyncio.ensure_future(process.connection.dead.wait())
        try:
            await asyncio.wait({sent, died}, return_when=asyncio.FIRST_COMPLETED)
            return sent.result() if sent.done() else None
        finally:
            await _end(sent)
            await _end(died)

    async def answer(self, round_: Any, binding: CallBinding, given: dict[str, Any]) -> Any:
        """Several retries at once. Those that agree get the same outcome, those that do not are refused."""
        whole = {key: f"{key} {self.dice.random()}" for key in round_["inputRequests"]}
        part = dict([self.dice.choice(list(whole.items()))])
        candidates = [whole, dict.fromkeys(whole, "other"), *([part] if part != whole else [])]
        outcomes: list[list[Any]] = [[] for _ in candidates]

        async def retry(at: int) -> None:
            """Until there is an outcome."""
            result = None
            while result is None:
                try:
                    result = await self.request(
                        lambda process: process.retry(round_, candidates[at], binding)
                    )
                except StateRefused:
                    return
                except (NotReplayable, SettledError):
                    result = LOST
            outcomes[at].append(result)

        async def hung_up(at: int) -> None:
            task = asyncio.ensure_future(retry(at))
            for _ in range(self.dice.randrange(30)):
                await asyncio.sleep(0)
            await _end(task)

        tries = [
            self.dice.choice((retry, retry, hung_up))(self.dice.randrange(len(candidates)))
            for _ in range(self.dice.randrange(1, 7))
        ]
        await asyncio.gather(*tries)
        for at in range(len(candidates)):  # one that hung up may have been first
            await retry(at)
        [(used, got)] = [(candidates[at], got) for at, got in enumerate(outcomes) if got]
        assert all(outcome == got[0] for outcome in got)
        given.update(used)
        return got[0]


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


@pytest.mark.shows("C1", "C3", "C6", "C9")
@pytest.mark.parametrize("seed", range(SEED, SEED + steps(12)))
async def test_no_answer_is_lost_and_none_is_used_twice(seed: int) -> None:
    campaign = Campaign(seed)
    await within(campaign.run(), 60)
    for (target, step), done in campaign.effects.items():
        assert all(given == done[0][1] for _, given in done), f"{target} {step} was done with other answers"
        assert len(done) == 1 or campaign.is_replayable[target], f"{target} {step} was done again"
        for (before, _), _ in pairwise(done):
            assert before in campaign.dead, f"{target} {step} was done again though its process lived"
    for target in campaign.is_replayable.keys() - campaign.lost:
        assert {(target, "one"), (target, "two")} <= campaign.effects.keys()
    for process in campaign.dead:
        process.connection.buried.set()
    for process in (*campaign.processes, *campaign.dead):
        await process.close()
        assert process.is_empty
