"""Statements made up at random over the tables of the corpus: what a model, or somebody who means harm, might write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

TABLES = {
    "people": ("id", "name", "email", "born", "city", '"größe"'),
    "orders": ("id", "person_id", "total", "name"),
    "contacts": ("id", "contact", "city"),
    "known": ("id",),
    "nested": ("id", "reach"),
    "everyone": ("id", "mail", "city"),
    "whole_rows": ("id", "whole"),
    "mixed": ("city",),
}


@dataclass
class Sources:
    """What can be selected from in a query: names, each with its columns."""

    known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outer: Sources | None = None


class Statements:
    """Makes up statements in one dialect. Many are nonsense, which no engine runs."""

    def __init__(self, seed: int, dialect: str) -> None:
        self._chance = Random(seed)
        self._dialect = dialect
        self._number = 0
        self._ctes: dict[str, tuple[str, ...]] = {}

    def statement(self) -> str:
        """One statement that reads."""
        self._number = 0
        self._ctes = {}
        ctes = []
        for _ in range(self._chance.choice((0, 0, 0, 1, 2))):
            name = self._chance.choice((self._fresh(), "people", "orders"))
            query, columns = self._query(2, None)
            if self._chance.random() < 0.3:
                columns = tuple(self._fresh() for _ in columns)
                ctes.append(
                    f"{name}({', '.join(columns)}) AS ({query})" if columns else f"{name} AS ({query})"
                )
            else:
                ctes.append(f"{name} AS ({query})")
            self._ctes[name] = columns
        body, _ = self._query(self._chance.choice((0, 0, 1, 1, 2, 3)), None)
        return (f"WITH {', '.join(ctes)} " if ctes else "") + body

    def _fresh(self) -> str:
        self._number += 1
        return f"x{self._number}"

    def _query(self, depth: int, outer: Sources | None) -> tuple[str, tuple[str, ...]]:
        if depth and self._chance.random() < 0.1:
            (left, columns), (right, _) = self._query(depth - 1, outer), self._query(depth - 1, outer)
            return f"({left}) {self._chance.choice(('UNION ALL', 'UNION', 'EXCEPT'))} ({right})", columns
        sources = Sources(outer=outer)
        froms = self._from(depth, sources)
        selected, columns = self._selected(depth, sources)
        text = f"SELECT {selected} FROM {froms}"
        if self._chance.random() < 0.4:
            text += f" WHERE {self._condition(depth, sources)}"
        if self._chance.random() < 0.15:
            text += f" GROUP BY {self._name(sources)}"
        if self._chance.random() < 0.25:
            text += f" ORDER BY {self._chance.choice((self._name(sources), '1'))}"
        return text, columns

    def _from(self, depth: int, sources: Sources) -> str:
        text = self._source(depth, sources)
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            way = self._chance.choice(("on", "on", "comma", "cross", "using", "natural", "lateral"))
            if way == "lateral" and depth:
                query, columns = self._query(depth - 1, sources)
                name = self._fresh()
                sources.known[name] = columns
                text += f" CROSS JOIN LATERAL ({query}) AS {name}"
                continue
            other = self._source(depth, sources)
            match way:
                case "on":
                    text += f" JOIN {other} ON {self._condition(0, sources)}"
                case "using":
                    text += f" JOIN {other} USING ({self._chance.choice(('id', 'name', 'city'))})"
                case "natural":
                    text += f" NATURAL JOIN {other}"
                case "cross":
                    text += f" CROSS JOIN {other}"
                case _:
                    text += f", {other}"
        if self._chance.random() < 0.1:
            name = self._fresh()
            sources.known[name] = tuple(c for columns in sources.known.values() for c in columns)
            text = f"({text}) AS {name}"
        return text

    def _source(self, depth: int, sources: Sources) -> str:
        if depth and self._chance.random() < 0.3:
            query, columns = self._query(depth - 1, None)
            name = self._fresh()
            if columns and self._chance.random() < 0.4:
                columns = tuple(self._fresh() for _ in columns)
                sources.known[name] = columns
                return f"({query}) AS {name}({', '.join(columns)})"
            sources.known[name] = columns
            return f"({query}) AS {name}"
        tables = {**TABLES, **self._ctes}
        table = self._chance.choice([*tables, *["people", "orders", "nested"] * 3])
        name = self._chance.choice((table, self._fresh(), self._fresh(), "orders", "total", "name"))
        columns = tables[table]
        shown = self._chance.choice((table, f'"{table}"', table.upper()))
        if name == table:
            sources.known[name] = columns
            return shown
        if columns and self._chance.random() < 0.2:
            few = self._chance.randint(1, len(columns))
            columns = tuple(self._chance.choice((self._fresh(), "id")) for _ in range(few)) + columns[few:]
            sources.known[name] = columns
            return f"{shown} AS {name}({', '.join(columns[:few])})"
        sources.known[name] = columns
        return f"{shown} AS {name}"

    def _selected(self, depth: int, sources: Sources) -> tuple[str, tuple[str, ...]]:
        if self._chance.random() < 0.08:
            return "count(*)", ()
        parts: list[str] = []
        columns: list[str] = []
        for _ in range(self._chance.randint(1, 3)):
            if self._chance.random() < 0.06:
                name = self._chance.choice([*sources.known])
                star = self._chance.choice(("*", f"{name}.*"))
                if self._dialect == "duckdb" and self._chance.random() < 0.4:
                    star += self._chance.choice(
                        (" EXCLUDE (email)", " EXCLUDE (name, email, born)", " REPLACE (1 AS id)")
                    )
                parts.append(star)
                columns += sources.known[name]
                continue
            value = self._value(depth, sources)
            if self._chance.random() < 0.6:
                columns.append(self._chance.choice((self._fresh(), self._fresh(), "id", "city", "total")))
                parts.append(f"{value} AS {columns[-1]}")
            else:
                parts.append(value)
                columns.append(value.rpartition(".")[2])
        return ", ".join(parts), tuple(each for each in columns if each.replace('"', "").isidentifier())

    def _value(self, depth: int, sources: Sources) -> str:
        kind = self._chance.randint(0, 11)
        if kind == 0 and depth:
            query, _ = self._query(depth - 1, sources)
            return f"(SELECT count(*) FROM ({query}) AS {self._fresh()})"
        if kind == 1 and depth:
            query, _ = self._query(depth - 1, sources)
            return f"({query} LIMIT 1)"
        name = self._name(sources)
        texts = {
            2: f"count({name})",
            3: f"length(CAST({name} AS VARCHAR))",
            4: f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END",
            5: f"max(CAST({name} AS VARCHAR)) OVER (ORDER BY {self._name(sources)})",
        }
        if self._dialect == "duckdb":
            texts |= {6: f"{{'a': {name}}}.a", 7: f"[{name}][1]", 8: "COLUMNS('^e')"}
        else:
            texts |= {6: f"(row_to_json({name}))::text", 7: f"(ARRAY[{name}])[1]", 8: f"({name}).email"}
        return texts.get(kind, name)

    def _condition(self, depth: int, sources: Sources) -> str:
        kind = self._chance.randint(0, 4)
        if kind == 0 and depth:
            query, _ = self._query(depth - 1, sources)
            return f"EXISTS ({query})"
        if kind == 1:
            return f"{self._name(sources)} IS NOT NULL"
        if kind == 2:
            return f"length(CAST({self._name(sources)} AS VARCHAR)) > 3"
        return f"CAST({self._name(sources)} AS VARCHAR) = CAST({self._name(sources)} AS VARCHAR)"

    def _name(self, sources: Sources) -> str:
        """A column, a whole row, or something that is called like one."""
        around = sources
        while around.outer is not None and self._chance.random() < 0.3:
            around = around.outer
        table = self._chance.choice([*around.known])
        if self._chance.random() < 0.08:
            return table
        harmless = [c for c in around.known[table] if c in ("id", "city", "person_id", "total")]
        column = self._chance.choice(harmless or around.known[table] or ("id",))
        if self._chance.random() < 0.12:
            column = self._chance.choice(around.known[table] or ("id",))
        if self._chance.random() < 0.1:
            column = column.upper() if self._chance.random() < 0.5 else f'"{column}"'.replace('""', '"')
        return f"{table}.{column}" if self._chance.random() < 0.7 else column


PLAIN = (
    "SELECT id, total AS t FROM orders WHERE total > 3 AND name = 'x' ORDER BY t DESC LIMIT 10",
    "SELECT p.city, sum(o.total) AS s, count(*) FROM people p LEFT JOIN orders o ON o.person_id = p.id "
    "WHERE o.total BETWEEN 1 AND 30 GROUP BY p.city HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 10 OFFSET 0",
    "WITH big AS (SELECT person_id, sum(total * 2) AS t FROM orders GROUP BY person_id), c AS (SELECT id FROM people) "
    "SELECT p.city, avg(b.t) AS a FROM people p JOIN big b ON b.person_id = p.id GROUP BY p.city",
    "SELECT x.city FROM (SELECT DISTINCT city, id FROM people) AS x JOIN orders USING (id) "
    "WHERE x.id IN (SELECT person_id FROM orders) UNION ALL SELECT city FROM people",
    "SELECT CASE WHEN city = 'a' THEN 1 ELSE 2 END AS k, count(DISTINCT id) FROM people GROUP BY 1",
    "SELECT city, rank() OVER (PARTITION BY city ORDER BY id DESC) AS r, CAST(id AS INT) AS i, count(*) OVER (), "
    "id::INT AS j FROM people WHERE city LIKE 'c%'",
    "SELECT o.*, x.total FROM orders o JOIN (SELECT * FROM orders) x ON x.id = o.id AND o.total * 2 > 1",
)  # fmt: skip
"""Queries as models write them."""

_WORDS = """
* . , ( ) SELECT FROM WHERE JOIN ON USING AS DISTINCT ALL UNION WITH LIMIT NULLS = > 1 ; || :: [ ] -- /* */ 'x' "email"
NATURAL LATERAL CROSS FULL ASOF POSITIONAL IN EXISTS NOT RECURSIVE TABLE VALUES FOR INTO EXCLUDE UPDATE (SELECT (FROM
id name email born city total person_id people orders contacts p o x t a b count sum leak row p) (p) 'it''s'
p.* p.email people.email crm.leads to_json p.row_to_json COLUMNS(*) p(a,b) ON(id)
"""
_STRANGE = (*_WORDS.split(), "FROM people", "GROUP BY ALL")


def nearly_plain(seed: int, many: int) -> Iterator[str]:
    """Such queries in each of which a few words are others, or in other places."""
    chance = Random(seed)
    for _ in range(many):
        words = re.findall(r"'[^']*'|\w+|\S", chance.choice(PLAIN))
        for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3))):
            at, to = sorted((chance.randrange(len(words)), chance.randrange(len(words))))
            match chance.randrange(10):
                case 0 | 1 | 2 | 3:
                    words[at] = chance.choice(_STRANGE)
                case 4 | 5 | 6:
                    words.insert(at, chance.choice(_STRANGE))
                case 7:
                    del words[at]
                case 8:
                    words[at], words[to] = words[to], words[at]
                case _:
                    words[at:to] *= 2
        yield " ".join(words)
