"""The README is short, and what it promises happens."""

from __future__ import annotations

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult
from tests.docs.calling import CANCEL, DECLINE, MODES, Script, accept, call
from tests.docs.snippets import ROOT, Page, pages, run_python

[README, *_] = pages()


def _server(page: Page, number: int) -> MCPServer:
    blocks = [index for index, block in enumerate(page.blocks) if block.language == "python"]
    server = run_python(page, blocks[number]).server
    assert isinstance(server, MCPServer)
    return server


def test_it_is_short_and_starts_with_code() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
    assert README.blocks[0].language == "python"
    assert README.blocks[0].line <= 20


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (accept(answer="n2"), "Deleted n2."),
        (DECLINE, "Kept them all."),
        (CANCEL, "Nothing deleted; ask me again later."),
    ],
)
async def test_the_first_tool_hears_all_three_answers(mode: str, answer: ElicitResult, said: str) -> None:
    assert await call(_server(README, 0), mode, "delete_note", Script(answer), title="Tea") == said


@pytest.mark.parametrize("mode", MODES)
async def test_the_second_tool_asks_twice(mode: str) -> None:
    person = Script(accept(target="staging"), accept(answer=True))
    assert await call(_server(README, 1), mode, "deploy", person) == "Deployed to staging."
    assert person.asked == [
        "Where shall it go?",
        "Replace 2 replicas on staging?\nIf you decline: Nothing changes.",
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_the_second_tool_stops_politely(mode: str) -> None:
    person = Script(accept(target="staging"), accept(answer=False))
    assert await call(_server(README, 1), mode, "deploy", person) == "Nothing was deployed."
