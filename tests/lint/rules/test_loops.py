"""Asking over and over."""

from __future__ import annotations

import pytest
from tests.lint.found import codes, in_tool

pytestmark = pytest.mark.shows("U5")

ASK = "(await ask.confirm(f'Rename {name}?')).or_stop()"
FIRES = {
    "for": f"for name in names:\n    {ASK}",
    "while": f"while not done:\n    {ASK}",
    "async for": f"async for name in names:\n    {ASK}",
    "a comprehension": f"return [{ASK} for name in names]",
}
SILENT = {
    "what a loop goes over": "for x in (await ask.choose_many('Which?', names)).or_stop():\n    work(x)",
    "the else of a loop": f"for x in names:\n    work(x)\nelse:\n    {ASK}",
    "what a comprehension goes over": "return [x for x in (await ask.choose_many('Which?', a)).or_stop()]",
    "one round for all": (
        "a = await ask.all(**{n: ask.date(f'When {n}?') for n in names})\n"
        "return [x.or_stop() for x in a.values()]"
    ),
    "a function made in a loop": f"for x in names:\n    async def later(name):\n        {ASK}\n    add(later)",
}


@pytest.mark.parametrize("lines", FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(lines: str) -> None:
    assert codes(in_tool(lines)) == ["HR502"]


@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(lines: str) -> None:
    assert codes(in_tool(lines)) == []


def test_a_function_that_only_defines_one_that_asks_may_be_called_in_a_loop() -> None:
    text = f"def shop():\n    async def sure(name):\n        {ASK}\n    return sure\nfor x in range(3):\n    shop()\n"
    assert codes(text) == []


def test_a_function_that_asks_is_found_in_the_loop_that_calls_it() -> None:
    text = f"async def sure(name):\n    {ASK}\nasync def work(names):\n    for n in names:\n        await sure(n)"
    assert codes(text) == ["HR502"]
