"""A server for Markdown notes that asks before it guesses, and before it destroys.

It sees only the folders that the client names as its roots and those given here; with both, what lies in both.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import deleting
import first_run
import reading
import schedule
from mcp.server.mcpserver import MCPServer
from shelf import Shelf

from handraise import Handraise
from handraise.server import Boundary


def make_server(
    folders: Iterable[Path] | None = None, *, timeout: float = 300, public_url: str | None = None
) -> MCPServer:
    """The notes server, with `folders` for clients that have no roots and `public_url` for its pages over HTTP."""
    server = Handraise(timeout=timeout, public_url=public_url).install(
        MCPServer("notes", version="1", log_level="WARNING")
    )
    shelf = Shelf(Boundary(server, folders))
    for tools in (reading, deleting, first_run, schedule):
        tools.add_tools(server, shelf)
    return server


def main() -> None:
    """Serve over standard input and output, or over HTTP on this computer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", action="append", type=_folder, help="a folder of notes; may be repeated")
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio"
    )
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds that a person has to answer (300)"
    )
    given = parser.parse_args()
    if given.http is None:
        make_server(given.folder, timeout=given.timeout).run("stdio")
        return
    url = f"http://127.0.0.1:{given.http}"
    server = make_server(given.folder, timeout=given.timeout, public_url=url)
    server.run("streamable-http", host="127.0.0.1", port=given.http)


def _folder(text: str) -> Path:
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {folder}")
    return folder


if __name__ == "__main__":
    main()
