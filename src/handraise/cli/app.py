"""The tree of commands. Each loads what it needs only when it runs: a quick start is part of the job."""

from __future__ import annotations

from typing import Annotated

import typer

from handraise.cli import (
    answer,
    call,
    check,
    check_url,
    demo,
    design,
    desk_passkey,
    doctor,
    gateway,
    gateway_doctor,
    gateway_install,
    gateway_people,
    inbox,
    ledger,
    lint,
    pending,
    policy,
    store,
    trace,
    vault,
)
from handraise.cli.servers import WithServer

app = typer.Typer(
    name="handraise",
    help="Ask the person instead of guessing: questions in the Model Context Protocol, checked and carried.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
check.app.command(epilog=check_url.EXAMPLES)(check_url.url)
app.add_typer(check.app, name="check")
app.add_typer(policy.app, name="policy")
app.add_typer(ledger.app, name="ledger")
app.add_typer(vault.app, name="vault")
app.add_typer(store.app, name="store")
gateway.app.command(epilog=gateway_doctor.EXAMPLES)(gateway_doctor.doctor)
gateway.app.command(epilog=gateway_install.EXAMPLES)(gateway_install.install)
gateway.app.add_typer(gateway_people.app, name="people")
app.add_typer(gateway.app, name="gateway")
app.command(epilog=inbox.EXAMPLES)(inbox.inbox)
app.add_typer(desk_passkey.desk, name="desk")
app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)
app.command(cls=WithServer, epilog=call.EXAMPLES)(call.call)
app.command(cls=WithServer, epilog=call.TOOLS_EXAMPLES)(call.tools)
app.command(cls=WithServer, epilog=trace.EXAMPLES)(trace.trace)
app.command(epilog=pending.EXAMPLES)(pending.pending)
app.command(epilog=answer.EXAMPLES)(answer.answer)
app.command(epilog=lint.EXAMPLES)(lint.lint)
app.command(cls=WithServer, epilog=design.EXAMPLES)(design.design)


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
