"""`SqlGuard`: ask a person before a statement that is costly, changes something or reaches personal data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from handraise.errors import GuardRefused, HandraiseError
from handraise.forms import ANSWER, Flag, Form
from handraise.guards.consent import ask_for_consent, end_with, require_accepted
from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.effects import SqlReader
from handraise.guards.sql.parsing import UnreadableSql
from handraise.guards.sql.schema import CannotEstimate, Engine
from handraise.guards.sql.verdict import (
    DEFAULT_ROWS,
    SqlVerdict,
    judge,
    message,
    planned_columns,
    unnamed_tables,
)
from handraise.questions import FormQuestion

logger = logging.getLogger(__name__)

_FORM: Final[Form[Any]] = Form.by_hand(Flag(ANSWER, title="Run it?"))


class SqlGuard:
    """Stands in front of the statements of one engine.

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
        if verdict.kinds != {"read"} or verdict.functions:
            self._settled = (
                self._clock() + self._keep
            )  # the statement runs from now on: a check in between may come too soon
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
            return judge(reading, None, self._rows)
        if strange := unnamed_tables(reading, estimate, reader.schema):
            raise _refused(
                "cannot_parse", f"The engine would read tables that it does not name: {', '.join(strange)}."
            )
        return judge(reading, estimate, self._rows, planned_columns(estimate, reader.schema, self._catalogue))

    async def _look_up(self) -> SqlReader:
        self._reader = SqlReader(self._engine.dialect, await self._engine.schema(), self._catalogue)
        self._until = self._clock() + self._keep
        return self._reader


def _refused(category: str, why: str) -> HandraiseError:
    return GuardRefused(
        f"{category}: this statement does not run. {why} Write a simpler one.", category=category
    )
