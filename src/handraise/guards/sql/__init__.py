"""Check a SQL statement before it runs: what it reads and costs, and whether a person has to agree.

Needs the extra `sql`. The modules about DuckDB, PostgreSQL and Trino import no driver: they use your connection.
"""

from handraise.errors import SetupError

try:
    import sqlglot  # noqa: F401
except ImportError:
    raise SetupError('SqlGuard needs sqlglot: pip install "handraise[sql]"') from None

from handraise.guards.sql.engines import DuckDB, Engine, Estimate, Postgres, Trino
from handraise.guards.sql.guard import SqlGuard
from handraise.guards.sql.schema import Catalogue, Relation, Schema

__all__ = ["Catalogue", "DuckDB", "Engine", "Estimate", "Postgres", "Relation", "Schema", "SqlGuard", "Trino"]
