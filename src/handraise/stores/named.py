"""The store that a path or a URL names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from handraise.errors import SetupError
from handraise.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from handraise.stores.postgres import PostgresStore

KEYS_VARIABLE = "HANDRAISE_STORE_KEYS"


def is_postgres(where: str | os.PathLike[str]) -> bool:
    """Whether it is the address of a PostgreSQL database."""
    return isinstance(where, str) and where.startswith(("postgresql://", "postgres://"))


def named_store(
    where: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None
) -> SqliteStore | PostgresStore:
    """The store at `postgresql://…`, else in an SQLite file.

    Nodes that share a database share its keys: those given, else those in HANDRAISE_STORE_KEYS, spaces between them.
    """
    chosen = keys if keys is not None else os.environ.get(KEYS_VARIABLE, "").split() or None
    if not is_postgres(where):
        return SqliteStore(where, keys=chosen)
    if chosen is None:
        raise SetupError(
            f"A PostgreSQL store needs keys that all its nodes share: keys=[…] or {KEYS_VARIABLE}. Make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    from handraise.stores.postgres import PostgresStore

    return PostgresStore(str(where), keys=chosen)
