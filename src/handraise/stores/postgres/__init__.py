"""The store for several nodes: one PostgreSQL database that all of them share.

`database` owns the connections, `schema` makes the tables; `rounds`, `flows`, `secrets`, `tickets` and `ledger`
are about some tables each; `nodes` tells which nodes live; `hints` wakes them; `store` puts them together.
"""

from handraise.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
