"""`handraise trace`: show the messages between a client and a server over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TextIO

import typer

from handraise.cli.common import report_errors, wants_colour
from handraise.disk import open_to_append

EXAMPLES = """Examples:

\b
  handraise trace -- python server.py              as the command of a client
  handraise trace --output trace.txt -- npx some-server
  handraise trace --json --output trace.jsonl -- python server.py

In a client's configuration, the command is `handraise`. Its arguments are `trace`, `--output`, a file, `--`, and then
the server's command. To trace a server over HTTP: handraise call --trace --url URL.

The exit status is the server's; 2 for wrong use, 3 when it cannot be started.
"""


def trace(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Append the trace to a file that only you can read."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every message in full, not only those about asking.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the messages between a client and a server, secrets masked.

    It passes standard input and output on byte for byte, and writes the trace to standard error. `→` goes to the
    server, `←` comes from it. Messages that have nothing to do with asking are shown by their first line only.
    """
    from handraise.trace import Trace
    from handraise.trace.messages import relay

    command = context.obj or ()
    if not command:
        raise typer.BadParameter("name a server: write its command after `--`")
    sink = None if output is None else _opened(output)

    def write(text: str) -> None:
        typer.echo(text, file=sink, err=sink is None, nl=False)
        if sink is not None:
            sink.flush()

    tracing = Trace(write, as_json=as_json, colour=sink is None and wants_colour(), full=everything)
    try:
        with report_errors(3):
            status = relay(command, tracing)
    finally:
        if sink is not None:
            sink.close()
    raise typer.Exit(status)


def _opened(output: Path) -> TextIO:
    try:
        return open_to_append(output)
    except OSError as error:
        raise typer.BadParameter(f"{output} cannot be written: {error.strerror}") from None
