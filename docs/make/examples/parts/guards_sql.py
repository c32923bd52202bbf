import asyncio

from handraise.guards.sql import (
    Catalogue,
    DuckDB,
    Engine,
    Estimate,
    Postgres,
    Relation,
    Schema,
    SqlGuard,
    Trino,
)


class Warehouse:
    """An engine of your own; there are some for databases that many have."""

    dialect = "postgres"

    async def schema(self) -> Schema:
        return Schema((Relation(("orders",), ("id", "email")),))

    async def estimate(self, statement: str) -> Estimate:
        return Estimate(rows=5_000_000 if "email" in statement else 1)


engine: Engine = Warehouse()
guard = SqlGuard(engine, Catalogue({"orders": {"email": ["contact"]}}), rows=1_000_000)


async def main() -> None:
    for statement in ("SELECT count(*) FROM orders", "SELECT email FROM orders"):
        judged = await guard.judge(statement)
        print(judged.asks, judged.columns)


asyncio.run(main())
print(*(made.__name__ for made in (DuckDB, Postgres, Trino)))
