"""A program that asks one question at its terminal: `python -m … form|empty|abandoned`. A test runs it in a pty."""

from __future__ import annotations

import asyncio
import os
import sys

from tests.desks.questions import form_question

from handraise.desks import Queue
from handraise.desks.terminal.choose import desk_for_terminal
from handraise.forms import Form, Text


async def main(kind: str) -> None:
    queue = Queue()
    desk = desk_for_terminal(queue, sys.stdin, sys.stdout, os.environ)
    assert desk is not None
    print("READY", flush=True)
    await asyncio.sleep(0.3)  # somebody types ahead meanwhile
    sitting = asyncio.create_task(desk.run())
    form = Form.by_hand(Text("name")) if kind == "form" else Form.by_hand()
    decision = await queue.put(form_question("Is that so?", form))
    if kind != "abandoned":
        sitting.cancel()
        await asyncio.gather(sitting, return_exceptions=True)
    print(f"DECIDED {type(decision).__name__} {decision.answer!r}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
