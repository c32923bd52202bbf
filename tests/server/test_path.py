"""The path of one question on 2026-07-28: which modules of ours its request and its retry pass."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.rounds import accepted, by_hand

import handraise
from handraise import Handraise, ask

HOME = f"{Path(handraise.__file__).parent}/"
MOST_MODULES = 20


class CallPath:
    """The calls of functions of ours, by module, in the order in which the modules come."""

    def __init__(self) -> None:
        self._frames: dict[FrameType, str] = {}
        """A coroutine that goes on is the same call: its frame is the same."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        sys.setprofile(self._saw)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _saw(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME) and not code.co_name.startswith("<"):
            self._frames.setdefault(frame, code.co_filename.removeprefix(HOME))

    @property
    def calls(self) -> Counter[str]:
        return Counter(self._frames.values())


async def test_one_question_passes_at_most_twenty_modules_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    server = Handraise().install(MCPServer("path"))

    @server.tool()
    async def delete() -> str:
        return (await ask.confirm("Delete it?")).action

    async with by_hand(server) as rounds:
        for _ in range(2):  # the first time, modules are loaded and words are looked up
            request, retry = CallPath(), CallPath()
            with request.watched():
                first = await rounds.call("delete", {})
            with retry.watched():
                answer = {"state": first["requestState"], "responses": accepted(first, answer=True)}
                last = await rounds.call("delete", {}, **answer)
            assert last["content"][0]["text"] == "accept"
    modules = dict.fromkeys([*request.calls, *retry.calls])
    with capsys.disabled():
        print(
            f"\nOne question on 2026-07-28 passes {len(modules)} modules. Calls in the request, in the retry:"
        )
        for module in modules:
            print(f"  {module:28} {request.calls[module]:4} {retry.calls[module]:4}")
    assert len(modules) <= MOST_MODULES
