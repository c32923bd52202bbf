"""The options that several commands have, with the same words."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Url: TypeAlias = Annotated[str | None, typer.Option("--url", help="A server over streamable HTTP.")]
Name: TypeAlias = Annotated[
    str | None, typer.Option("--name", help="What you call the server; the desk shows it.")
]
