"""`handraise answer`: answer a question by its id, with the code that only a desk shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handraise.cli.options import AsJson

if TYPE_CHECKING:
    from handraise.desks.counter.visiting import Pending

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
        typer.Option("--accept", metavar="JSON", help="Accept: the form's values; {} for a link."),
    ] = None,
    decline: Annotated[bool, typer.Option("--decline", help="Tell the server no.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Say that nothing was decided.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Send personal data that is meant to leave.")
    ] = False,
    credential_file: Annotated[
        Path | None,
        typer.Option(
            "--credential-file", help="Read the code from this file (/dev/fd/3, say), not the terminal."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question that waits, by its id. It waits in any program of yours that was started with a desk.

    The code is asked for on the terminal, without echo. It stands where the question is shown: on the web desk, on the
    terminal desk, or for a parked question on the terminal that its program was started in.
    """
    from handraise.desks.counter.visiting import bring, pending

    given = _given(accept, decline, cancel)
    question = next((each for each in pending() if each.id == question_id), None)
    if question is None:
        sentence = "No question with this id waits; `handraise pending` lists those that do."
        _end({"error": "unknown", "sentence": sentence, "problems": []}, as_json)
    assert question is not None
    code = _code(question, given["action"], credential_file)
    reply = bring(question, code, given, anyway=anyway)
    _end(
        reply or {"error": "gone", "sentence": "Its program ended meanwhile. Nothing was answered."}, as_json
    )


def _given(accept: str | None, decline: bool, cancel: bool) -> dict[str, Any]:
    if (accept is not None) + decline + cancel != 1:
        raise typer.BadParameter("give one of --accept JSON, --decline and --cancel")
    if accept is None:
        return {"action": "decline" if decline else "cancel"}
    from handraise.errors import WireError
    from handraise.forms import load_json

    try:
        content = load_json(accept.encode("utf-8", "surrogateescape"))
    except WireError as error:
        raise typer.BadParameter(f"--accept is no JSON: {error.message}") from None
    if not isinstance(content, dict):
        raise typer.BadParameter('--accept takes a JSON object, like \'{"title": "Plans"}\'')
    return {"action": "accept", "content": content}


def _code(question: Pending, action: str, file: Path | None) -> str:
    """The code: typed by a person who has the question before their eyes, or from a file of theirs."""
    if file is not None:
        try:
            with file.open(encoding="utf-8") as stream:
                return stream.read(_MOST_IN_FILE).strip()
        except (OSError, UnicodeError) as error:
            raise typer.BadParameter(f"{file}: the code cannot be read from it ({error})") from None
    from getpass import getpass

    from handraise.cli.pending import lines_of
    from handraise.desks.parked import show_at_terminal

    if not show_at_terminal("\n".join(lines_of(question.described)) + "\n"):
        raise typer.BadParameter("there is no terminal to type the code at; use --credential-file")
    return getpass(f"To {action} it, type the code that the desk shows: ")


def _end(reply: dict[str, Any], as_json: bool) -> None:
    from handraise.display import for_line

    taken = "taken" in reply
    if as_json:
        typer.echo(json.dumps(reply))
    elif taken:
        typer.echo({"accept": "Accepted.", "decline": "Declined.", "cancel": "Cancelled."}[reply["taken"]])
        if reply.get("link"):
            typer.echo(f"Now open it in your browser: {for_line(reply['link'], limit=100_000)}")
    else:
        print(for_line(str(reply["sentence"])), file=sys.stderr)
        for problem in reply.get("problems", ()):
            print(f"  {for_line(str(problem))}", file=sys.stderr)
    raise typer.Exit(0 if taken else 1)
