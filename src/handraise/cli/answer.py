"""`handraise pending` and `handraise answer`: list waiting questions, and answer one by id and desk code."""

from __future__ import annotations

import json
import sys
import time
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handraise.cli.common import AsJson
from handraise.display import for_line, for_terminal
from handraise.errors import WireError

if TYPE_CHECKING:
    from handraise.desks.control import Pending


EXAMPLES = """Examples:

\b
  handraise answer 5f0c2a91d3b74e68 --accept '{"title": "Plans"}'
  handraise answer 5f0c2a91d3b74e68 --decline
  handraise answer 5f0c2a91d3b74e68 --cancel --credential-file code.txt

Exit status: 0 when the answer was taken, 1 when it was not, 2 for wrong use.
"""
_MOST_IN_FILE = 1000


def answer(
    question_id: Annotated[str, typer.Argument(metavar="ID", help="The question, as `pending` lists it.")],
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept", metavar="JSON", help="Accept, with the form's values as JSON; {} for a link."
        ),
    ] = None,
    decline: Annotated[
        bool, typer.Option("--decline", help="Tell the server that you do not answer.")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Close the question without a decision.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Send the answer even if it contains personal data.")
    ] = False,
    credential_file: Annotated[
        Path | None,
        typer.Option("--credential-file", help="Read the code from this file or descriptor (/dev/fd/3)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question that waits, by its id. `handraise pending` lists the ids.

    The command asks for the code of that question's desk; you type it without echo. The desk shows the code beside the
    question. For a parked question, the code is in the terminal where its program was started.
    """
    from handraise.desks.control import pending, send_answer

    given = _given(accept, decline, cancel)
    question = next((each for each in pending() if each.id == question_id), None)
    if question is None:
        sentence = "No question with this id waits; `handraise pending` lists those that do."
        _end({"error": "unknown", "sentence": sentence, "problems": []}, as_json)
    assert question is not None
    code = _code(question, given["action"], credential_file)
    reply = send_answer(question, code, given, anyway=anyway)
    _end(
        reply or {"error": "gone", "sentence": "Its program ended meanwhile. Nothing was answered."}, as_json
    )


def _given(accept: str | None, decline: bool, cancel: bool) -> dict[str, Any]:
    if (accept is not None) + decline + cancel != 1:
        raise typer.BadParameter("give one of --accept JSON, --decline and --cancel")
    if accept is None:
        return {"action": "decline" if decline else "cancel"}
    from handraise.forms import load_json

    try:
        content = load_json(accept.encode("utf-8", "surrogateescape"))
    except WireError as error:
        raise typer.BadParameter(f"--accept: {error.message}") from None
    if not isinstance(content, dict):
        raise typer.BadParameter('--accept takes a JSON object, like \'{"title": "Plans"}\'')
    return {"action": "accept", "content": content}


def _code(question: Pending, action: str, file: Path | None) -> str:
    """The code: typed by a person who sees the question, or from their file."""
    if file is not None:
        try:
            with file.open(encoding="utf-8") as stream:
                return stream.read(_MOST_IN_FILE).strip()
        except (OSError, UnicodeError) as error:
            raise typer.BadParameter(f"{file}: the code cannot be read from it ({error})") from None
    from handraise.desks.codes import show_at_terminal

    if not show_at_terminal("\n".join(lines_of(question.described)) + "\n"):
        raise typer.BadParameter("there is no terminal to type the code at; use --credential-file")
    return getpass(f"To {action} it, type the code that the desk shows: ")


def _end(reply: dict[str, Any], as_json: bool) -> None:
    taken = "taken" in reply
    if as_json:
        typer.echo(json.dumps(reply))
    elif taken:
        typer.echo({"accept": "Accepted.", "decline": "Declined.", "cancel": "Cancelled."}[reply["taken"]])
        if reply.get("link"):
            typer.echo(f"Now open it in your browser: {for_line(reply['link'], limit=100_000)}")
        if reply.get("note"):
            typer.echo(for_line(str(reply["note"])))
    else:
        print(for_line(str(reply["sentence"])), file=sys.stderr)
        for problem in reply.get("problems", ()):
            print(f"  {for_line(str(problem))}", file=sys.stderr)
    raise typer.Exit(0 if taken else 1)


PENDING_EXAMPLES = """Examples:

\b
  handraise pending
  handraise pending --json
  handraise answer 5f0c2a91d3b74e68 --decline
"""


def pending(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list, one object a question.")
    ] = False,
) -> None:
    """List the questions that wait, with their ids.

    It shows each question and its server. To answer one, use `handraise answer`. It asks for the code that only a desk
    shows.
    """
    from handraise.desks.control import pending as look

    waiting = [each.described for each in look()]
    if as_json:
        typer.echo(json.dumps(waiting))
    elif not waiting:
        typer.echo("Nothing waits.")
    else:
        typer.echo("\n\n".join("\n".join(lines_of(each)) for each in waiting))


def lines_of(described: dict[str, Any]) -> list[str]:
    """One question as text: the server, its message behind a bar, its fields."""
    server, question = described["server"], described["question"]
    lines = [f"{for_line(described['id'])}  {for_line(server['name'])} ({for_line(server['target'])})"]
    lines += [f"  because of {for_line(call)}" for call in _calls(described["cause"])]
    lines += [f"  | {line}" for line in for_terminal(question["message"], columns=74)]
    if "url" in question:
        lines.append(f"  link: {for_line(question['url'], limit=100_000)}")
    lines += [f"  {each}" for each in _fields(question)]
    lines += [f"  Warning: {for_line(warning)}" for warning in described["warnings"]]
    if described.get("passkey"):
        lines.append("  Accepting needs your passkey, at the web desk.")
    return [*lines, *_time_left(described["deadline"])]


def _calls(cause: dict[str, Any] | None) -> list[str]:
    calls = [] if cause is None else cause["calls"]
    return [f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}" for call in calls]


def _fields(question: dict[str, Any]) -> list[str]:
    schema = question.get("requestedSchema", {})
    required = schema.get("required", ())
    return [
        f"{for_line(name)}: {_kind(field)}{'' if name in required else ', optional'}"
        for name, field in schema.get("properties", {}).items()
    ]


def _kind(field: dict[str, Any]) -> str:
    within = field.get("items", field)
    options = within.get("enum") or [
        each["const"] for each in within.get("oneOf") or within.get("anyOf") or ()
    ]
    if options:
        several = "any of " if "items" in field else "one of "
        return several + ", ".join(for_line(json.dumps(each, ensure_ascii=False)) for each in options)
    return for_line(str(field.get("format") or field.get("type")))


def _time_left(deadline: float | None) -> list[str]:
    from handraise.desks.language import ENGLISH

    return [] if deadline is None else [f"  {ENGLISH.left(deadline - time.time())}"]
