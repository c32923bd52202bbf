"""May a statement run as it is, after a question, or not at all? Decides from what was found out before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from handraise.display import for_line, inert
from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.engines import Estimate
from handraise.guards.sql.reading import Kind, Reading
from handraise.guards.sql.schema import Path, Relation, Schema, fold

DEFAULT_ROWS: Final = 1_000_000
_STATEMENT: Final = 900
_NAMED: Final = 12
_KINDS: Final[dict[Kind, str]] = {
    "write": "It changes data.",
    "definition": "It changes tables, views or rights.",
    "outside": "It reaches files, other databases or settings.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What speaks for a question: none of it, and the statement may run."""

    kinds: frozenset[Kind]
    statements: int
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    functions: tuple[str, ...]
    rows: int | None
    threshold: int

    @property
    def asks(self) -> bool:
        """Whether a person has to agree."""
        return bool(
            self.kinds - {"read"} or self.columns or self.functions or self.statements > 1 or self.is_costly
        )

    @property
    def is_costly(self) -> bool:
        """Whether it goes through more rows than may be gone through unasked."""
        return self.rows is not None and self.rows > self.threshold

    def covers(self, later: Verdict) -> bool:
        """Whether who agreed to this agreed to that one, too: nothing more is reached, at most twice the rows."""
        return (
            later.kinds <= self.kinds
            and set(later.columns) <= set(self.columns)
            and set(later.functions) <= set(self.functions)
            and (not later.is_costly or (later.rows or 0) <= 2 * (self.rows or 0))
        )


def judge(reading: Reading, estimate: Estimate | None, threshold: int, columns: Columns = ()) -> Verdict:
    """The verdict. `columns` are personal ones that the engine's plan reads, beside those in the text."""
    return Verdict(
        frozenset(reading.kinds),
        len(reading.kinds),
        tuple(sorted({*reading.columns, *columns})),
        reading.functions,
        None if estimate is None else estimate.rows,
        threshold,
    )


Columns = tuple[tuple[str, tuple[str, ...]], ...]


def planned_columns(estimate: Estimate, schema: Schema, catalogue: Catalogue) -> Columns:
    """The personal columns that the engine's plan says are read."""
    found: dict[str, tuple[str, ...]] = {}
    for path, column in estimate.columns:
        for relation in schema.named(path) or [Relation(path, (column,))]:
            if (tags := catalogue.personal(relation).get(fold(column))) is not None:
                found[f"{relation.name}.{column}"] = tags
    return tuple(found.items())


def unnamed_tables(reading: Reading, estimate: Estimate, schema: Schema) -> list[str]:
    """The tables in the engine's plan that the text was not found to reach, nor a table that they are a part of."""
    known = {fold(relation.path[-1]) for relation in reading.relations}
    return sorted(path[-1] for path in estimate.tables if not known & _names(path, schema))


def _names(path: Path, schema: Schema) -> set[str]:
    parts_of = (above for relation in schema.named(path) for above in relation.part_of)
    return {fold(each[-1]) for each in (path, *parts_of)}


def message(verdict: Verdict, text: str, also: str | None = None) -> str:
    """What the person is asked: what the statement does, with numbers and names, and the statement itself."""
    told = "\n".join(f"- {reason}" for reason in (*([also] if also else []), *reasons(verdict)))
    length = f"{len(text):,} characters"
    return (
        f"Run this SQL?\n\n{told}\n\nThe statement ({length}):\n{inert(text, limit=_STATEMENT)}\n\n"
        "If you decline: It does not run, and the model is told that you said no."
    )


def reasons(verdict: Verdict) -> Iterator[str]:
    """Why a person is asked, in sentences."""
    if verdict.statements > 1:
        yield f"It has {verdict.statements} statements."
    yield from (sentence for kind, sentence in _KINDS.items() if kind in verdict.kinds)
    if verdict.columns:
        yield f"It reaches personal data: {_listed([_named(*each) for each in verdict.columns])}."
    if verdict.functions:
        names = _listed([for_line(name, limit=60) for name in verdict.functions])
        yield f"It uses what may read files, the network or other tables: {names}."
    if verdict.rows is None:
        yield "What it costs cannot be estimated before it runs."
    else:
        rows = "1 row" if verdict.rows == 1 else f"{verdict.rows:,} rows"
        yield f"It goes through about {rows}; you are asked above {verdict.threshold:,}."


def _named(column: str, tags: tuple[str, ...]) -> str:
    shown = for_line(column, limit=80)
    return f"{shown} ({', '.join(tags)})" if tags else shown


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
