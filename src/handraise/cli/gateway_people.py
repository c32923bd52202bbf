"""`handraise gateway people`: let people use a shared gateway, and lead them to their desk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from handraise.cli.common import report_errors

EXAMPLES = """Examples:

\b
  handraise gateway people add alice --file people.json
  handraise gateway people link alice --file people.json \\
      --public-url https://gate.example.com
  handraise gateway people link alice --passkey --file people.json \\
      --public-url https://gate.example.com
  handraise gateway people remove alice --file people.json
  handraise gateway --http 127.0.0.1:8765 --people people.json \\
      --public-url https://gate.example.com --config servers.json

A person has a token in their client's configuration, and signs in to their desk with a link of their own. A running
gateway follows changes at once.

Exit status: 0 when it is done; 2 for wrong use or a file that cannot be used.
"""

app = typer.Typer(
    help="Let people use a shared gateway, with a file that lists them.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
)

PersonName = Annotated[str, typer.Argument(help="The person's name in the file.", show_default=False)]
File = Annotated[Path, typer.Option("--file", help="The file of people.")]


@app.command(epilog=EXAMPLES)
def add(name: PersonName, file: File) -> None:
    """Give a person a token for their client. It is shown once; the file keeps only its hash."""
    from handraise.gateway.people import PeopleFile

    with report_errors():
        typer.echo(PeopleFile(file).add(name))


@app.command(epilog=EXAMPLES)
def remove(name: PersonName, file: File) -> None:
    """Remove a person, who loses access at once."""
    from handraise.gateway.people import PeopleFile

    with report_errors():
        PeopleFile(file).remove(name)


@app.command(epilog=EXAMPLES)
def link(
    name: PersonName,
    file: File,
    public_url: Annotated[str, typer.Option("--public-url", help="The address of the running gateway.")],
    passkey: Annotated[
        bool,
        typer.Option(
            "--passkey", help="Let the person add a passkey with the link, for example when they lost theirs."
        ),
    ] = False,
) -> None:
    """Make a link that signs a person in to their desk.

    It works in one browser, once, within ten minutes. Give it only to that person, and not in a place that a model
    reads.
    """
    from handraise.gateway.people import PeopleFile
    from handraise.gateway.shared_desk import make_invitation

    with report_errors():
        people = PeopleFile(file)
        people.require(name)
        word = make_invitation(people, name, time.time(), passkey=passkey)
        typer.echo(f"{public_url.rstrip('/')}/enter/{word}")
