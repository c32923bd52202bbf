"""Several questions at once: their names are their keys, and every answer comes under its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from handraise.errors import UsageError
from handraise.forms.fits import NO_UNICODE, is_unicode
from handraise.server.asking import Asking, Prepared, Unasked, give_up
from handraise.server.calls import Call, current_call
from handraise.server.legacy import SessionCall
from handraise.server.refusals import fitting


class Several(Unasked):
    """Questions that were made and not asked yet. Awaiting them asks all of them and gives the answers by name."""

    __slots__ = ("_askings",)

    def __init__(self, askings: Mapping[str, Asking[Any]]) -> None:
        self._used = True  # each of them tells when it is not
        self._askings = askings
        wrong = _wrong_among(askings)
        if wrong is not None:
            self.use()
            raise fitting(UsageError(wrong))

    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        return self._answers().__await__()

    def prepare(self) -> Prepared[dict[str, Any]]:
        """Send the questions without waiting; wait for the answers later by awaiting what this gives."""
        self.use()
        requests = {asking.key or name: asking.ready() for name, asking in self._askings.items()}
        coming = [each for asking in self._askings.values() for each in asking.coming]
        return Prepared(self._call(), requests, self._answers(), tuple(coming))

    def use(self) -> None:
        for asking in self._askings.values():
            give_up(asking)

    def _call(self) -> Call:
        """The session's that every question is for, or else the running one."""
        sessions = {asking.session for asking in self._askings.values()}
        session = sessions.pop() if len(sessions) == 1 else None
        return current_call() if session is None else SessionCall(session)

    async def _answers(self) -> dict[str, Any]:
        call, askings = self._call(), self._askings.items()
        if call.revision.modern:  # one round, which waits for the links that it has
            self.use()
            begun = [await asking.begun(name) for name, asking in askings]
            answers = await call.together([ask() for ask in begun])
        else:
            answers = await call.together([asking.named(name) for name, asking in askings])
        return dict(zip(self._askings, answers, strict=True))


def _wrong_among(askings: Mapping[str, object]) -> str | None:
    names: dict[str, str] = {}
    for name, asking in askings.items():
        if not isinstance(asking, Asking):
            return (
                f"{name} has to be a question that is not awaited, as in {name}=ask.text(...), not {asking!r}"
            )
        key = asking.key or name
        if not is_unicode(key):
            return f"the key {key!r}: {NO_UNICODE}"
        if (other := names.setdefault(key, name)) != name:
            return f"{other} and {name} have the same key {key!r}; give each one of its own"
    return None
