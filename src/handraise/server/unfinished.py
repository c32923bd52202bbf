"""Questions without a waiting handler: which can continue, and how the others end in the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from handraise.calls import RoundRecord, Store
from handraise.calls.ledger_tables import Record
from handraise.calls.store import UnfinishedRound
from handraise.ledger import Ledger, LedgerEvent, ServerRecord
from handraise.ledger.ledger import QuestionFate, SigningStore
from handraise.ledger.trail import Trail
from handraise.server.question_record import question_id, stem_of, stem_of_question
from handraise.server.replay import is_declared


class UnfinishedQuestions:
    """Ends the questions of this server that nobody returned to."""

    def __init__(self, ledger: Ledger, store: Store, server: ServerRecord) -> None:
        self._ledger = ledger
        self._store = store
        self._server = server
        self._left: dict[str, tuple[Trail, Sequence[Trail]]] = {}

    @property
    def store(self) -> str | None:
        """The name of the store, for the events of questions that can be answered after a restart."""
        return self._names[0] if self._names else None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The name of the store, and those that it had before its keys were rotated."""
        if not self._store.durable:
            return ()
        secrets = self._store.signing_secrets() if isinstance(self._store, SigningStore) else [b""]
        return tuple(hashlib.sha256(b"handraise store" + secret).hexdigest()[:12] for secret in secrets)

    def left(self, trail: Trail, answered: Sequence[Trail]) -> None:
        """Remember a handler that was ended at its question, to be replayed with the answer."""
        self._left[trail.question] = trail, answered

    async def settle(self) -> None:
        """End the questions of processes that are gone, and expired ones whose handlers were ended here."""
        unfinished = await self._store.unfinished() if self._store.durable else []
        rounds = {stem_of(round_.call_id): round_ for round_ in unfinished}
        now = self._store.now()
        await self._ledger.start(lambda last: self.judge(last, rounds, now))
        await self._expire_left(now)

    def judge(self, last: LedgerEvent, rounds: Mapping[str, UnfinishedRound], now: float) -> QuestionFate:
        """The fate of a question whose process is gone. Questions of other stores or servers are left alone."""
        if last.about.store is None:
            return "ambiguous"
        if last.about.store not in self._names or last.about.server != self._server:
            return "waits"
        return fate_of(last, rounds.get(stem_of_question(last.question)), now)

    async def _expire_left(self, now: float) -> None:
        waiting = await self._store.pending() if self._left else []
        stems = {stem_of(round_.call_id) for round_ in waiting}
        self._left = {id_: left for id_, left in self._left.items() if stem_of_question(id_) in stems}
        for round_ in waiting:
            if now >= round_.deadline and (events := await self._endings(round_.token)):
                await self._expire(round_.token, events)

    async def _endings(self, token: str) -> list[Record]:
        """The events that end a round whose handler was ended here, and its call."""
        if (record := await self._store.find_round(token)) is None:
            return []
        ids = [question_of(record, key) for key in record.questions]
        events = []
        for trail, answered in [self._left.pop(id_) for id_ in ids if id_ in self._left]:
            request = trail.about.request
            events.append(trail.expired())
            events += [each.used(request, "cancelled") for each in answered if request is not None]
        return events

    async def _expire(self, token: str, events: list[Record]) -> None:
        """Close a round, unless somebody answered it at the last moment."""
        shares = self._ledger.store is self._store
        closed = await self._store.close_round(token, events=events if shares else ())
        if closed and shares:
            self._ledger.written()
        elif closed:
            await self._ledger.record(*events)


def fate_of(last: LedgerEvent, round_: UnfinishedRound | None, now: float) -> QuestionFate:
    """The fate of a question whose process is gone, from its round."""
    if round_ is None or not is_declared(round_.handler):
        return "ambiguous"
    if last.kind != "asked":  # a repeated answer gets an outcome while the round is kept
        return "waits"
    return "waits" if now < round_.deadline else "expired"


def question_of(record: RoundRecord, key: str) -> str | None:
    """The id of a question in a round; None for a request that asks no person."""
    if (mode := mode_of(record.questions.get(key))) is None:
        return None
    before = [entry for entry in record.journal if entry.key == key and entry.kind in ("answer", "expired")]
    links = {entry.pin for entry in before} - {record.pins.get(key)}  # a link shown again is one question
    return question_id(record.call_id, key, len(links if mode == "url" else before))


def mode_of(request: Any) -> Literal["form", "url"] | None:
    """The mode of an input request; None for a request that asks no person."""
    if request is None or request.get("method") != "elicitation/create":
        return None
    return "url" if request["params"].get("mode") == "url" else "form"
