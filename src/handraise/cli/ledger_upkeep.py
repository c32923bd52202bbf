"""`handraise ledger verify`, `checkpoint`, `erase` and `retain`: prove that nobody changed it, and forget."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from handraise.cli.common import AsJson, report_leftover
from handraise.cli.ledger import LedgerOption, open_existing_ledger, run
from handraise.errors import LedgerError, SetupError

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.ledger.proof import Note
    from handraise.ledger.verify import VerificationReport


ERASE_EXAMPLES = """Examples:

\b
  handraise ledger erase --person alice
  handraise ledger erase --record 4711

Exit status: 0 when they are erased, 1 when there is no such event, 2 when nothing was removed (the command says why),
3 when they are deleted but still on the disk, because another connection reads the ledger. Then run the command again
later.
"""
RETAIN_EXAMPLES = """Examples:

\b
  handraise ledger retain --older-than 90d

Exit status: 0 when they are removed, 3 when they are deleted but still on the disk, because another connection reads
the ledger. Then run the command again later.
"""


def erase(
    ledger: LedgerOption = None,
    person: Annotated[
        str | None, typer.Option("--person", help="Erase everything that this person was asked and answered.")
    ] = None,
    record: Annotated[
        list[int] | None,
        typer.Option("--record", metavar="NUMBER", help="Erase one record, by its number; may be repeated."),
    ] = None,
) -> None:
    """Erase the contents of questions and answers, for good.

    It also deletes the keys that could decrypt them. The ledger still proves that a question was asked and decided.
    """
    if (person is None) == (not record):
        raise typer.BadParameter("say whose contents: either --person or --record")

    async def work() -> int:
        from handraise.ledger.views import is_person

        async with open_existing_ledger(ledger) as found:
            if person is not None:
                await _require_one(found, person)
            events, contents = await found.erase(
                lambda number, event: (
                    number in record
                    if record
                    else event.about.principal is not None and is_person(event.about.principal, person or "")
                ),
            )
            left = await found.tables.purge()
        typer.echo(f"{_number(events, 'event')}; {_number(contents, 'content')} erased.")
        return report_leftover(left, "handraise ledger erase") or (0 if events else 1)

    run(work())


async def _require_one(ledger: Ledger, named: str) -> None:
    """SetupError when several people match: subjects are unique only within an issuer."""
    from handraise.ledger.views import is_person

    people = {each.about.principal async for _, each in ledger.events() if each.about.principal is not None}
    meant = sorted(each.key for each in people if is_person(each, named))
    if len(meant) > 1:
        keys = " or ".join(f"'{key}'" for key in meant)
        raise SetupError(f"{len(meant)} people are called {named}, and nothing was erased; say whose: {keys}")


def retain(
    ledger: LedgerOption = None,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="How old: a number and d, w or h, like 90d.")
    ] = ...,  # type: ignore[assignment]
) -> None:
    """Remove events that are too old, with their contents. Their hashes stay, so that the rest can still be proved.

    A signed note says how many events were removed. So nobody without the ledger's key can remove events unnoticed.
    """
    from handraise.ledger.views import parse_span

    age = parse_span(older_than)
    if age is None:
        raise typer.BadParameter(f"{older_than!r} is no length of time; use 90d, 12w or 48h")

    async def work() -> int:
        async with open_existing_ledger(ledger) as found:
            gone = await found.retain(since=int((time.time() - age.total_seconds()) * 1000))
            left = await found.tables.purge()
        typer.echo(f"{_number(gone, 'event')} removed.")
        return report_leftover(left, "handraise ledger retain")

    run(work())


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
    ledger: LedgerOption = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Checkpoints that were kept elsewhere; may be repeated."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find out whether the ledger was changed.

    There are three verdicts. Sound: nobody changed a record, and none is missing. Broken: somebody changed, removed,
    added, swapped, cut off, rebuilt or restored records; it lists each of them with its place. Unproven: it found no
    change, but without the ledger's key or a checkpoint it proves nothing.

    A person who has the key can rebuild the ledger. Only a checkpoint that was kept elsewhere shows that, so give one.
    Without the key, a checkpoint proves the records up to it.
    """
    notes = [note for file in checkpoint or () for note in _read(file)]

    async def work() -> int:
        async with open_existing_ledger(ledger, or_lost=True) as found:
            report = await found.verify(notes, progress=_progress)
        _clear_progress()
        typer.echo(json.dumps(_dump(report)) if as_json else "\n".join(_lines(report, given=bool(notes))))
        return _STATUS[report.verdict.value]

    run(work())


def checkpoint(ledger: LedgerOption = None) -> None:
    """Sign the ledger as it is now, and print the checkpoint.

    Keep these few lines where nobody who can change the ledger can reach them. They also go to
    `ledger.checkpoint_file` and `ledger.checkpoint_command` of the policy.
    """

    async def work() -> int:
        async with open_existing_ledger(ledger) as found:
            note, problems = await found.checkpoint()
        typer.echo(note, nl=False)
        for problem in problems:
            typer.echo(f"handraise: {problem}", err=True)
        return 1 if problems else 0

    run(work())


def _read(file: Path) -> list[Note]:
    from handraise.ledger.proof import parse_notes

    try:
        return parse_notes(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}") from None
    except (UnicodeError, LedgerError):
        raise typer.BadParameter(
            f"{file} is no checkpoint of a ledger; `handraise ledger checkpoint` prints one"
        ) from None


_STATUS: Final = {"sound": 0, "broken": 1, "unproven": 3}


def _lines(report: VerificationReport, *, given: bool) -> list[str]:
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
    return _number(records, "record")


def _number(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def _dump(report: VerificationReport) -> dict[str, object]:
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
