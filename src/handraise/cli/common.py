"""Shared by several commands: options, the server to talk to, reading input, and one line for an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, TextIO, TypeAlias
from urllib.parse import urlsplit

import typer
from typer.core import TyperCommand, TyperGroup

from handraise.disk import Leftover
from handraise.display import inert
from handraise.errors import HandraiseError
from handraise.gateway.upstreams import Upstream, short_name

if TYPE_CHECKING:
    from handraise.sdk.streams import Tell


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Url: TypeAlias = Annotated[str | None, typer.Option("--url", help="The address of a server over HTTP.")]
Name: TypeAlias = Annotated[
    str | None, typer.Option("--name", help="Your name for the server; the desk shows it.")
]
Env: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="Add this variable to the server's environment, which has all of yours; may be repeated.",
    ),
]


def parse_environment(given: Iterable[str] | None) -> dict[str, str]:
    """The variables from `--env`; a usage error if one has no name."""
    pairs = [each.partition("=") for each in given or ()]
    if any(not name or not equals for name, equals, _ in pairs):
        raise typer.BadParameter("give NAME=VALUE, like LOG_LEVEL=debug", param_hint="--env")
    return {name: value for name, _, value in pairs}


NOT_YET_GONE: Final = 3
"""The exit status when deleted contents are still on the disk."""
_LONGEST_ERROR: Final = 20_000


class AllCommands(TyperGroup):
    """The root of all commands. An error of any command becomes one message on standard error, and the status 2."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
            return super().invoke(ctx)


@contextmanager
def report_errors(status: int = 2) -> Iterator[None]:
    """For the few commands with another exit status for errors: print an error from the block, and exit."""
    try:
        yield
    except HandraiseError as error:
        typer.echo(f"handraise: {inert(str(error), limit=_LONGEST_ERROR)}", err=True)
        raise typer.Exit(status) from None


def report_leftover(left: Leftover | None, command: str) -> int:
    """Print where deleted contents still are; returns the exit status: 0, or 3 to run `command` again."""
    if left is None:
        return 0
    then = f" When that is over, run this again, with the same options: {command}" if left.again else ""
    typer.echo(f"handraise: deleted, but still on the disk in {left.where}: {left.why}.{then}", err=True)
    return NOT_YET_GONE if left.again else 0


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


class ServerCommand(TyperCommand):
    """A command that takes a server's command after `--`, and shows that in its usage."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


def client_target(server: Upstream, tell: Tell | None = None, log: TextIO | None = None) -> Any:
    """The SDK client's connection. `tell` gets every message, `log` the server's output."""
    from handraise.sdk.streams import command_line, tapped, transport_to

    if server.url is not None:
        return server.url if tell is None else tapped(transport_to(server.url), tell)
    target = command_line(*server.command, env={**os.environ, **server.environment})
    transport = transport_to(target, log=log)
    return transport if tell is None else tapped(transport, tell)


def chosen_server(
    command: tuple[str, ...], url: str | None, name: str | None, env: Iterable[str] | None = None
) -> Upstream:
    """The server of a command line; a usage error when there is none, or two."""
    if url is None and not command:
        raise typer.BadParameter("name a server: write its command after `--`, or give --url")
    if url is not None and command:
        raise typer.BadParameter("give either --url or a command after `--`, not both")
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise typer.BadParameter(f"a server's URL begins with http:// or https://, and {url!r} does not")
        if env:
            raise typer.BadParameter("this goes with a command, not with --url", param_hint="--env")
        return Upstream(name or urlsplit(url).hostname or url, url=url)
    return Upstream(name or short_name(command), command, environment=parse_environment(env))


def wants_colour() -> bool:
    """Whether standard error is a terminal that may show colour."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
