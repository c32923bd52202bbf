"""What a reader of the tutorial does at a terminal and in a browser happens as it says."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path

import pytest
from tests.docs.snippets import pages, run_python
from tests.gateway.sides import at_a_terminal, make_home
from tests.server.filling import SECRET, AtTheBrowser
from tests.server.peers import connect, text_of

from handraise.revisions import Revision

[PAGE] = [page for page in pages() if page.name == "docs/tutorial.md"]
WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


@pytest.mark.slow
def test_the_desk_in_lines_looks_as_the_page_shows_it(tmp_path: Path) -> None:
    [session] = [block.text for block in PAGE.blocks if "HANDRAISE_LINES=1" in block.text]
    command, _, expected = session.removeprefix("$ ").partition("\n")
    (tmp_path / "tea.py").write_text(PAGE.files["tea.py"], encoding="utf-8")
    home = make_home(tmp_path)
    home |= {
        "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{home['PATH']}",
        "NO_COLOR": "1",
        "TERM": "xterm",
    }
    typed = [("Answer:", "2"), ("Write send", "send")]
    shown = at_a_terminal(["sh", "-c", f"cd {tmp_path} && {command}"], home, typed)
    assert _constant(shown) == _constant(expected)


def _constant(shown: str) -> str:
    shown = re.sub(r"answer [0-9a-f]{16}, code [\w-]+", "answer ID, code CODE", shown.replace("\r\n", "\n"))
    return re.sub(r"(?m) +$", "", shown).strip()


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_the_password_arrives_and_nobody_else_sees_it(revision: Revision) -> None:
    [index] = [index for index, block in enumerate(PAGE.blocks) if "async def account(" in block.text]
    server = run_python(PAGE, index).server
    person = AtTheBrowser()
    async with connect(server, revision, person) as client:
        result = await client.call_tool("account")
    assert await person.done() == [303]
    assert text_of(result) == "Signed in with Secret(•••): 2 orders."
    assert SECRET not in repr((result, person.links, person.messages))
