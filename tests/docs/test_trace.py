"""The traces on the page about them are what really crosses.

HANDRAISE_WRITE_TRACES=1 python -m pytest tests/docs/test_trace.py    writes them anew
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters, stdio_client
from tests.client.hosts import host
from tests.docs.snippets import ROOT, pages
from tests.server.peers import REVISIONS, text_of

from handraise.client.tap import tapped
from handraise.desks.scripted import Line
from handraise.revisions import Revision
from handraise.trace import Trace

PAGE = ROOT / "docs" / "trace.md"
[SERVER] = [page.files["greeter.py"] for page in pages() if page.name == "docs/trace.md"]

VARIES = {
    r"(?m)^ +\d+\.\d{3} s": "    0.000 s",
    r"q_[0-9a-f]{24}": "q_0",
    r"hr1\.[\w-]{4}…": "hr1.…",
}


async def traced(revision: Revision, folder: Path) -> str:
    """What crosses when the page's server asks for a name."""
    program = folder / "greeter.py"
    program.write_text(SERVER, encoding="utf-8")
    started = StdioServerParameters(command=sys.executable, args=[str(program)])
    lines: list[str] = []
    transport = tapped(stdio_client(started), Trace(lines.append).message)
    async with host(transport, revision, [Line("accept", {"answer": "Ada"})]) as here:
        assert text_of(await here.client.call_tool("greet")) == "Hello Ada"
    shown = "".join(lines)
    return shown[: shown.index("tools/list")].rpartition("\n")[0].strip("\n") + "\n"


def constant(trace: str) -> str:
    for pattern, constant in VARIES.items():
        trace = re.sub(pattern, constant, trace)
    return trace


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_the_page_shows_what_crosses(revision: Revision, tmp_path: Path) -> None:
    trace = await traced(revision, tmp_path)
    block = re.compile(rf"(?s)(<!-- trace: {revision} -->\n```text\n)(.*?)(```\n)")
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("HANDRAISE_WRITE_TRACES"):
        PAGE.write_text(block.sub(lambda found: found[1] + trace + found[3], text), encoding="utf-8")
        return
    shown = block.search(text)
    assert shown is not None
    assert constant(shown[2]) == constant(trace)
