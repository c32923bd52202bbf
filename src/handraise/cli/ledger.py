"""`handraise ledger`: look at the record of what was asked and decided, prove it, look after it."""

from __future__ import annotations

import typer

from handraise.cli import ledger_check, ledger_export, ledger_show, ledger_upkeep

app = typer.Typer(
    help="Look into the record of every question. It says who asked, what was decided, and which call used "
    "the answer.\n\n"
    "It is written by `handraise call`, the desks and the gateway, into a file in your data directory "
    "(HANDRAISE_LEDGER names another one), and it can be proved that nobody changed it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command(epilog=ledger_show.EXAMPLES)(ledger_show.show)
app.command(epilog=ledger_check.VERIFY_EXAMPLES)(ledger_check.verify)
app.command(epilog=ledger_check.CHECKPOINT_EXAMPLES)(ledger_check.checkpoint)
app.command(epilog=ledger_export.EXPORT_EXAMPLES)(ledger_export.export)
app.command(epilog=ledger_export.REPORT_EXAMPLES)(ledger_export.report)
app.command(epilog=ledger_upkeep.ERASE_EXAMPLES)(ledger_upkeep.erase)
app.command(epilog=ledger_upkeep.RETAIN_EXAMPLES)(ledger_upkeep.retain)
