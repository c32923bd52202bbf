"""The store that a path or a URL names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handraise.errors import SetupError
from handraise.policy.places import data_directory
from handraise.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from handraise.stores.postgres import PostgresStore

KEYS_VARIABLE = "HANDRAISE_STORE_KEYS"
VARIABLE = "HANDRAISE_STORE"
"""Names the store where nothing nearer does."""
OWN_FILE = "gateway.db"


def is_postgres(where: str | os.PathLike[str]) -> bool:
    """Whether it is the address of a PostgreSQL database."""
    return isinstance(where, str) and where.startswith(("postgresql://", "postgres://"))


def require_place(where: str | os.PathLike[str], what: str) -> None:
    """Refuse what names neither a file nor a PostgreSQL database. Addresses may hold a password, and are not shown."""
    if is_postgres(where):
        return
    scheme, is_address, _ = str(where).partition("://")
    if not os.fspath(where):
        found = "nothing"
    elif str(where) == ":memory:":
        found = "':memory:' (what is named no store is kept in memory)"
    elif is_address:
        found = f"an address that begins with {scheme}://"
    elif Path(where).expanduser().is_dir():
        found = f"the directory {str(where)!r}"
    else:
        return
    raise SetupError(f"{what} takes the path of a file, or postgresql://…, not {found}")


def own_store_file(environment: Mapping[str, str]) -> Path:
    """The file in which a gateway keeps what waits when no store is named."""
    return data_directory(environment) / OWN_FILE


def own_or_named_store(where: str) -> SqliteStore | PostgresStore:
    """The store of this name, or the user's own file, which has keys of its own beside it."""
    return named_store(where) if where else SqliteStore(own_store_file(os.environ))


def named_store(
    where: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None
) -> SqliteStore | PostgresStore:
    """The store at `postgresql://…`, else in an SQLite file.

    Nodes that share a database share its keys: those given, else those in HANDRAISE_STORE_KEYS, spaces between them.
    """
    require_place(where, "store")
    chosen = keys if keys is not None else os.environ.get(KEYS_VARIABLE, "").split() or None
    if not is_postgres(where):
        return SqliteStore(Path(where).expanduser(), keys=chosen)
    if chosen is None:
        raise SetupError(
            f"A PostgreSQL store needs keys that all its nodes share: keys=[…] or {KEYS_VARIABLE}. Make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    from handraise.stores.postgres import PostgresStore

    return PostgresStore(str(where), keys=chosen)
