"""Destructive tools that never ask."""

from __future__ import annotations

import pytest
from tests.lint.found import codes

FIRES = {
    "a name": "@server.tool()\ndef notes_delete(title: str): ...",
    "a name given to the tool": "@server.tool(name='send-mail')\ndef post(to: str): ...",
    "a name in camel case": "@mcp.tool\nasync def dropTable(): ...",
    "a hint": "@server.tool(annotations={'destructiveHint': True})\ndef tidy(): ...",
    "a function that is added": "def tidy(path):\n    path.unlink()\nserver.add_tool(tidy, name='tidy')",
    "SQL": "@mcp.tool\ndef tidy(db):\n    db.execute('DELETE FROM notes')",
    "a method of a path": "@mcp.tool\ndef tidy(path):\n    path.unlink()",
    "what a method of the same class does": (
        "class S:\n    @mcp.tool\n    def tidy(self):\n        self.work()\n"
        "    def work(self):\n        shutil.rmtree('x')"
    ),
    "a body that destroys under an innocent hint": (
        "@server.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef look(path):\n    path.unlink()"
    ),
}
SILENT = {
    "no tool": "def delete_note(): ...",
    "a function that is handed to something else": "def delete_note(): ...\nrun(delete_note)",
    "a tool that reads": "@server.tool()\ndef list_deleted(): ...",
    "a read-only tool with a loud name": (
        "@server.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef delete_preview(): ..."
    ),
    "a tool that asks": (
        "@mcp.tool\nasync def delete_note(t):\n    (await ask.confirm(f'Delete {t}?')).or_stop()"
    ),
    "a tool that asks through another": (
        "@mcp.tool\nasync def delete_note(t):\n    await sure(t)\n"
        "async def sure(t):\n    (await ask.confirm(f'Delete {t}?')).or_stop()"
    ),
    "a tool with a resolver": "@mcp.tool\ndef delete_note(a: Annotated[A, Resolve(which)]): ...",
    "a helper that says that it asks": "@mcp.tool\nasync def delete_note(t):\n    await confirm_deletion(t)",
    "a guard on the tool": "@mcp.tool\n@guard('Delete {t}?')\ndef delete_note(t): ...",
    "a guard in the body": (
        "from handraise.guards import SqlGuard\n@mcp.tool\n"
        "async def delete_note(t):\n    run(await sql_guard.approve(t))"
    ),
    "a temporary file": "@mcp.tool\ndef tidy(tmp_path):\n    tmp_path.unlink()",
    "other SQL": "@mcp.tool\ndef tidy(db):\n    db.execute('SELECT * FROM deleted')",
}


@pytest.mark.parametrize("text", FIRES.values(), ids=FIRES.keys())
def test_it_fires_on(text: str) -> None:
    assert codes(text) == ["HR501"]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_it_is_silent_on(text: str) -> None:
    assert codes(text) == []
