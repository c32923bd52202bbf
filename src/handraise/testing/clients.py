"""Clients for tests, fixed to one revision, and a check that nothing runs before consent."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from handraise.questions import Answer, Cancelled, Declined, Question
from handraise.revisions import Revision
from handraise.sdk.client import Callbacks, elicit_result, open_client, protocol_error
from handraise.testing.people import ScriptedPerson
from handraise.wire import Capabilities, dump_capabilities

BOTH = ("form", "url")


@asynccontextmanager
async def connect(
    server: Any,
    revision: Revision | str,
    person: ScriptedPerson | None = None,
    *,
    modes: Iterable[str] = BOTH,
    **options: Any,
) -> AsyncIterator[Any]:
    """A client of `server` that speaks `revision`. Without a person it cannot be asked.

    `server` is a server in this process, a URL, or a command's parameters. `options` are those of the SDK's client.
    """
    spoken, declared = Revision(revision), tuple(modes)

    def declare(capabilities: dict[str, Any], at: Revision) -> None:
        if capabilities.pop("elicitation", None) is not None:
            both = Capabilities(form="form" in declared, url="url" in declared)
            capabilities |= dump_capabilities(both, at)

    client = open_client(
        server,
        Callbacks(person, None, options.pop("message_handler", None)),
        declare,
        mode=str(spoken) if spoken.modern else "legacy",
        offer=None if spoken.modern else spoken,
        **options,
    )
    person = person or ScriptedPerson()
    try:
        async with client:
            assert client.protocol_version == spoken, f"the server speaks {client.protocol_version}"
            yield client
            await person.finish_visits()
    finally:
        person.fail_on_surprise()
    person.fail_on_leftovers()


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
    """Call `tool` on each revision. Fail when `state()` changes before the question, or without consent.

    `state` returns what the tool changes, as a comparable value: rows, files, sent messages. The call is made with a
    person who declines, with one who dismisses the question, and by a client that cannot be asked.
    """
    for revision in revisions:
        for ending, answer in _ENDINGS.items():
            before = copy.deepcopy(state())
            person = None if answer is None else _Watching(answer, state, before, f"{tool} on {revision}")
            async with connect(server, revision, person) as client:
                with suppress(protocol_error()):
                    await client.call_tool(tool, dict(arguments or {}))
            assert person is None or person.asked, f"{tool} on {revision} never asked"
            _unchanged(before, state(), f"{tool} on {revision}: something ran although {ending}")


class _Watching(ScriptedPerson):
    """Gives the same answer to every question, and checks the state each time."""

    def __init__(self, answer: Answer[Any], state: Callable[[], Any], before: Any, call: str) -> None:
        super().__init__()
        self._answer, self._state, self._before, self._call = answer, state, before, call

    def answer(self, question: Question) -> Any:
        _unchanged(
            self._before, self._state(), f"{self._call}: something ran before it asked {question.message!r}"
        )
        return elicit_result({"action": self._answer.action})


def _unchanged(before: Any, now: Any, complaint: str) -> None:
    assert now == before, f"{complaint}: {before!r} became {now!r}"
