"""Stores for rounds, journals, flows, secrets, tickets and the ledger: memory, SQLite, PostgreSQL.

Import `handraise.stores.postgres` only where it is needed: its driver is an extra.
"""

from handraise.stores.memory import MemoryStore
from handraise.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
