"""The tree of commands. Each command imports what it needs when it runs, for a quick start."""

from __future__ import annotations

from typing import Annotated

import typer

from handraise.cli import (
    answer,
    call,
    check,
    demo,
    design,
    desk,
    doctor,
    gateway,
    gateway_doctor,
    gateway_install,
    inbox,
    ledger,
    ledger_upkeep,
    lint,
    policy,
    store,
    trace,
    vault,
)
from handraise.cli.common import AllCommands, ServerCommand

app = typer.Typer(
    name="handraise",
    cls=AllCommands,
    help="Let MCP servers ask the person instead of guessing.\n\n"
    "Begin with `handraise demo`. Every command explains itself: `handraise call --help`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(check.app, name="check")
app.add_typer(policy.app, name="policy")
ledger.app.command(epilog=ledger_upkeep.VERIFY_EXAMPLES)(ledger_upkeep.verify)
ledger.app.command(epilog=ledger_upkeep.CHECKPOINT_EXAMPLES)(ledger_upkeep.checkpoint)
ledger.app.command(epilog=ledger_upkeep.ERASE_EXAMPLES)(ledger_upkeep.erase)
ledger.app.command(epilog=ledger_upkeep.RETAIN_EXAMPLES)(ledger_upkeep.retain)
app.add_typer(ledger.app, name="ledger")
app.add_typer(vault.app, name="vault")
app.add_typer(store.app, name="store")
gateway.app.command(epilog=gateway_doctor.EXAMPLES)(gateway_doctor.doctor)
gateway.app.command(epilog=gateway_install.EXAMPLES)(gateway_install.install)
app.add_typer(gateway.app, name="gateway")
app.add_typer(desk.app, name="desk")
app.command(epilog=inbox.EXAMPLES)(inbox.inbox)
app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)
app.command(cls=ServerCommand, epilog=call.EXAMPLES)(call.call)
app.command(cls=ServerCommand, epilog=call.TOOLS_EXAMPLES)(call.tools)
app.command(cls=ServerCommand, epilog=trace.EXAMPLES)(trace.trace)
app.command(epilog=answer.PENDING_EXAMPLES)(answer.pending)
app.command(epilog=answer.EXAMPLES)(answer.answer)
app.command(epilog=lint.EXAMPLES)(lint.lint)
app.command(cls=ServerCommand, epilog=design.EXAMPLES)(design.design)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"handraise {version('handraise')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
