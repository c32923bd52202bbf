"""`handraise pending`: what waits for you, in any program of yours that was started with a desk."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

EXAMPLES = """Examples:

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

    It shows what is asked and by whom. To answer, `handraise answer` also needs the code that only a desk shows.
    """
    from handraise.desks.counter.visiting import pending as look

    waiting = [each.described for each in look()]
    if as_json:
        typer.echo(json.dumps(waiting))
    elif not waiting:
        typer.echo("Nothing waits.")
    else:
        typer.echo("\n\n".join("\n".join(lines_of(each)) for each in waiting))


def lines_of(described: dict[str, Any]) -> list[str]:
    """One question, for a person: who asks first, then the server's words behind a bar, then its fields."""
    from handraise.display import for_line, for_terminal

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
    from handraise.display import for_line

    schema = question.get("requestedSchema", {})
    required = schema.get("required", ())
    return [
        f"{for_line(name)}: {_kind(field)}{'' if name in required else ', optional'}"
        for name, field in schema.get("properties", {}).items()
    ]


def _kind(field: dict[str, Any]) -> str:
    from handraise.display import for_line

    within = field.get("items", field)
    options = within.get("enum") or [
        each["const"] for each in within.get("oneOf") or within.get("anyOf") or ()
    ]
    if options:
        several = "any of " if "items" in field else "one of "
        return several + ", ".join(for_line(json.dumps(each, ensure_ascii=False)) for each in options)
    return for_line(str(field.get("format") or field.get("type")))


def _time_left(deadline: float | None) -> list[str]:
    import time

    from handraise.desks.telling import left

    return [] if deadline is None else [f"  waits for {left(deadline - time.time())} more"]
