"""The password that the tutorial asks for stays between the browser and the server."""

from __future__ import annotations

import pytest
from tests.docs.snippets import pages, run_python
from tests.server.filling import SECRET, AtTheBrowser
from tests.server.peers import connect, text_of

from handraise.revisions import Revision

[PAGE] = [page for page in pages() if page.name == "docs/tutorial.md"]
WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


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
