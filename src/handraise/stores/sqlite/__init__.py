"""The store for one machine: an SQLite file that several processes may share.

`file` owns the connection and its transactions; every other module is about some tables, with their SCHEMA and
functions that take the connection inside a transaction; `store` puts them together.
"""

from handraise.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
