"""What becomes of a server's questions, written to its ledger: an answer is on disk before the body gets it.

Without a ledger none of this is loaded, and a question costs nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Literal

from mcp.server.context import HandlerResult

from handraise.conversation import Conversation, RoundRecord
from handraise.conversation.recorded import Record
from handraise.conversation.store import Store
from handraise.errors import HandraiseError, Stopped, Withdrawn
from handraise.ledger import About, Client, Ledger, Request, Server
from handraise.ledger.parties import principal_of
from handraise.ledger.sequencer import Later
from handraise.ledger.trail import Trail
from handraise.questions import Fallback, Person
from handraise.revisions import Revision
from handraise.server.abandoned import Abandoned, mode_of, question_of
from handraise.server.calls import CURRENT, Call, Context
from handraise.server.inquiries import Inquiry
from handraise.server.observing import Observed, decision_of
from handraise.server.person import person_of
from handraise.wire import parse_trace

_EVERY = 600.0
"""How often to look for questions that nobody returned to."""

Pose = Callable[[Call, Inquiry[Any], Any, str | None], Awaitable[Any]]


class Recorder:
    """Records the questions of one server.

    On 2026-07-28, when the ledger is in the store of the rounds, a question commits with its round and its decision
    with the use of the round. Elsewhere each is written before anybody goes on.
    """

    def __init__(self, ledger: Ledger, name: str, store: Store, *, own: bool) -> None:
        self.ledger = ledger
        self._server = Server(name)
        self._store = store
        self._own = own
        """Whether its store is the ledger's alone."""
        self._abandoned = Abandoned(ledger, store, self._server)
        self._again = Later("ending questions that nobody returned to", self.start, _EVERY)

    @property
    def shares(self) -> bool:
        """Whether events are written along with the rounds that they tell of."""
        return self.ledger.store is self._store

    async def start(self) -> None:
        """End what can be answered no more, now and from time to time."""
        await self._abandoned.settle()
        self._again.call()

    def left(self, trail: Trail, call: Call) -> None:
        """The body of a call was let go at its question, to be run again when the answer comes."""
        self._abandoned.left(trail, call.answered)

    async def close(self) -> None:
        """Sign what there is."""
        await self._again.stop()
        await (self.ledger.aclose() if self._own else self.ledger.finish())

    def observes(self, inquiry: Inquiry[Any]) -> bool:
        """Whether its steps come here already."""
        return isinstance(inquiry, Observed)

    async def pose(self, pose: Pose, call: Call, inquiry: Inquiry[Any], manner: Any, name: str | None) -> Any:
        """Ask, and record how it goes."""
        observed = Observed(self, call, inquiry)
        try:
            result = await pose(call, observed, manner, name)
        except asyncio.CancelledError:
            observed.withdrawn()
            raise
        except HandraiseError as error:
            if isinstance(error, Withdrawn) and call.is_left:  # nobody waits for it
                observed.withdrawn()
            else:
                with call.told_when_left():
                    await observed.ended(error)
            raise
        if isinstance(result, Fallback):
            with call.told_when_left():
                await observed.fell_back()
        return result

    async def write(self, *records: Record) -> None:
        """Have events on disk. They get there also when whoever waits for it is cancelled."""
        await asyncio.shield(self.ledger.record_soon(*records))

    def name(self, inquiry: Inquiry[Any], key: str) -> None:
        """What the question is called in its call."""
        if isinstance(inquiry, Observed):
            inquiry.key = key

    async def asked(self, call: Call, key: str) -> None:
        """A question goes to the client, and no round is written that its event could commit with."""
        if (recording := call.recordings.get(key)) is not None:
            await self.ledger.record(recording.asked())

    def sending(self, conversation: Conversation, questions: Collection[str]) -> list[Record]:
        """The events that commit with a round."""
        call = _call_of(conversation)
        known = [call.recordings[key] for key in questions if key in call.recordings]
        self.ledger.written()
        return [recording.asked() for recording in known if not recording.sent]

    def taken(
        self, ctx: Context, revision: Revision, of: Conversation | RoundRecord, answers: Mapping[str, Any]
    ) -> list[Record]:
        """The events that commit with the use of a round. They are written once, whoever uses it how often."""
        if not self.shares:
            return []
        self.ledger.written()
        made = []
        for key, raw in answers.items():
            if isinstance(of, RoundRecord):
                made += self._taken_of_gone(ctx, revision, of, key, raw)
            elif (recording := _call_of(of).recordings.get(key)) is not None:
                made += recording.decision(raw)
        return made

    def _taken_of_gone(
        self, ctx: Context, revision: Revision, record: RoundRecord, key: str, raw: Any
    ) -> list[Record]:
        """The decision upon a question whose body is gone: what is known of it is in its round."""
        trail = self._trail_of_gone(ctx, revision, record, key)
        return [] if trail is None else decision_of(trail, raw)

    def lost(self, ctx: Context, revision: Revision, record: RoundRecord) -> list[Record]:
        """The events that commit with the end of a call whose answers nobody can use: its body is gone for good."""
        given = [
            entry.key for entry in record.journal if entry.kind == "answer" and entry.key in record.questions
        ]
        before = record._replace(journal=record.journal[: len(record.journal) - len(given)])
        trails = [self._trail_of_gone(ctx, revision, before, key) for key in given]
        why = "the process that asked is gone, and the call may not run again"
        made = [trail.ambiguous(why) for trail in trails if trail is not None]
        if self.shares:
            self.ledger.written()
            return made
        self.ledger.record_soon(*made)
        return []

    def _trail_of_gone(self, ctx: Context, revision: Revision, record: RoundRecord, key: str) -> Trail | None:
        if (id_ := question_of(record, key)) is None:
            return None
        mode = mode_of(record.questions[key])
        assert mode is not None
        about = self.about(ctx, person_of(ctx), revision, mode)
        return self.ledger.trail(id_, about, None, until="used", again=True)

    def turned_away(self, person: Person, reason: str) -> None:
        """Somebody opened a page that waits for another person. It is not theirs to see, and nobody waits for this."""
        about = About(self._server, principal_of(person), mode="url")
        trail = self.ledger.trail(self.ledger.new_question(), about, None)
        self.ledger.record_soon(trail.refused((f"the page was opened by {reason}",)))

    def about(self, ctx: Context, person: Person, revision: Revision, mode: Literal["form", "url"]) -> About:
        """What all events of a question in a call have in common."""
        return About(
            self._server,
            principal_of(person),
            self._request(ctx),
            mode=mode,
            client=_client(ctx),
            revision=revision,
            trace=parse_trace((ctx.params or {}).get("_meta")),
            store=self._abandoned.store if revision.modern else None,
        )

    def observing(
        self, call: Call, handler: Callable[[Context], Awaitable[HandlerResult]]
    ) -> Callable[[Context], Awaitable[HandlerResult]]:
        """The handler, with its end joined to the answers that it used."""

        async def observed(ctx: Context) -> HandlerResult:
            try:
                result = await handler(ctx)
            except asyncio.CancelledError:
                if not call.goes_on_elsewhere:
                    self.ledger.record_soon(*self._uses(call, "cancelled"))
                raise
            except BaseException:
                await self._used(call, _failed(call))
                raise
            await self._used(call, _failed(call) if _is_error(result) else "result")
            return result

        return observed

    async def _used(self, call: Call, ended: Literal["result", "error", "stopped"]) -> None:
        if call.is_left:  # nobody waits for it
            self.ledger.record_soon(*self._uses(call, "cancelled"))
        elif records := self._uses(call, ended):
            await self.write(*records)

    def _uses(self, call: Call, ended: Literal["result", "error", "cancelled", "stopped"]) -> list[Record]:
        request = self._request(call.ctx)
        return [trail.used(request, ended) for trail in call.answered]

    def _request(self, ctx: Context) -> Request:
        params = ctx.params or {}
        target = params.get("uri" if ctx.method == "resources/read" else "name")
        given = params.get("arguments")
        return self.ledger.request(ctx.method, None if target is None else str(target), given or {})


def _call_of(conversation: Conversation) -> Call:
    assert conversation.context is not None
    return conversation.context[CURRENT]


def _failed(call: Call) -> Literal["error", "stopped"]:
    return "stopped" if isinstance(call.ending, Stopped) else "error"


def _is_error(result: HandlerResult) -> bool:
    if isinstance(result, Mapping):
        return bool(result.get("isError"))
    return bool(getattr(result, "is_error", False))


def _client(ctx: Context) -> Client | None:
    params = ctx.session.client_params
    return None if params is None else Client(params.client_info.name, params.client_info.version or None)
