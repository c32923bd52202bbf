"""How an author's mistake is told: the error fits the call around it, and the log says what to mend."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TypeVar

from handraise.errors import DefinitionError, HandraiseError, UsageError
from handraise.server.calls import CURRENT

logger = logging.getLogger(__name__)

E = TypeVar("E", bound=HandraiseError)


def fitting(error: E) -> E:
    """The error as it has to be raised, so that it leaves the running call well, if there is one."""
    call = CURRENT.get(None)
    if call is None:
        return error
    if isinstance(error, DefinitionError | UsageError):
        logger.error("%s", error.args[0])  # the client learns one sentence, which says less
    return call.raisable(error)  # type: ignore[return-value]


class _Fitted:
    """`with fitted: …` makes what is refused inside of it fit the running call."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if isinstance(error, DefinitionError):
            raise fitting(error) from None


fitted = _Fitted()
