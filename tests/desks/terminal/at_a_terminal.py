"""A program that asks one question at its terminal: `python -m … form|empty|…`. A test runs it in a pty or in tmux."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable

from tests.desks.questions import form_question
from tests.desks.web import samples

from handraise.desks import Queue, Waiting
from handraise.desks.terminal.desk import desk_for_terminal
from handraise.forms import Form, Text

ASKED: dict[str, Callable[[], Waiting]] = {
    "form": lambda: form_question("Is that so?", Form.by_hand(Text("name"))),
    "empty": lambda: form_question("Is that so?", Form.by_hand()),
    "abandoned": lambda: form_question("Is that so?", Form.by_hand()),
    "goes on": lambda: form_question("Is that so?", Form.by_hand()),
    "confirm": samples.confirm,
    "noisy": samples.confirm,
    "seven": samples.seven,
    "options": lambda: samples.long(80, 2_000),
}


async def make_noise() -> None:
    """Log and print while the question is on the screen, as servers do."""
    logging.basicConfig()
    for number in range(1000):
        logging.warning("log line %s of a server", number)
        print("a line on standard output", number)
        await asyncio.sleep(0.1)


async def main(kind: str) -> None:
    queue = Queue()
    desk = desk_for_terminal(queue, sys.stdin, sys.stdout, os.environ)
    assert desk is not None
    print("READY", flush=True)
    await asyncio.sleep(0.3)  # somebody types ahead meanwhile
    sitting = asyncio.create_task(desk.run())
    noise = asyncio.create_task(make_noise()) if kind == "noisy" else None
    decision = await queue.put(ASKED[kind]())
    if noise is not None:
        noise.cancel()
    if kind not in ("abandoned", "goes on"):
        sitting.cancel()
        await asyncio.gather(sitting, return_exceptions=True)
    print(f"DECIDED {type(decision).__name__} {decision.answer!r}", flush=True)
    if kind == "goes on":
        await asyncio.sleep(3)  # the desk closes its screen by itself meanwhile
        print("AFTERWARDS", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
