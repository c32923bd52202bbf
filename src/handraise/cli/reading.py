"""What a command was given to look at: a file, the JSON itself, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import typer


def read_document(given: str | None) -> bytes:
    """All of the input."""
    with _opened(given) as stream:
        return stream.read()


def read_lines(given: str | None) -> Iterator[bytes]:
    """The input line by line, as it comes."""
    with _opened(given) as stream:
        for line in stream:
            yield line.rstrip(b"\r\n")


@contextmanager
def _opened(given: str | None) -> Iterator[BinaryIO]:
    if given is None or given == "-":
        if given is None and sys.stdin.isatty():
            raise typer.BadParameter("give a file, the JSON itself, or standard input")
        yield sys.stdin.buffer
    elif given.lstrip().startswith(("{", "[")):
        yield BytesIO(given.encode(errors="surrogateescape"))
    else:
        try:
            with Path(given).open("rb") as stream:
                yield stream
        except OSError as error:
            raise typer.BadParameter(
                f"{given} cannot be read: {error.strerror}. Give a file, the JSON itself, or - for standard input"
            ) from None
