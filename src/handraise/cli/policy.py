"""`handraise policy`: how questions are decided, the reasons, and a person's own rules about servers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from handraise.cli.check import OnRevision, QuestionInput
from handraise.cli.common import AsJson
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.policy.settings import AskingRule

app = typer.Typer(
    help="Decide which questions may reach you.\n\n"
    "The settings are in handraise.toml: `show` lists them, `why` explains a decision. `allow`, `mute` and `block` "
    "make a rule of your own about one server. Your rules win over the file, and `undo` takes them back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ServerArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="SERVER", help="The name you configured for it, or its command or URL.")
]
ForSession: TypeAlias = Annotated[
    bool, typer.Option("--session", help="Only for this session: the next twelve hours.")
]

_SHOW_EXAMPLES = """Examples:

\b
  handraise policy show
  handraise policy show > new.toml
"""
_WHY_EXAMPLES = """Examples:

\b
  handraise policy why question.json --server notes
  handraise policy why --tool delete_file --server files '{"path": "/tmp"}'
  handraise policy why '{"mode": "url", "message": "Sign in",
      "elicitationId": "1", "url": "https://evil.example\\\\@github.com/"}'
"""
_RULE_EXAMPLES = """Examples:

\b
  handraise policy block notes
  handraise policy mute "npx -y chatty-server" --session
  handraise policy allow https://mcp.example.com/mcp
  handraise policy list
  handraise policy undo notes
"""


@app.command(epilog=_SHOW_EXAMPLES)
def show(as_json: AsJson = False) -> None:
    """Show every setting, its value and what it means.

    The output is itself a configuration file, with the values that hold now.
    """
    from handraise.cli import policy_report as reports

    found, settings = reports.configuration()
    typer.echo(
        json.dumps(reports.settings_as_json(found, settings))
        if as_json
        else reports.settings_as_toml(found, settings)
    )


@app.command(epilog=_WHY_EXAMPLES)
def why(
    source: QuestionInput = None,
    server: Annotated[
        str, typer.Option("--server", help="The asking server, by its configured name.")
    ] = "a server",
    target: Annotated[
        str, typer.Option("--target", help="Its command or URL. Without this, it counts as a remote server.")
    ] = "",
    revision: OnRevision = Revision.NOVEMBER_2025,
    tool: Annotated[
        str | None,
        typer.Option("--tool", help="Judge a call of this tool instead. The input is its arguments."),
    ] = None,
    hints: Annotated[
        str | None,
        typer.Option(
            "--hints",
            help="With --tool: the tool's annotations as JSON. Without them, the tool counts as destructive.",
        ),
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Judge it as at the desk of a gateway that several people share.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Would this question reach you, and which rule decides?

    With --tool: would a guard ask before this call?

    The input is the params of an `elicitation/create`, for a form or a link. The command shows how each rule judges
    them. It leaves out limits, because they depend on earlier questions. With --tool, the input is the arguments of a
    call, and the command shows what each guard does.

    Exit status: 0 when it would be shown, or for any call; 1 when it is refused; 2 for wrong use.
    """
    from handraise.cli import policy_report as reports

    if tool is not None:
        told = reports.explain_call(source, tool, server, hints)
        typer.echo(json.dumps(told) if as_json else reports.call_as_text(told))
        return
    if hints is not None:
        raise typer.BadParameter("--hints goes with --tool")
    report = reports.explain(source, server, target, revision, time.time(), shared=shared)
    typer.echo(json.dumps(report) if as_json else reports.explained_as_text(report))
    raise typer.Exit(1 if report["verdict"] == "refuse" else 0)


@app.command(epilog=_RULE_EXAMPLES)
def block(server: ServerArgument, session: ForSession = False, as_json: AsJson = False) -> None:
    """Stop a server from asking. The desk says when it tried."""
    _make("block", server, session, as_json)


@app.command(epilog=_RULE_EXAMPLES)
def mute(server: ServerArgument, session: ForSession = False, as_json: AsJson = False) -> None:
    """Stop a server from asking, without a word at the desk."""
    _make("mute", server, session, as_json)


@app.command(epilog=_RULE_EXAMPLES)
def allow(server: ServerArgument, session: ForSession = False, as_json: AsJson = False) -> None:
    """Let a server ask, even if handraise.toml says otherwise. All other rules still hold."""
    _make("allow", server, session, as_json)


@app.command("list", epilog=_RULE_EXAMPLES)
def list_rules(as_json: AsJson = False) -> None:
    """List your own rules, and what handraise.toml says about servers."""
    from handraise.cli import policy_report as reports

    found, settings = reports.configuration()
    rules = reports.rules_file().book().standing(time.time())
    typer.echo(
        json.dumps(reports.rules_as_json(rules, settings))
        if as_json
        else reports.rules_as_text(rules, found, settings)
    )


@app.command(epilog=_RULE_EXAMPLES)
def undo(
    server: Annotated[
        str | None, typer.Argument(metavar="[SERVER]", help="Take back the latest rule about this server.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take back your latest rule, or the latest about one server. The rule before it applies again."""
    from handraise.cli import policy_report as reports

    undone = reports.rules_file().undo(server)
    if undone is None:
        typer.echo("There is no rule of yours to take back; `handraise policy list` shows them.", err=True)
        raise typer.Exit(1)
    typer.echo(
        json.dumps({"undone": reports.rule_as_json(undone)})
        if as_json
        else f"Taken back: {reports.rule_as_text(undone)}"
    )


def _make(asking: AskingRule, server: str, session: bool, as_json: bool) -> None:
    from handraise.cli import policy_report as reports

    rule = reports.make_rule(server, asking, session, time.time())
    if as_json:
        typer.echo(json.dumps(reports.rule_as_json(rule)))
        return
    typer.echo(reports.rule_as_text(rule))
    typer.echo("Take it back with: handraise policy undo")
