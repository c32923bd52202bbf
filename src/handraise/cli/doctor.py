"""`handraise doctor`: whether this environment has what asking needs, and what to do where it does not."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from handraise.cli.options import AsJson

EXAMPLES = """Examples:

\b
  handraise doctor
  handraise doctor --json

Exit status: 0 when everything that is needed works, 1 when something is broken. What is only missing is optional.
For MCP clients and servers: handraise gateway doctor.
"""

_MARKS = {"works": "ok", "missing": "--", "broken": "!!"}


def doctor(as_json: AsJson = False) -> None:
    """Check this environment, and say what is missing or broken.

    It looks at versions, extras, configuration, ledger, store, keys, and where you could be asked. Nothing is changed
    and nothing is sent anywhere; a PostgreSQL store is connected to.
    """
    from handraise.cli.examination import examine

    found = examine()
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in found], indent=2, ensure_ascii=False))
    else:
        width = max(len(finding.what) for finding in found)
        for finding in found:
            typer.echo(f"{_MARKS[finding.state]} {finding.what:{width}}  {finding.said}")
            if finding.next_step:
                typer.echo(f"   {'':{width}}  -> {finding.next_step}")
    broken = sum(finding.state == "broken" for finding in found)
    if not as_json:
        typer.echo(f"\n{broken} broken." if broken else "\nEverything that is needed works.")
    if broken:
        raise typer.Exit(1)
