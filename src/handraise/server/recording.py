"""Writes a server's questions to its ledger: an answer is on disk before the handler gets it.

Without a ledger none of this is loaded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from handraise.calls import Call, RoundRecord, Store
from handraise.calls.ledger_tables import Record
from handraise.calls.store import UnfinishedRound
from handraise.errors import Stopped
from handraise.ledger import ClientRecord, EventContext, Ledger, LedgerEvent, RequestRecord, ServerRecord
from handraise.ledger.ledger import DelayedTask, QuestionFate, SigningStore
from handraise.ledger.trail import Trail, principal_of
from handraise.questions import Person
from handraise.sdk.adapter import IncomingRequest
from handraise.server.client_requests import ClientRequest
from handraise.server.question_record import (
    QuestionRecord,
    decision_of,
    mode_of,
    question_of,
    stem_of,
    stem_of_question,
)
from handraise.server.replay import is_declared
from handraise.server.served import ServedCall, target_of
from handraise.wire import parse_trace

_EVERY = 600.0
"""Seconds between searches for questions that nobody returned to."""


class Recorder:
    """Records the questions of one server.

    On 2026-07-28, when the ledger is in the store of the rounds, a question commits with its round and its decision
    with the use of the round. Otherwise each event is written before the call continues.
    """

    def __init__(self, ledger: Ledger, name: str, store: Store, *, own: bool) -> None:
        self.ledger = ledger
        self._server = ServerRecord(name)
        self._own = own
        """Whether only the ledger uses its store."""
        self.shares: bool = ledger.store is store
        """Whether events commit with their rounds."""
        self._store = store
        self._left: dict[str, tuple[Trail, Sequence[Trail]]] = {}
        """Questions whose handlers were ended here, to be replayed, each with the answered questions of its call."""
        self._again = DelayedTask("ending questions that nobody returned to", self.start, _EVERY)

    async def start(self) -> None:
        """End questions that can no longer be answered, now and from time to time."""
        unfinished = await self._store.unfinished() if self._store.durable else []
        rounds = {stem_of(round_.call_id): round_ for round_ in unfinished}
        now = self._store.now()
        await self.ledger.start(lambda last: self._judge(last, rounds, now))
        await self._expire_left(now)
        self._again.call()

    async def close(self) -> None:
        """Write a signed checkpoint."""
        await self._again.stop()
        await (self.ledger.aclose() if self._own else self.ledger.finish())

    async def write(self, *records: Record) -> None:
        """Write events to disk, even if the waiting task is cancelled."""
        await asyncio.shield(self.ledger.record_soon(*records))

    # Questions.

    def question(self, call: ServedCall, request: ClientRequest[Any]) -> QuestionRecord:
        """The record of a question that is about to be asked."""
        return QuestionRecord(self, call, request)

    def left(self, trail: Trail, call: ServedCall) -> None:
        """Record that a handler was ended at its question, to be replayed with the answer."""
        self._left[trail.question] = trail, call.answered

    def turned_away(self, person: Person, reason: str) -> None:
        """Record that somebody opened another person's page. It is no question, so it stands for none."""
        about = EventContext(self._server, principal_of(person), mode="url")
        trail = self.ledger.trail(self.ledger.new_question(), about, None)
        self.ledger.record_soon(trail.refused((f"the page was opened by {reason}",), count=0))

    # Rounds.

    def round_asked(self, call: ServedCall, keys: Sequence[str]) -> list[Record]:
        """The events that commit with a round."""
        if not self.shares:
            return []
        known = [call.recordings[key] for key in keys if key in call.recordings]
        self.ledger.written()
        return [recording.asked() for recording in known if not recording.sent]

    def round_taken(
        self, request: IncomingRequest, of: Call | RoundRecord, answers: Mapping[str, Any]
    ) -> list[Record]:
        """The events that commit with the first use of a round."""
        if not self.shares:
            return []
        self.ledger.written()
        made: list[Record] = []
        for key, raw in answers.items():
            if isinstance(of, RoundRecord):
                trail = self._trail_of_gone(request, of, key)
                made += [] if trail is None else decision_of(trail, raw)
                continue
            assert isinstance(of, ServedCall)
            if (recording := of.recordings.get(key)) is not None:
                made += recording.decision(raw)
        return made

    def round_lost(self, request: IncomingRequest, record: RoundRecord) -> list[Record]:
        """The events that commit with the end of a call whose handler is gone for good."""
        answered = [
            entry.key for entry in record.journal if entry.kind == "answer" and entry.key in record.questions
        ]
        before = record._replace(journal=record.journal[: len(record.journal) - len(answered)])
        trails = [self._trail_of_gone(request, before, key) for key in answered]
        why = "the process that asked is gone, and the call may not run again"
        made = [trail.ambiguous(why) for trail in trails if trail is not None]
        if self.shares:
            self.ledger.written()
            return made
        self.ledger.record_soon(*made)
        return []

    def _trail_of_gone(self, request: IncomingRequest, record: RoundRecord, key: str) -> Trail | None:
        """The trail of a question whose handler is gone, from its round."""
        id_, mode = question_of(record, key), mode_of(record.questions.get(key))
        if id_ is None or mode is None:
            return None
        return self.ledger.trail(id_, self.about(request, mode), None, until="used", again=True)

    # Calls.

    def call_cancelled(self, call: ServedCall) -> None:
        """The handler of a call was cancelled."""
        if not call.is_elsewhere:
            self.ledger.record_soon(*self._uses(call, "cancelled"))

    async def call_ended(self, call: ServedCall, *, failed: bool) -> None:
        """Record the end of a handler, joined to the answers that it used."""
        if call.is_left:  # the client has left
            self.ledger.record_soon(*self._uses(call, "cancelled"))
            return
        ended: Literal["result", "error", "stopped"] = "error" if failed else "result"
        if failed and isinstance(call.ending, Stopped):
            ended = "stopped"
        if records := self._uses(call, ended):
            await self.write(*records)

    def _uses(
        self, call: ServedCall, ended: Literal["result", "error", "cancelled", "stopped"]
    ) -> list[Record]:
        request = self._request(call.request)
        return [trail.used(request, ended) for trail in call.answered]

    def about(self, request: IncomingRequest, mode: Literal["form", "url"]) -> EventContext:
        """The common part of all events of a question."""
        client = request.client
        return EventContext(
            self._server,
            principal_of(request.person),
            self._request(request),
            mode=mode,
            client=None if client is None else ClientRecord(client.name, client.version),
            revision=request.revision,
            trace=parse_trace(request.params.get("_meta")),
            store=self._names[0] if self._names and request.revision.modern else None,
        )

    def _request(self, request: IncomingRequest) -> RequestRecord:
        target = target_of(request) or None
        return self.ledger.request(request.method, target, request.params.get("arguments") or {})

    # Questions without a waiting handler: which can continue, and how the others end.

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The name of the store, and those that it had before its keys were rotated."""
        if not self._store.durable:
            return ()
        secrets = self._store.signing_secrets() if isinstance(self._store, SigningStore) else [b""]
        return tuple(hashlib.sha256(b"handraise store" + secret).hexdigest()[:12] for secret in secrets)

    def _judge(self, last: LedgerEvent, rounds: Mapping[str, UnfinishedRound], now: float) -> QuestionFate:
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
        closed = await self._store.close_round(token, events=events if self.shares else ())
        if closed and self.shares:
            self.ledger.written()
        elif closed:
            await self.ledger.record(*events)


def fate_of(last: LedgerEvent, round_: UnfinishedRound | None, now: float) -> QuestionFate:
    """The fate of a question whose process is gone, from its round."""
    if round_ is None or not is_declared(round_.handler):
        return "ambiguous"
    if last.kind != "asked":  # a repeated answer gets an outcome while the round is kept
        return "waits"
    return "waits" if now < round_.deadline else "expired"
