"""The promise that matters most: nothing runs before the person consented, and nothing when they did not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp import MCPError

from handraise.questions import Answer, Cancelled, Declined, Question
from handraise.revisions import Revision
from handraise.testing.clients import connect
from handraise.testing.people import ScriptedPerson

_ENDINGS: Mapping[str, Answer[Any] | None] = {
    "the person declined": Declined(),
    "the person dismissed the question": Cancelled(),
    "nobody could be asked": None,
}


async def assert_nothing_runs_before_consent(
    server: Any,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    state: Callable[[], Any],
    revisions: Iterable[Revision] = tuple(Revision),
) -> None:
    """Call `tool` on each revision; fail when `state()` changed before it asked, or although nobody consented.

    `state` tells what the tool works on, as a value that can be compared: rows, files, sent messages. The call is
    made with a person who declines, with one who dismisses the question, and by a client that cannot be asked.
    """
    for revision in revisions:
        for ending, answer in _ENDINGS.items():
            before = copy.deepcopy(state())
            person = None if answer is None else _Watching(answer, state, before, f"{tool} on {revision}")
            async with connect(server, revision, person) as client:
                with suppress(MCPError):
                    await client.call_tool(tool, dict(arguments or {}))
            assert person is None or person.asked, f"{tool} on {revision} never asked"
            _unchanged(before, state(), f"{tool} on {revision}: something ran although {ending}")


class _Watching(ScriptedPerson):
    """Answers everything alike, and looks at the state each time it is asked."""

    def __init__(self, answer: Answer[Any], state: Callable[[], Any], before: Any, call: str) -> None:
        super().__init__()
        self._answer, self._state, self._before, self._call = answer, state, before, call

    def answer(self, question: Question) -> types.ElicitResult:
        _unchanged(
            self._before, self._state(), f"{self._call}: something ran before it asked {question.message!r}"
        )
        return types.ElicitResult(action=self._answer.action)


def _unchanged(before: Any, now: Any, complaint: str) -> None:
    assert now == before, f"{complaint}: {before!r} became {now!r}"
