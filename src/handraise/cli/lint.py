"""`handraise lint`: find mistakes in how a server asks, from its source, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from handraise.cli.common import AsJson
from handraise.errors import UsageError

EXAMPLES = """Examples:

\b
  handraise lint src/
  handraise lint server.py --select HR1,HR4
  handraise lint . --json
  handraise lint . --format sarif > findings.sarif
  handraise lint --explain HR402

\b
To accept a line as it is, end it with a comment:
  # handraise: ignore[HR501]

Exit status: 0 when nothing is found, 1 when something is, 2 for wrong use.
"""
Paths: TypeAlias = Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Files and folders.")]
Codes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--select", metavar="CODES", help="Only these rules; HR4 is all of HR4xx.")
]
NotCodes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="CODES", help="All rules but these.")
]
FormatOption: TypeAlias = Annotated[
    Literal["text", "json", "sarif"], typer.Option("--format", help="How findings are printed.")
]
ShowRules: TypeAlias = Annotated[bool, typer.Option("--rules", help="List the rules.")]
Explain: TypeAlias = Annotated[
    str | None, typer.Option("--explain", metavar="CODE", help="Explain one rule, with examples.")
]


def lint(
    paths: Paths = None,
    select: Codes = None,
    ignore: NotCodes = None,
    form: FormatOption = "text",
    as_json: AsJson = False,
    rules: ShowRules = False,
    explain: Explain = None,
) -> None:
    """Find mistakes in how a server asks.

    It reads Python source, and imports and runs nothing. It finds secrets in forms, answers that nobody looks at,
    unsafe links, questions that fail on a newer revision, destructive tools that never ask, and questions that a tool
    should not ask. The `[forms]` table of handraise.toml says how large a question may be.
    """
    from handraise.lint import RuleSelection, lint_paths
    from handraise.lint.run import as_text, dump_json, dump_sarif, rules_table
    from handraise.policy import load_settings

    if rules or explain is not None:
        typer.echo(rules_table() if explain is None else _explanation(explain))
        return
    if not paths:
        raise typer.BadParameter("name at least one file or folder")
    try:
        limits = load_settings().forms.limits()
        findings = lint_paths(paths, RuleSelection(_split(select), _split(ignore)), limits)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
    shapes = {"text": as_text, "json": dump_json, "sarif": dump_sarif}
    typer.echo(shapes["json" if as_json else form](findings))
    raise typer.Exit(1 if findings else 0)


def _explanation(code: str) -> str:
    from handraise.lint import RULES
    from handraise.lint.run import explained

    rule = RULES.get(code.upper())
    if rule is None:
        raise typer.BadParameter(f"there is no rule {code!r}; --rules lists them")
    return explained(rule)


def _split(codes: list[str] | None) -> tuple[str, ...]:
    return tuple(code.strip().upper() for given in codes or () for code in given.split(",") if code.strip())
