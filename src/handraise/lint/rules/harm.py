"""A rule about tools that should ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from handraise.lint.effects import grave_calls, promises_harm
from handraise.lint.finding import Mark, Rule
from handraise.lint.sites import asks
from handraise.lint.source import Source
from handraise.lint.tools import Tool, tools


def _never_asks(source: Source) -> Iterator[Mark]:
    for tool in tools(source):
        reason = None if tool.guarded or asks(source, tool.function) else _harm(source, tool)
        if reason is not None:
            yield tool.function, f"The tool `{tool.name}` {reason}, and never asks."


def _harm(source: Source, tool: Tool) -> str | None:
    if tool.destructive:
        return "calls itself destructive"
    word = None if tool.read_only else promises_harm(tool.name)
    if word is not None:
        return f"is named for `{word}`"
    for function in source.reached(tool.function):
        for call in grave_calls(source, function):
            return f"calls `{ast.unparse(call.func)}`"
    return None


RULES = (
    Rule(
        code="HR501",
        title="destructive tool that never asks",
        sentence="A tool deletes, sends or pays, and nobody is asked.",
        why="The model's mistake, or a line in a document that it read, is then enough to do what cannot be undone.",
        mend="Confirm with what is really at stake (`ask.confirm` with names and counts), or put a guard in front.",
        wrong="""
@server.tool()
async def delete_notes(folder: str) -> str:
    shutil.rmtree(folder)
    return "Deleted."
""",
        right="""
@server.tool()
async def delete_notes(folder: str) -> str:
    (await ask.confirm(f"Delete {count(folder)} notes of {folder}?")).or_stop("Kept them all.")
    shutil.rmtree(folder)
    return "Deleted."
""",
        check=_never_asks,
    ),
)
