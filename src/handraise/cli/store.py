"""`handraise store`: show a store's contents, update its tables, and delete what is over."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from handraise.cli.common import AsJson, report_errors
from handraise.errors import SetupError
from handraise.policy.places import DATABASE_URLS, database_of

if TYPE_CHECKING:
    from handraise.calls.store import SharedStore

T = TypeVar("T")

app = typer.Typer(
    help="Show and clean up the store of a server or a gateway.\n\n"
    "It is an SQLite file, or a PostgreSQL database that several nodes share. For PostgreSQL, set "
    "HANDRAISE_STORE_KEYS. No command shows contents.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StoreOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help=f"{DATABASE_URLS} or a file. Without it: HANDRAISE_STORE, then `[store] url` in handraise.toml, then the "
        "gateway's own file.",
    ),
]

_STATUS_EXAMPLES = """Examples:

\b
  handraise store status --store notes.db
  handraise store status --store postgresql://db.internal/handraise --json
"""
_MIGRATE_EXAMPLES = """Examples:

\b
  handraise store migrate --store postgresql://db.internal/handraise
"""
_PRUNE_EXAMPLES = """Examples:

\b
  handraise store prune --store postgresql://db.internal/handraise
"""


@app.command(epilog=_STATUS_EXAMPLES)
def status(store: StoreOption = None, as_json: AsJson = False) -> None:
    """Show how many questions wait, and how many events the ledger has."""

    async def look(store: SharedStore) -> dict[str, Any]:
        placed, newest = await store.ledger.size(), await store.ledger.rows_before(None, 1)
        found: dict[str, Any] = {
            "pending": len(await store.pending()),
            "events": newest[0].number if newest else 0,
            "placed": placed,
        }
        if (nodes := await store.other_nodes()) is not None:
            found["nodes"] = nodes
        return found

    found = _with(store, look)
    if as_json:
        typer.echo(json.dumps(found))
        return
    typer.echo(f"Questions that wait: {found['pending']}")
    typer.echo(f"Events in the ledger: {found['events']}, in its tree: {found['placed']}")
    if "nodes" in found:
        typer.echo(f"Nodes that live: {found['nodes']}")


@app.command(epilog=_MIGRATE_EXAMPLES)
def migrate(store: StoreOption = None) -> None:
    """Create the tables. Nodes do it too when they start. Tables of another version of Handraise are refused."""

    async def open_it(store: SharedStore) -> int:
        return len(await store.pending("nobody"))  # opening a store makes its tables

    _with(store, open_it, new=True)
    typer.echo("The store is up to date.")


@app.command(epilog=_PRUNE_EXAMPLES)
def prune(store: StoreOption = None) -> None:
    """Delete expired questions, links, parked calls and secrets. Servers do that too."""

    async def forget(store: SharedStore) -> int:
        await store.pending("nobody")  # sets the clock
        return await store.prune(store.now())

    typer.echo(f"Records deleted: {_with(store, forget)}")


def _with(given: str | None, work: Callable[[SharedStore], Awaitable[T]], *, new: bool = False) -> T:
    """Open an existing store, or a new one with `new`, run work, and close it."""
    import asyncio

    from handraise.stores import own_or_named_store

    async def run() -> T:
        store = own_or_named_store(_chosen(given, new))
        try:
            return await work(store)
        finally:
            await store.aclose()

    with report_errors(1):
        return asyncio.run(run())


def _chosen(given: str | None, new: bool) -> str:
    """The address of the chosen store; empty for the gateway's own file."""
    from handraise.policy.files import load_settings
    from handraise.policy.settings import choose
    from handraise.stores import own_store_file, require_address

    where = str(choose("store.url", given, os.environ, load_settings(), None).value)
    if not where and not own_store_file(os.environ).exists():
        raise SetupError("no store is named, and the gateway has none of its own yet; name one with --store")
    if where:
        require_address(where, "store")
    if where and not new and database_of(where) is None and not Path(where).expanduser().exists():
        raise SetupError(f"there is no store at {where}; a server makes it, or `handraise store migrate`")
    return where
