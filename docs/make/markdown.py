"""Markdown, written by code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

NOTICE: Final = "<!-- Made by `make docs` from the code; edits here are lost. -->\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a cell keeps to its line and its column."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)
        .replace("| --- ", "|---")
        .replace("|--- |\n", "|---|\n")
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Text as it is typed, in a line."""
    return f"`{text}`"


def block(language: str, text: str, mark: str = "") -> str:
    """A block of code, with the comment that says how it is run."""
    return f"{f'<!-- snippet: {mark} -->' + chr(10) if mark else ''}```{language}\n{text.rstrip()}\n```\n"
