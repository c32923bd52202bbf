"""The store for several nodes: one PostgreSQL database that all of them share.

`database` owns the connections and `schema` makes the tables. `rounds` and `ledger` have a class for each of their
tables. `event_writer` writes ledger events in the transaction of a change. `nodes` knows the live nodes, `watch` waits
for their rounds, and `store` puts everything together.
"""

from handraise.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
