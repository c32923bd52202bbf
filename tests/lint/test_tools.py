"""The linter knows guards: a guarded tool asks, and the one beside it does not because of that."""

from __future__ import annotations

from handraise.lint.source import SourceFile
from handraise.lint.tools import tools

SERVER = """
from handraise.guards import SqlGuard, guard

@server.tool()
@guard("Delete {name}?")
async def delete_note(name: str) -> str: ...

@server.tool()
async def delete_rows(sql: str) -> str:
    return run(await sql_guard.approve(sql))

@server.tool()
async def delete_all() -> str: ...
"""


def test_each_tool_is_guarded_by_its_own_guard_only() -> None:
    assert [tool.guarded for tool in tools(SourceFile(SERVER))] == [True, True, False]
