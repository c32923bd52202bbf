"""`handraise check`: check questions and answers without asking anyone, for CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from handraise.cli.common import AsJson, read_document, read_lines
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.cli.verdicts import CheckReport

app = typer.Typer(
    help="Check a question, an answer or a link, and ask nobody. For tests and CI.\n\n"
    "The input is a file, an argument or standard input. Each command has examples: `handraise check form --help`.\n\n"
    "Exit status: 0 when nothing is refused, 1 when something is, 2 for wrong use.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

QuestionInput: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="FILE|JSON|-", help="A file, or the JSON itself; otherwise standard input."),
]
AsLines: TypeAlias = Annotated[
    bool, typer.Option("--jsonl", help="One JSON object per line, in and out, in the same order.")
]
OnRevision: TypeAlias = Annotated[
    Revision, typer.Option("--revision", help="The revision of the protocol whose rules apply.")
]

_FORM_EXAMPLES = """Examples:

\b
  handraise check form question.json
  handraise check form '{"message": "Which size?", "requestedSchema":
      {"type": "object", "properties":
          {"size": {"type": "string", "enum": ["s", "m"]}}}}'
  handraise check form --jsonl < questions.jsonl > verdicts.jsonl
"""
_ANSWER_EXAMPLES = """Examples:

\b
  handraise check answer answer.json
  handraise check answer '{"content": {"size": "xl"}, "requestedSchema":
      {"type": "object", "properties":
          {"size": {"type": "string", "enum": ["s", "m"]}}}}'
  handraise check answer --jsonl < answers.jsonl
"""


@app.command(epilog=_FORM_EXAMPLES)
def form(
    source: QuestionInput = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    revision: OnRevision = Revision.NOVEMBER_2025,
) -> None:
    """May a person be asked this?

    The input is the params of an `elicitation/create` (message, requestedSchema). The verdict is allow, warn, doubtful
    or refuse, with the words that led to each finding. Refuse: the form breaks the protocol or asks for a secret.
    Doubtful: it may be asking for a secret. A list of forms counts as the questions of one call.
    """
    from handraise.cli.verdicts import judge_question

    _run(lambda text: judge_question(text, revision), source, as_json, as_lines)


@app.command(epilog=_ANSWER_EXAMPLES)
def answer(
    source: QuestionInput = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    revision: OnRevision = Revision.NOVEMBER_2025,
) -> None:
    """Is this a good answer?

    The input is {"requestedSchema", "content"}. The command lists all problems, and every secret that was typed into
    the form.
    """
    from handraise.cli.verdicts import judge_answer

    _run(lambda text: judge_answer(text, revision), source, as_json, as_lines)


def _run(judge: Callable[[bytes], CheckReport], source: str | None, as_json: bool, as_lines: bool) -> None:
    from handraise.cli.verdicts import is_refused

    if as_json and as_lines:
        raise typer.BadParameter("choose one of --json and --jsonl")
    show = _print_json if as_json or as_lines else _print_text
    refused = False
    for text in read_lines(source) if as_lines else [read_document(source)]:
        report = judge(text)
        refused |= is_refused(report)
        show(report)
    raise typer.Exit(1 if refused else 0)


def _print_json(report: CheckReport) -> None:
    typer.echo(json.dumps(report))


def _print_text(report: CheckReport) -> None:
    """Print a report. Names come from the other side, so they are made inert."""
    from handraise.display import for_line

    typer.echo(report.get("verdict") or ("ok" if report["ok"] else "not ok"))
    for problem in report["problems"]:
        where = "" if problem["field"] is None else f"{for_line(problem['field'])}: "
        typer.echo(f"  {where}{for_line(problem['message'])} ({problem['rule']})")
    for secret in report["secrets"]:
        typer.echo(
            f"  {for_line(secret['field'] or 'message')}: {for_line(secret['reason'])} ({secret['kind']})"
        )
        typer.echo(f"    Because of: {', '.join(map(for_line, secret['words']))}.")
