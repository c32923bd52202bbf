"""`handraise ledger verify` and `checkpoint`: the proof, and what makes it hold against whoever has the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import run
from handraise.cli.options import AsJson

if TYPE_CHECKING:
    from handraise.ledger.checkpoints import Note
    from handraise.ledger.verify import Report

VERIFY_EXAMPLES = """Examples:

\b
  handraise ledger verify
  handraise ledger verify --checkpoint ~/mail/checkpoint.txt

Exit status: 0 when nothing was found, 1 when something was, 2 for wrong use.
"""
CHECKPOINT_EXAMPLES = """Examples:

\b
  handraise ledger checkpoint
  handraise ledger checkpoint > /media/stick/ledger-2026-07-28.txt
"""


def verify(
    ledger: Where = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Checkpoints that were kept elsewhere; may be repeated."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find out whether the ledger was changed.

    It finds what was edited, removed, swapped, cut off or rebuilt. Whoever can write to the file and to its key can
    rebuild all of it. Only a checkpoint that was kept elsewhere shows that: give one.
    """
    notes = [note for file in checkpoint or () for note in _read(file)]

    async def work() -> int:
        from handraise.ledger.audit import verify as check

        async with opened(ledger) as found:
            report = await check(found, notes, progress=_progress)
        _clear_progress()
        typer.echo(json.dumps(_dump(report)) if as_json else "\n".join(_lines(report, given=bool(notes))))
        return 0 if report.sound else 1

    run(work())


def checkpoint(ledger: Where = None) -> None:
    """Sign what the ledger is now, and print it.

    Keep these few lines where whoever has the ledger cannot reach. They go to `ledger.checkpoint_file` and
    `ledger.checkpoint_command` of the policy too.
    """

    async def work() -> int:
        async with opened(ledger) as found:
            note, problems = await found.checkpoint()
        typer.echo(note, nl=False)
        for problem in problems:
            typer.echo(f"handraise: {problem}", err=True)
        return 1 if problems else 0

    run(work())


def _read(file: Path) -> list[Note]:
    from handraise.errors import LedgerError
    from handraise.ledger.checkpoints import parse_notes

    try:
        return parse_notes(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, LedgerError) as error:
        raise typer.BadParameter(f"{file}: {error}") from None


def _lines(report: Report, *, given: bool) -> list[str]:
    records = "1 record" if report.records == 1 else f"{report.records:,} records"
    notes = report.checkpoints
    about = (
        f"{records}, {'1 signed checkpoint agrees' if notes == 1 else f'{notes} signed checkpoints agree'}"
    )
    extra = []
    if report.removed:
        extra.append(
            f"The first {report.removed:,} were removed because their time was over, as a signed note says."
        )
    if report.waiting:
        extra.append(f"{report.waiting:,} more have no place in the tree yet: nothing is proved about them.")
    if not given:
        extra.append(
            "No checkpoint from elsewhere was given: a ledger that was rebuilt with its own key looks sound."
        )
    if report.sound:
        return [f"Sound: {about}.", f"Root: {report.root.hex()}", *extra]
    return ["NOT sound:", *(f"  {finding.sentence}" for finding in report.findings), f"{about}.", *extra]


def _dump(report: Report) -> dict[str, object]:
    return {
        "sound": report.sound,
        "records": report.records,
        "waiting": report.waiting,
        "removed": report.removed,
        "checkpoints": report.checkpoints,
        "root": report.root.hex(),
        "findings": [
            {"what": finding.what, "record": finding.number, "sentence": finding.sentence}
            for finding in report.findings
        ],
    }


def _progress(done: int, every: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r… {done:,} of {every:,} records", nl=False, err=True)


def _clear_progress() -> None:
    if sys.stderr.isatty():
        typer.echo("\r\x1b[K", nl=False, err=True)
