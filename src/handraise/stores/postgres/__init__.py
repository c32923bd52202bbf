"""The store for several nodes: one PostgreSQL database that all of them share.

`database` owns the connections, `migrations` the schema; `rounds`, `flows`, `secrets`, `sessions` and `ledger` are
about some tables each; `nodes` tells which nodes live; `hints` wakes them; `store` puts them together.
"""

from handraise.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
