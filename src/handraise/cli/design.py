"""`handraise design`: from a tool to the question that it should ask, or why it should not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from handraise.cli.call import RevisionOption, run, spoken_revision
from handraise.cli.common import AsJson, Name, Url, chosen_server, client_target
from handraise.display import for_line
from handraise.errors import UsageError
from handraise.gateway.upstreams import Upstream

if TYPE_CHECKING:
    from handraise.design import ToolDescription

EXAMPLES = """Examples:

\b
  handraise design server:delete_note              a function of your project
  handraise design src/server.py:delete_note --code > draft.py
  handraise design --tool delete_note -- python server.py
  handraise design --tool delete_note --url http://127.0.0.1:8000/mcp --json

Exit status: 0 with a proposal, 1 when asking is wrong, 2 for wrong use, 3 when the server cannot be reached.
"""
Target: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="MODULE:FUNCTION", help="A function of your project; its module is imported."),
]
ToolName: TypeAlias = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="A tool of a server; the server's command follows `--`."),
]
OnlyCode: TypeAlias = Annotated[bool, typer.Option("--code", help="Print only the code to paste.")]


def design(
    context: typer.Context,
    target: Target = None,
    tool: ToolName = None,
    url: Url = None,
    name: Name = None,
    revision: RevisionOption = "auto",
    as_json: AsJson = False,
    code: OnlyCode = False,
) -> None:
    """Find out whether a tool should ask, and how.

    It proposes when to ask, the message, form or page, the fields, the step after each answer, and the code. If the
    tool should not ask, it says why: the model could ask in the chat, an error would be enough, or the tool only reads.
    """
    if (target is None) == (tool is None):
        raise typer.BadParameter("name either MODULE:FUNCTION or --tool NAME with a server")
    if target is not None:
        raise typer.Exit(_show(_loaded(target), as_json, code))
    server = chosen_server(context.obj or (), url, name)
    run(_of_server(server, spoken_revision(revision), tool or "", as_json, code))


def _show(subject: ToolDescription, as_json: bool, only_code: bool) -> int:
    from handraise.design import Refusal, propose
    from handraise.design.proposal import as_text, dump_json

    result = propose(subject)
    if isinstance(result, Refusal) or not only_code:
        said = (dump_json if as_json else as_text)(subject.name, result)
        typer.echo(said, err=only_code)
    else:
        typer.echo(result.code, nl=False)
    return 1 if isinstance(result, Refusal) else 0


def _loaded(target: str) -> ToolDescription:
    from handraise.design import load_function, tool_of_function

    try:
        return tool_of_function(load_function(target, Path.cwd()))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


async def _of_server(server: Upstream, mode: str, tool: str, as_json: bool, only_code: bool) -> int:
    from handraise.design import tool_of_schema
    from handraise.sdk.client import dumped, plain_client

    async with plain_client(client_target(server), mode=mode) as client:
        listed = {each.name: each for each in (await client.list_tools()).tools}
    if tool not in listed:
        names = ", ".join(map(for_line, listed)) or "none"
        raise typer.BadParameter(f"the server has no tool {tool!r}; it has: {names}")
    found = dumped(listed[tool])
    subject = tool_of_schema(
        found["name"], found.get("description", ""), found["inputSchema"], found.get("annotations")
    )
    return _show(subject, as_json, only_code)
