"""The conformance suite's fixture client, written with the kit for hosts: `client.py URL`.

The suite names the scenario and the revision in the environment. The person behind it accepts everything and leaves
every suggestion of the server as it is.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from handraise.client import Consent, ConsentClient
from handraise.desks import Decision, Queue, Waiting, fill, suggest
from handraise.questions import Accepted, FormQuestion, Origin, Person


class Willing:
    """A gate that lets everything pass."""

    verdict = "allow"
    reasons = ()
    same_as = None
    silent = False
    passkey = ""

    def admit(self, waiting: Waiting, now: float) -> Any:
        return self

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Nothing to remember."""


async def accept_everything(queue: Queue) -> None:
    """Leave the suggestions as they are and say yes to the rest."""
    async for waiting in queue.changes():
        for question in waiting:
            queue.decide(question.id, Decision(Accepted(_content(question)), by="agent", desk="fixture"))


def _content(waiting: Waiting) -> dict[str, Any] | None:
    if not isinstance(waiting.question, FormQuestion):
        return None
    form = waiting.question.form
    flags = {field.name: "yes" for field in form.fields}
    return fill(form, {**flags, **suggest(form)}).content


async def sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="Hello")
    return types.CreateMessageResult(role="assistant", content=text, model="fixture")


CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_result_type", {}),
    ],
    "request-metadata": [("add_numbers", {"a": 5, "b": 3})],
    "tools_call": [("add_numbers", {"a": 5, "b": 3})],
}


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    modern = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] == "2026-07-28"
    queue = Queue()
    consent = Consent(
        queue,
        origin=Origin("suite", url),
        person=Person("", "fixture", "system"),
        gate=Willing(),
        roots=[],
        transport="http",
    )
    answering = asyncio.create_task(accept_everything(queue))
    client = ConsentClient(
        url,
        consent,
        mode="auto" if modern else "legacy",
        sampling_callback=sample,
    )
    async with client:
        await client.list_tools()
        for name, arguments in CALLS.get(scenario, []):
            with suppress(ValidationError):  # one tool of the suite's answers without `resultType`
                await client.call_tool(name, arguments)
    answering.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
