"""The store for one machine: an SQLite file that several processes may share.

`file` owns the connection and its transactions. The other modules have the SCHEMA of some tables and their queries.
`store` puts them together.
"""

from handraise.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
