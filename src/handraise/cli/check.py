"""`handraise check`: check questions, answers and links without asking anyone, for CI. No link is fetched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from handraise.cli.common import AsJson, read_document, read_lines
from handraise.display import for_line
from handraise.errors import WireError
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.forms import Form, Problem
    from handraise.secrets import SecretFinding
    from handraise.urls import Inspection

CheckReport: TypeAlias = dict[str, Any]
"""The JSON output."""

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
LinkInput: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="URL|FILE|JSON|-",
        help="The link, or JSON with the link: here, in a file, or on standard input.",
    ),
]
OnTransport: TypeAlias = Annotated[
    Literal["stdio", "http"],
    typer.Option(
        "--transport", help="How the server is reached: on this computer (stdio) or elsewhere (http)."
    ),
]
OfServer: TypeAlias = Annotated[
    str | None, typer.Option("--server-host", help="The host of the server that sends the link.")
]
_URL = re.compile(r"[\x00-\x20]*[a-z][\w+.\-\s]+:", re.IGNORECASE)

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
_URL_EXAMPLES = """Examples:

\b
  handraise check url https://github.com@evil.example/login
  handraise check url http://127.0.0.1:8765/ --transport stdio
  handraise check url https://auth.example.com/ --server-host mcp.example.com
  handraise check url '{"url": "https://example.com/",
      "context": {"transport": "http", "server_host": null}}'
  handraise check url --jsonl < links.jsonl
"""


@app.command(epilog=_FORM_EXAMPLES)
def form(
    source: QuestionInput = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    revision: OnRevision = Revision.NOVEMBER_2025,
) -> None:
    """Check a question: may a server ask a person this?

    The input is the params of an `elicitation/create` (message, requestedSchema). The verdict is allow, warn, doubtful
    or refuse, with the words that led to each finding. Refuse: the form breaks the protocol or asks for a secret.
    Doubtful: it may be asking for a secret. A list of forms counts as the questions of one call.
    """
    _run(lambda text: judge_question(text, revision), source, as_json, as_lines)


@app.command(epilog=_ANSWER_EXAMPLES)
def answer(
    source: QuestionInput = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    revision: OnRevision = Revision.NOVEMBER_2025,
) -> None:
    """Check an answer: does it fit its form?

    The input is {"requestedSchema", "content"}. The command lists all problems, and every secret that was typed into
    the form.
    """
    _run(lambda text: judge_answer(text, revision), source, as_json, as_lines)


def judge_question(text: str | bytes, revision: Revision) -> CheckReport:
    """May a person be asked this? The verdict on the params of an `elicitation/create`, and why.

    A list is the questions of one call, in their order: each is judged with what was asked before it.
    """
    from handraise.forms import load_json
    from handraise.questions import FormQuestion
    from handraise.secrets import CallReading
    from handraise.wire import parse_question

    params: object = None
    reading, secrets = CallReading(), []
    try:
        given = load_json(text)
        for params in given if isinstance(given, list) else [given]:
            question = parse_question(params, revision)
            if not isinstance(question, FormQuestion):
                raise WireError("mode", "This is a URL question, not a form.")
            secrets += [_secret(finding) for finding in reading.judge(question.message, question.form)]
    except WireError as error:
        problems = _and_the_others(error, params, revision)
        return {"verdict": "refuse", "problems": list(map(_plain, problems)), "secrets": []}
    return {"verdict": _verdict(secrets), "problems": [], "secrets": secrets}


def _verdict(secrets: list[dict[str, Any]]) -> str:
    """The policy's verdict without a configuration. A doubt outweighs a certain warning."""
    if any(secret["tier"] == 1 for secret in secrets):
        return "refuse"
    if any(secret["doubtful"] for secret in secrets):
        return "doubtful"
    return "warn" if secrets else "allow"


def judge_answer(text: str | bytes, revision: Revision) -> CheckReport:
    """May this be sent? Whether the content of `{"requestedSchema", "content"}` is a good answer."""
    from handraise.forms import check_answer, load_json, parse_form

    asked: object = None
    content: object = None
    form: Form[Any] | None = None
    try:
        given = load_json(text)
        if not isinstance(given, dict):
            raise WireError("json", 'The input is {"requestedSchema": …, "content": …}.')
        asked, content = given.get("requestedSchema"), given.get("content")
        form = parse_form(asked, revision)
        problems = check_answer(form, content)
    except WireError as error:
        problems = _and_the_others(error, {"requestedSchema": asked}, revision)
    secrets = _secrets_in(content, form)
    ok = not problems and all(secret["tier"] != 1 for secret in secrets)
    return {"ok": ok, "problems": list(map(_plain, problems)), "secrets": secrets}


def is_refused(report: CheckReport) -> bool:
    """Whether a report says no."""
    return report.get("verdict") == "refuse" or report.get("ok") is False


def _and_the_others(error: WireError, params: object, revision: Revision) -> tuple[Problem, ...]:
    """The problem that ended the parsing, and the problems of other fields."""
    from handraise.forms import Problem, check_form

    first = Problem(error.field, error.rule, error.message, "object")
    if not isinstance(params, dict) or "requestedSchema" not in params:
        return (first,)
    fields = check_form(params["requestedSchema"], revision)
    if any((problem.field, problem.rule) == (first.field, first.rule) for problem in fields):
        return fields
    return (first, *fields)


def _plain(problem: Problem) -> dict[str, str | None]:
    return {"rule": problem.rule, "field": problem.field, "message": problem.message}


def _secrets_in(content: object, form: Form[Any] | None) -> list[dict[str, Any]]:
    from handraise.secrets import scan_answer

    return [_secret(finding) for finding in scan_answer(content, form)] if isinstance(content, dict) else []


def _secret(finding: SecretFinding) -> dict[str, Any]:
    return {
        "field": finding.field,
        "tier": finding.tier,
        "kind": finding.kind,
        "doubtful": finding.doubtful,
        "reason": finding.reason,
        "words": list(finding.words),
    }


def _run(judge: Callable[[bytes], CheckReport], source: str | None, as_json: bool, as_lines: bool) -> None:
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
    typer.echo(report.get("verdict") or ("ok" if report["ok"] else "not ok"))
    for problem in report["problems"]:
        where = "" if problem["field"] is None else f"{for_line(problem['field'])}: "
        typer.echo(f"  {where}{for_line(problem['message'])} ({problem['rule']})")
    for secret in report["secrets"]:
        typer.echo(
            f"  {for_line(secret['field'] or 'message')}: {for_line(secret['reason'])} ({secret['kind']})"
        )
        typer.echo(f"    Because of: {', '.join(map(for_line, secret['words']))}.")


@app.command(epilog=_URL_EXAMPLES)
def url(
    source: LinkInput = None,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    transport: OnTransport = "http",
    server_host: OfServer = None,
) -> None:
    """Check a link: does it lead where it seems to lead?

    The command says ok, warn or danger, and why. It also shows the address that a browser would open. As JSON, the
    input is {"url", "context": {"transport", "server_host"}}. Without a context, the two options below count.

    Exit status: 0 when nothing is a danger, 1 when something is, 2 for wrong use.
    """
    if as_json and as_lines:
        raise typer.BadParameter("choose one of --json and --jsonl")
    context = {"transport": transport, "server_host": server_host}
    show = _print_link_json if as_json or as_lines else _print_link
    found_danger = False
    for link in _links(source, as_lines):
        inspection = _inspect(link, context)
        found_danger |= inspection.verdict == "danger"
        show(inspection)
    raise typer.Exit(1 if found_danger else 0)


def _links(source: str | None, as_lines: bool) -> Iterator[dict[str, Any]]:
    if as_lines:
        yield from map(_read_link, read_lines(source))
    elif source is not None and _URL.match(source):
        yield {"url": source}
    elif source is None or source == "-" or source.lstrip().startswith("{") or Path(source).is_file():
        yield _read_link(read_document(source))
    else:
        raise typer.BadParameter(f"{source!r} is neither a file nor a URL; a URL begins with https://")


def _read_link(text: bytes) -> dict[str, Any]:
    try:
        link = json.loads(text)
    except ValueError:
        raise typer.BadParameter(
            "give a URL with its scheme, like https://example.com/, or JSON with one; "
            + (f"this is neither: {text[:60].decode(errors='replace')!r}" if text.strip() else "nothing came")
        ) from None
    if not isinstance(link, dict) or not isinstance(link.get("url"), str):
        raise typer.BadParameter('JSON with a "url" is needed')
    return link


def _inspect(link: dict[str, Any], default: dict[str, Any]) -> Inspection:
    from handraise.urls import inspect_url

    context = link.get("context", default)
    if not isinstance(context, dict) or context.get("transport") not in ("stdio", "http"):
        raise typer.BadParameter('the "transport" of a context is "stdio" or "http"')
    server_host = context.get("server_host")
    if not isinstance(server_host, str | None):
        raise typer.BadParameter('the "server_host" of a context is a string or null')
    return inspect_url(link["url"], transport=context["transport"], server_host=server_host)


def _print_link_json(inspection: Inspection) -> None:
    fields = ("verdict", "reasons", "href", "registrable_domain", "host")
    typer.echo(json.dumps({field: getattr(inspection, field) for field in fields}))


def _print_link(inspection: Inspection) -> None:
    from handraise.urls import REASONS

    typer.echo(inspection.verdict)
    if inspection.href is not None:
        pieces = (
            typer.style(for_line(text, limit=len(text)), bold=kind == "domain")
            for kind, text in inspection.pieces
        )
        typer.echo(f"  {''.join(pieces)}")
    if inspection.host is not None:
        typer.echo(f"  site: {inspection.registrable_domain or inspection.host}")
    if inspection.host_display != inspection.host:
        typer.echo(f"  reads as: {inspection.host_display}")
    for reason in inspection.reasons:
        typer.echo(f"  {REASONS[reason].sentence} ({reason})")
