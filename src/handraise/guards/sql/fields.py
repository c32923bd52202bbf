"""What a column has inside, from its type as an engine writes it: `STRUCT(ssn VARCHAR)[]`, `row(ssn varchar)`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from handraise.guards.sql.schema import Field, Path


def fields_of(path: Path, columns: Iterable[tuple[str, str]], dialect: str) -> tuple[Field, ...]:
    """All that the columns of a table have inside; each column comes with its type."""
    return tuple(
        Field(column, name, path) for column, written in columns for name in _names(written, dialect)
    )


@lru_cache(maxsize=1000)
def _names(written: str, dialect: str) -> tuple[str, ...]:
    """The names in a type. Of one that cannot be parsed every word may be one."""
    if "(" not in written:
        return ()
    try:
        parsed = exp.DataType.build(written, dialect=dialect)
    except SqlglotError:
        return tuple(re.findall(r"\w+", written))
    return tuple(each.name for each in parsed.find_all(exp.ColumnDef))
