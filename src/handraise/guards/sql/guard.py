"""`SqlGuard`: ask a person before a statement that is costly, changes something or reaches personal data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from handraise.display import for_line, inert
from handraise.errors import GuardRefused, HandraiseError
from handraise.forms import ANSWER, DEFAULT_LIMITS, Flag, Form
from handraise.guards.consent import ask_for_consent, end_with, require_accepted
from handraise.guards.sql.effects import SqlAction, SqlEffects, SqlReader, StatementKind
from handraise.guards.sql.engines import CannotEstimate, Engine, Estimate
from handraise.guards.sql.parsing import MAX_TEXT, UnreadableSql
from handraise.guards.sql.schema import Catalogue, FieldPath, Relation, Schema, fold
from handraise.questions import FormQuestion

DEFAULT_ROWS: Final = 1_000_000
MESSAGE: Final = DEFAULT_LIMITS.message // 4
"""Characters of a question. In UTF-8 each has four bytes at most, so that every desk shows it."""
_LEAST_TEXT: Final = 200
_NAMES: Final = 200
"""Characters for a list of names. Names that do not fit are counted."""
_KINDS: Final[dict[StatementKind, str]] = {
    "write": "It changes data",
    "definition": "It changes tables, views or rights",
    "outside": "It reaches files, other databases or settings",
}


TaggedColumns = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class SqlVerdict:
    """Whether a person has to agree, by a statement's effects and its cost."""

    effects: SqlEffects
    rows: int | None
    """The engine's estimate, if there is one."""
    threshold: int
    """More rows than this need a yes."""

    @property
    def columns(self) -> TaggedColumns:
        """The personal columns that it reaches, each with its tags."""
        return self.effects.columns

    @property
    def asks(self) -> bool:
        """Whether a person has to agree."""
        effects = self.effects
        return effects.kinds != ("read",) or bool(effects.columns or effects.functions) or self.is_costly

    @property
    def is_costly(self) -> bool:
        """Whether it goes through more rows than allowed without a question."""
        return self.rows is not None and self.rows > self.threshold

    def covers(self, later: SqlVerdict) -> bool:
        """Whether a yes to this verdict covers a later one, which reaches nothing more and at most twice the rows."""
        before, after = self.effects, later.effects
        return (
            set(after.kinds) <= set(before.kinds)
            and set(after.actions) <= set(before.actions)
            and set(after.columns) <= set(before.columns)
            and set(after.functions) <= set(before.functions)
            and (not later.is_costly or (later.rows or 0) <= 2 * (self.rows or 0))
        )


def planned_columns(estimate: Estimate, schema: Schema, catalogue: Catalogue) -> TaggedColumns:
    """The personal columns that the engine's plan says are read."""
    found: dict[str, tuple[str, ...]] = {}
    for path, column in estimate.columns:
        for relation in schema.named(path) or [Relation(path, (column,))]:
            if (tags := catalogue.personal(relation).get(fold(column))) is not None:
                found[f"{relation.name}.{column}"] = tags
    return tuple(found.items())


def unnamed_tables(reading: SqlEffects, estimate: Estimate, schema: Schema) -> list[str]:
    """Tables in the engine's plan that the text does not reach, directly or through their parent tables."""
    known = {fold(relation.path[-1]) for relation in reading.relations}
    return sorted(path[-1] for path in estimate.tables if not known & _names(path, schema))


def _names(path: FieldPath, schema: Schema) -> set[str]:
    parts_of = (above for relation in schema.named(path) for above in relation.part_of)
    return {fold(each[-1]) for each in (path, *parts_of)}


def message(verdict: SqlVerdict, text: str, also: str | None = None) -> str:
    """The question: every change and every table by name, the cost, and then the statement itself.

    The names come first: a client may show the beginning of a long question only, and a long text may hide a change.
    Raises `UnreadableSql` when they leave no room for the statement.
    """
    told = "\n".join(f"- {reason}" for reason in (*([also] if also else []), *reasons(verdict)))
    before = f"Run this SQL?\n\n{told}\n\n{_heading(verdict, text)}\n"
    behind = "\n\nIf you decline: It does not run, and the model is told that you said no."
    room = MESSAGE - len(before) - len(behind)
    if room < _LEAST_TEXT:
        raise UnreadableSql("It does more than a question can show; run it in several parts.")
    return before + _text(verdict.effects.shown, room) + behind


def _heading(verdict: SqlVerdict, text: str) -> str:
    hidden, statements = verdict.effects.comments, len(verdict.effects.kinds)
    comments = f", {hidden:,} of them comments that are not shown" if hidden else ""
    which = "The statement" if statements == 1 else f"The {statements} statements"
    return f"{which} ({len(text):,} characters{comments}):"


def _text(shown: tuple[str, ...], room: int) -> str:
    """The statements as a whole, or the beginning and the end of each with how many characters are between them."""
    whole = inert(";\n".join(shown), limit=MAX_TEXT * 20)
    if len(whole) <= room:
        return whole
    half = (room // len(shown) - _COUNTED) // 2
    return ";\n".join(
        inert(each, limit=2 * half)
        if len(each) <= 2 * half
        else inert(each[:-half], limit=half) + inert(each[-half:], limit=half)
        for each in shown
    )


_COUNTED: Final = 50
"""Characters for the count of omitted characters."""


def reasons(verdict: SqlVerdict) -> Iterator[str]:
    """Why a person is asked, in sentences. Changes are named in full, everything else up to some length."""
    effects = verdict.effects
    if len(effects.kinds) > 1:
        yield f"It has {len(effects.kinds)} statements."
    for kind, sentence in _KINDS.items():
        if changes := _changes(effects.actions, kind):
            yield f"{sentence}: {changes}."
    if read := [for_line(each.name, limit=80) for each in effects.actions if each.kind == "read"]:
        yield f"It reads: {_listed(read)}."
    if effects.columns:
        yield f"It reaches personal data: {_listed([_named(*each) for each in effects.columns])}."
    if effects.functions:
        names = _listed([for_line(name, limit=60) for name in effects.functions])
        yield f"It calls what may change data, or read files, the network or other tables: {names}."
    if verdict.rows is None:
        yield "The engine cannot estimate its cost before it runs."
    else:
        rows = "1 row" if verdict.rows == 1 else f"{verdict.rows:,} rows"
        yield f"It goes through about {rows}; you are asked above {verdict.threshold:,}."


def _changes(actions: tuple[SqlAction, ...], kind: StatementKind) -> str:
    """All changes of a kind: `DELETE FROM people, orders; UPDATE cities`."""
    by_verb: dict[str, list[str]] = {}
    for action in actions:
        if action.kind == kind:
            by_verb.setdefault(action.verb, []).append(action.shown)
    return "; ".join(f"{for_line(verb)} {', '.join(names)}" for verb, names in by_verb.items())


def _named(column: str, tags: tuple[str, ...]) -> str:
    shown = for_line(column, limit=80)
    return f"{shown} ({', '.join(tags)})" if tags else shown


def _listed(names: list[str]) -> str:
    """As many names as fit, at least one, and the number of the others."""
    lengths = accumulate(len(name) + 2 for name in names)
    fits = max(1, sum(length <= _NAMES for length in lengths))
    more = f" and {len(names) - fits} more" if len(names) > fits else ""
    return ", ".join(names[:fits]) + more


logger = logging.getLogger(__name__)

_FORM: Final[Form[Any]] = Form.by_hand(Flag(ANSWER, title="Run it?"))


class SqlGuard:
    """Asks before a SQL statement that writes, reads too much, or touches personal columns.

    - `catalogue`: which columns hold personal data.
    - `rows`: above how many rows a person is asked.
    - `keep_schema`: seconds for which the engine's schema is remembered; 0 reads it each time. It is also read again
      before a yes is used, when a statement names something unknown, and for that long after the approval of anything
      but a plain read.
    """

    def __init__(
        self,
        engine: Engine,
        catalogue: Catalogue,
        *,
        rows: int = DEFAULT_ROWS,
        keep_schema: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._rows = rows
        self._keep = keep_schema
        self._clock = clock
        self._reader: SqlReader | None = None
        self._until = 0.0
        self._settled = 0.0

    async def approve(self, statement: str, *, also: str | None = None) -> str:
        """Return the statement when it may run. Run exactly that.

        `also` says in a sentence what else the call does (a file is replaced, say): that is always asked about, in
        the same question. Ends the call with `user_declined`, `user_cancelled`, or a refusal when it cannot be read,
        estimated or asked about. A yes is for this statement and this call only.
        """
        try:
            verdict = await self.judge(statement)
            while verdict.asks or also:
                question = FormQuestion(message(verdict, statement, also), _FORM)
                answer = await ask_for_consent(
                    question, declined_when=lambda content: content[ANSWER] is not True
                )
                require_accepted(answer, "this statement")
                later = await self.judge(statement, fresh=True)
                if verdict.covers(later):
                    break
                verdict = later  # the situation changed, and the statement reaches more now
        except GuardRefused as error:
            end_with(error)
        except UnreadableSql as error:
            end_with(_refused("cannot_parse", str(error)))
        if set(verdict.effects.kinds) != {"read"} or verdict.effects.functions:
            # The statement runs from now on: a look at the schema meanwhile may come too soon.
            self._settled = self._clock() + self._keep
        return statement

    async def judge(self, statement: str, *, fresh: bool = False) -> SqlVerdict:
        """The reasons for a question. Raises `GuardRefused` when that cannot be told."""
        known = self._reader if not fresh and self._settled <= self._clock() < self._until else None
        try:
            reader = known or await self._look_up()
            reading = reader.read(statement)
            estimate = await self._engine.estimate(statement) if reading.can_be_estimated else None
        except UnreadableSql as error:
            if known is not None:
                return await self.judge(statement, fresh=True)
            raise _refused("cannot_parse", f"The guard cannot tell what it does. {error}") from None
        except CannotEstimate as error:
            logger.info("no estimate: %s", error)
            raise _refused("cannot_estimate", f"The engine gives no estimate for it: {error}") from None
        if estimate is None:
            return SqlVerdict(reading, None, self._rows)
        if strange := unnamed_tables(reading, estimate, reader.schema):
            raise _refused(
                "cannot_parse", f"The engine would read tables that it does not name: {', '.join(strange)}."
            )
        planned = planned_columns(estimate, reader.schema, self._catalogue)
        effects = replace(reading, columns=tuple(sorted({*reading.columns, *planned})))
        return SqlVerdict(effects, estimate.rows, self._rows)

    async def _look_up(self) -> SqlReader:
        self._reader = SqlReader(self._engine.dialect, await self._engine.schema(), self._catalogue)
        self._until = self._clock() + self._keep
        return self._reader


def _refused(category: str, why: str) -> HandraiseError:
    return GuardRefused(
        f"{category}: this statement does not run. {why} Write a simpler one.", category=category
    )
