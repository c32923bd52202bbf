"""Three processes, one store, clients that repeat themselves, contradict themselves and hang up."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from typing import Any

import pytest
from tests.conversation.parking import ALICE, Parking, Unsteady, ask, once, within

from handraise.conversation import Binding, Conversation
from handraise.errors import StateRefused

pytestmark = pytest.mark.slow


class Jittery(Unsteady):
    """A store that takes its time, never the same."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    async def _pass(self, gates: Any, name: str) -> None:
        for _ in range(self._dice.choice((0, 0, 1, 2, 5, 9))):
            await asyncio.sleep(0)


class Chaos:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.effects: Counter[str] = Counter()
        self.used: dict[str, list[Any]] = {}
        store = Jittery(self.dice)
        self.processes = [
            Parking(self.body, store, replayable=True, lease=0.5, forget_bodies=forgets)
            for forgets in (False, False, True)
        ]
        self._calls = 0

    async def body(self, conversation: Conversation) -> Any:
        call = conversation.binding.target
        first = await ask(conversation, "first")
        await once(conversation, "one", lambda: self.do(f"{call} one", first))
        pair = await asyncio.gather(*(ask(conversation, key) for key in ("left", "right")))
        await once(conversation, "two", lambda: self.do(f"{call} two", pair))
        return [first, *pair]

    def do(self, step: str, given: Any) -> str:
        self.effects[step] += 1
        self.used.setdefault(step, []).append(given)
        return step

    async def client(self) -> None:
        """One call, answered to its end, however often that takes."""
        self._calls += 1
        process = self.dice.choice(self.processes)
        binding = ALICE._replace(target=f"call {self._calls}")
        result = await process.call(binding)
        while isinstance(result, dict):
            result = await self.answer(result, binding)
        assert len(result) == 3

    async def answer(self, round_: Any, binding: Binding) -> Any:
        """Several retries at once. Those that agree get the same, those that do not are refused."""
        whole = {key: f"{key} {self.dice.random()}" for key in round_["inputRequests"]}
        part = dict([self.dice.choice(list(whole.items()))])
        candidates = [whole, dict.fromkeys(whole, "other"), *([part] if part != whole else [])]
        outcomes: list[list[Any]] = [[] for _ in candidates]

        async def retry(at: int) -> None:
            process = self.dice.choice(self.processes)
            with contextlib.suppress(StateRefused):
                outcomes[at].append(await process.retry(round_, candidates[at], binding))

        async def hung_up(at: int) -> None:
            task = asyncio.ensure_future(retry(at))
            for _ in range(self.dice.randrange(30)):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])

        tries = [
            self.dice.choice((retry, retry, hung_up))(self.dice.randrange(len(candidates)))
            for _ in range(self.dice.randrange(1, 7))
        ]
        await asyncio.gather(*tries)
        for at in range(len(candidates)):  # whoever hung up may have been first
            await retry(at)
        [taken] = [got for got in outcomes if got]
        assert all(outcome == taken[0] for outcome in taken)
        return taken[0]


@pytest.mark.shows("C1", "C3", "C6", "C9")
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_clients_do_each_answer_is_used_once_and_each_effect_happens_once(seed: int) -> None:
    chaos = Chaos(seed)
    await within(asyncio.gather(*(chaos.client() for _ in range(8))), 60)
    assert chaos.effects == Counter(
        {f"call {call} {step}": 1 for call in range(1, 9) for step in ("one", "two")}
    )
    for process in chaos.processes:
        await within(process.lot.close())
        assert process.is_empty
    assert await chaos.processes[0].store.pending() == []
