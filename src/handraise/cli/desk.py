"""`handraise desk`: how you prove at your desk that it is you."""

from __future__ import annotations

import os

import typer

from handraise.cli import desk_passkey

app = typer.Typer(
    help="Prove at your desk that it is you.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(desk_passkey.app, name="passkey")

_CODE_EXAMPLES = """Examples:

\b
  handraise desk code

Exit status: 0 when a code was made, 1 when it was not, 2 for wrong use.
"""


@app.command(epilog=_CODE_EXAMPLES)
def code() -> None:
    """Make your desk code. It is shown once, at this terminal.

    Your desk asks for the code where the system does not tell which program is asking: on macOS and Windows, under WSL
    and where /proc is hidden. Without it a program that your client started could open the desk. Make the code
    before you let a model work, and keep it where no program reads it. To change it, you type the old one.
    """
    from getpass import getpass

    from handraise.cli.telling import telling
    from handraise.desks.desk_code import DeskCode, desk_code_file, new_desk_code
    from handraise.desks.parked import show_at_terminal

    file = desk_code_file(os.environ)
    if not show_at_terminal(""):
        raise typer.BadParameter("there is no terminal to show the code at; run it in a terminal of your own")
    with telling():
        known = DeskCode.load(file)
        if known is not None and not known.is_it(getpass("Your desk code until now: ")):
            typer.echo("That is not your desk code. Nothing was changed.", err=True)
            typer.echo(f"If you lost it, remove {file} and run this again.", err=True)
            raise typer.Exit(1)
        made = new_desk_code(file)
    show_at_terminal(f"Your desk code: {made}\nIt is not shown again. Your desk asks for it when it opens.\n")
