"""The tools of the page about asking do what it says, and its table has every option."""

from __future__ import annotations

import pytest
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult
from tests.docs.calling import DECLINE, MODES, Script, accept, call
from tests.docs.snippets import pages, run_python

PAGES = [page for page in pages() if page.name in ("docs/asking.md", "docs/suspended-calls.md")]


class ByMessage(Script):
    """A person who answers each question by what it says, in whatever order questions come."""

    def __init__(self, answers: dict[str, list[str]]) -> None:
        super().__init__()
        self._by_message = answers

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        assert isinstance(params, ElicitRequestFormParams)
        [field] = params.requested_schema["properties"]
        return accept(**{field: self._by_message[params.message.splitlines()[0]].pop(0)})


def _server(tool: str) -> MCPServer:
    """The server of the block that defines a tool."""
    [(page, index)] = [
        (page, index)
        for page in PAGES
        for index, block in enumerate(page.blocks)
        if f"async def {tool}(" in block.text
    ]
    server = run_python(page, index).server
    assert isinstance(server, MCPServer)
    return server


@pytest.mark.parametrize("mode", MODES)
async def test_a_confirmation_tells_no_from_a_refusal_to_answer(mode: str) -> None:
    server = _server("archive")
    no = Script(accept(answer=False))
    assert await call(server, mode, "archive", no, folder="2024") == "The person said no."
    refusal = Script(DECLINE)
    assert await call(server, mode, "archive", refusal, folder="2024") == "The person refused to answer."


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_be_asked_gets_the_fallback(mode: str) -> None:
    server = _server("local_time")
    assert await call(server, mode, "local_time", None) == "12:00 in UTC; the person could not be asked."
    assert await call(server, mode, "local_weather", None) == "Ask the person in the chat where they are."
    assert await call(server, mode, "local_weather", Script(accept(answer="Bergen"))) == "Rain in Bergen."


@pytest.mark.parametrize("mode", MODES)
async def test_a_check_of_the_authors_own_asks_again(mode: str) -> None:
    server = _server("plan")
    person = ByMessage({"What is it called?": ["retro", "review"], "On which day?": ["2026-11-20"]})
    assert await call(server, mode, "plan", person) == "review on 20 November"
    assert any("retro exists already." in message for message in person.asked)


@pytest.mark.parametrize("mode", MODES)
async def test_a_replayable_tool_with_a_store_works_like_any_other(mode: str) -> None:
    person = Script(accept(answer=True))
    assert await call(_server("order"), mode, "order", person, article="tea") == (
        "Bought, with the reservation of tea."
    )
