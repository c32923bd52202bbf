"""Stores for rounds, journals, flows, secrets, tickets and the ledger: memory, SQLite, PostgreSQL.

`named_store` opens one by its address: the URL of a database in `policy.places.DATABASES`, or the path of a file.
A database's module is imported only when it is needed: its driver is an extra.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from handraise.calls.store import SharedStore
from handraise.errors import SetupError
from handraise.policy.places import DATABASE_URLS, data_directory, database_of
from handraise.stores.memory import MemoryStore
from handraise.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]

KEYS_VARIABLE = "HANDRAISE_STORE_KEYS"
VARIABLE = "HANDRAISE_STORE"
"""The variable that names the store, if nothing else does."""
OWN_FILE = "gateway.db"

Keys: TypeAlias = Sequence[bytes | str]


def named_store(where: str | os.PathLike[str], *, keys: Keys | None = None) -> SharedStore:
    """The store at the URL of a database, else in an SQLite file.

    Nodes that share a database share its keys: those given, else those in HANDRAISE_STORE_KEYS, spaces between them.
    """
    require_address(where, "store")
    chosen = keys if keys is not None else os.environ.get(KEYS_VARIABLE, "").split() or None
    database = database_of(where)
    if database is None:
        return SqliteStore(Path(where).expanduser(), keys=chosen)
    if chosen is None:
        raise SetupError(
            f"A {database.name} store needs keys that all its nodes share: keys=[…] or {KEYS_VARIABLE}. Make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    opened: SharedStore = getattr(import_module(database.module), database.store)(str(where), keys=chosen)
    return opened


def own_or_named_store(where: str) -> SharedStore:
    """The store at this address, or the user's own file, whose keys are beside it."""
    return named_store(where) if where else SqliteStore(own_store_file(os.environ))


def own_store_file(environment: Mapping[str, str]) -> Path:
    """The user's own store file, for a gateway without a named store."""
    return data_directory(environment) / OWN_FILE


def require_address(where: str | os.PathLike[str], option: str) -> None:
    """Refuse an address of neither a file nor a database. It is not shown: it may contain a password."""
    if database_of(where):
        return
    scheme, is_url, _ = str(where).partition("://")
    if not os.fspath(where):
        found = "nothing"
    elif str(where) == ":memory:":
        found = "':memory:' (what is named no store is kept in memory)"
    elif is_url:
        found = f"an address that begins with {scheme}://"
    elif Path(where).expanduser().is_dir():
        found = f"the directory {str(where)!r}"
    else:
        return
    raise SetupError(f"{option} takes the path of a file, or {DATABASE_URLS}, not {found}")
