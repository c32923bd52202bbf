"""Where rounds, journals and flows are kept: memory, SQLite."""

from handraise.stores.memory import MemoryStore
from handraise.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
