"""`handraise ledger verify` and `checkpoint`: prove that nobody changed the ledger."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import run
from handraise.cli.options import AsJson

if TYPE_CHECKING:
    from handraise.ledger.audit import Report
    from handraise.ledger.checkpoints import Note

VERIFY_EXAMPLES = """Examples:

\b
  handraise ledger verify
  handraise ledger verify --checkpoint ~/mail/checkpoint.txt

Exit status: 0 sound, 1 broken, 2 wrong use, 3 unproven.
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

    It says one of three things. Sound: every record is what was written, and none is missing. Broken: what was
    changed, removed, added, swapped, cut off, rebuilt or restored from an old copy, and where. Unproven: nothing was
    found, but without the ledger's key or a checkpoint nothing is proved.

    A person who has the key can rebuild the ledger. Only a checkpoint that was kept elsewhere shows that: give one.
    Without the key, a checkpoint proves the records up to it.
    """
    notes = [note for file in checkpoint or () for note in _read(file)]

    async def work() -> int:
        from handraise.ledger.audit import verify as check

        async with opened(ledger) as found:
            report = await check(found, notes, progress=_progress)
        _clear_progress()
        typer.echo(json.dumps(_dump(report)) if as_json else "\n".join(_lines(report, given=bool(notes))))
        return _STATUS[report.verdict.value]

    run(work())


def checkpoint(ledger: Where = None) -> None:
    """Sign the ledger as it is now, and print the checkpoint.

    Keep these few lines where nobody who can change the ledger can reach them. They also go to
    `ledger.checkpoint_file` and `ledger.checkpoint_command` of the policy.
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


_STATUS: Final = {"sound": 0, "broken": 1, "unproven": 3}


def _lines(report: Report, *, given: bool) -> list[str]:
    notes = report.checkpoints
    agree = "1 signed checkpoint agrees" if notes == 1 else f"{notes} signed checkpoints agree"
    about = f"{_count(report.records)}, {agree}."
    extra = []
    if report.removed:
        extra.append(
            f"The first {report.removed:,} were removed because they were too old, as a signed note says."
        )
    if report.waiting:
        extra.append(f"{report.waiting:,} more wait for their place in the tree, which takes about a second.")
    match report.verdict.value:
        case "broken":
            return ["Broken:", *(f"  {finding.sentence}" for finding in report.findings), about, *extra]
        case "unproven":
            upto = (
                [f"The given checkpoint proves the first {_count(report.proven)}."] if report.proven else []
            )
            return ["Unproven:", *(f"  {doubt}" for doubt in report.doubts), *upto, about, *extra]
        case _ if not report.by_key:
            return [
                f"Sound up to the given checkpoint: {about}",
                "Without the ledger's key nobody can tell whether later records were removed.",
                *extra,
            ]
    if not given:
        extra.append(
            "No checkpoint from elsewhere was given: a ledger that was rebuilt with its own key looks sound."
        )
    return [f"Sound: {about}", f"Root: {report.root.hex()}", *extra]


def _count(records: int) -> str:
    return "1 record" if records == 1 else f"{records:,} records"


def _dump(report: Report) -> dict[str, object]:
    return {
        "verdict": report.verdict.value,
        "proven": report.proven,
        "by_key": report.by_key,
        "records": report.records,
        "waiting": report.waiting,
        "removed": report.removed,
        "checkpoints": report.checkpoints,
        "root": report.root.hex(),
        "findings": [
            {"what": finding.what, "record": finding.number, "sentence": finding.sentence}
            for finding in report.findings
        ],
        "doubts": list(report.doubts),
    }


def _progress(done: int, every: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r… {done:,} of {every:,} records", nl=False, err=True)


def _clear_progress() -> None:
    if sys.stderr.isatty():
        typer.echo("\r\x1b[K", nl=False, err=True)
