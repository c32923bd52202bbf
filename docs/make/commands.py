"""The command line reference, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import typer.main
from docs.make.markdown import NOTICE, block, code, table

from handraise.cli.app import app

Command: TypeAlias = Any
"""A command of Click's, which typer brings along in a place of its own."""


def commands_page() -> str:
    """The page."""
    return "".join(
        [
            f"# Commands\n\n{NOTICE}\n",
            "Look up a command. `handraise COMMAND --help` prints the same text. A server's command follows `--`.\n",
            *(_section(words, command) for words, command in command_tree()),
        ]
    )


def command_tree() -> Iterator[tuple[str, Command]]:
    """Every command with the words that call it, a group before its commands."""
    yield from _below("handraise", typer.main.get_command(app))


def _below(words: str, command: Command) -> Iterator[tuple[str, Command]]:
    yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from _below(f"{words} {name}", each)


def _section(words: str, command: Command) -> str:
    context = typer.Context(command, info_name=words)
    depth = "#" * min(4, 1 + len(words.split()))
    parts = [f"{depth} {words}\n", inspect.cleandoc(command.help or "")]
    parts.append(block("text", " ".join(command.get_usage(context).removeprefix("Usage: ").split())))
    if rows := list(_rows(command, context)):
        parts.append(table(("", ""), rows))
    if hasattr(command, "commands"):
        parts.append(table(("command", ""), _listed(words, command)))
    if command.epilog:
        parts += _epilog(command.epilog)
    return "\n" + "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _listed(words: str, group: Command) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        anchor = f"{words} {name}".replace(" ", "-")
        yield f"[{code(name)}](#{anchor})", command.get_short_help_str(200)


def _rows(command: Command, context: typer.Context) -> Iterator[tuple[str, str]]:
    """The help text of each argument and option."""
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            spelled, told = record
            yield code(spelled), re.sub(r"(`[^`]*`)|([<>*_\[\]])", _escaped, told)


def _escaped(found: re.Match[str]) -> str:
    """A sign that Markdown would read as markup, unless it stands in code."""
    return found[1] or f"\\{found[2]}"


def _epilog(epilog: str) -> Iterator[str]:
    """Examples stand in a block of their own; the sentences around them are sentences."""
    for paragraph in inspect.cleandoc(epilog).split("\n\n"):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            yield block("text", inspect.cleandoc("\n" + lines))
        else:
            yield " ".join(paragraph.split())
