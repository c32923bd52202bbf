"""Have a server's question decided: by the policy, by the client's own person dialog, or at our desks.

Loaded when the first question comes; until then a gateway needs none of it.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from handraise.client.calls import CALL
from handraise.client.calls import Call as Told
from handraise.client.consent import Consent
from handraise.client.gate import Desks, Gate
from handraise.client.recording import Recorder
from handraise.desks import Decision, Queue, Waiting
from handraise.errors import WireError
from handraise.gateway.calls import Call
from handraise.gateway.errands import Errands
from handraise.gateway.json_text import plain
from handraise.gateway.messages import Message, input_requests
from handraise.gateway.methods import ELICIT
from handraise.gateway.peers import MODERN, Peer
from handraise.gateway.upstreams import Source, Upstream
from handraise.ledger.earlier import earlier
from handraise.ledger.events import Client
from handraise.questions import Origin, Person, Question
from handraise.revisions import Revision
from handraise.wire import dump_question, parse_question, parse_trace, parse_url_required

if TYPE_CHECKING:
    from handraise.desks.past import Earlier
    from handraise.gateway.parking.taking_over import Keeper
    from handraise.ledger import Ledger

logger = logging.getLogger(__name__)

T = TypeVar("T")

IN_VAIN: Final = "The server did not know the call any more, so that the answer reached nothing."


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks whom: a server, and the person of the client."""

    source: Source
    person: Person
    peer: Peer | None = None

    @property
    def upstream(self) -> Upstream:
        """The server, as the user named it."""
        return self.source.upstream

    @property
    def client(self) -> Client | None:
        """The client's program, as it calls itself."""
        if self.peer is None or not isinstance(name := self.peer.info.get("name"), str):
            return None
        version = self.peer.info.get("version")
        return Client(name, version if isinstance(version, str) else None)

    @property
    def origin(self) -> Origin:
        """The server in the user's own words; its own ones beside them, as a claim."""
        name, version = self.source.claimed.get("name"), self.source.claimed.get("version")
        return Origin(
            self.upstream.name,
            self.upstream.target,
            name if isinstance(name, str) else None,
            version if isinstance(version, str) else None,
        )


class Asking:
    """One queue and one policy for all questions that come through the gateway."""

    def __init__(
        self,
        queue: Queue,
        gate: Gate,
        *,
        timeout: float,
        ledger: Ledger | None = None,
        policy_version: str | None = None,
        keeper: Keeper | None = None,
        opened: AsyncExitStack | None = None,
    ) -> None:
        """`opened` is closed with us."""
        self.keeper = keeper
        """Keeps parked calls beyond this process."""
        self.queue = queue
        self.call_person: Callable[[str], Coroutine[Any, Any, None]] | None = None
        """Told which server asks at our desk, where somebody is to hear of it."""
        self._gate = gate
        self._timeout = timeout
        self._ledger = ledger
        self._recorder = Recorder(ledger)
        self._policy_version = policy_version
        self._name = f"handraise@{socket.gethostname()}"
        self._opened = opened or AsyncExitStack()
        self._calling = Errands()

    @property
    def earlier(self) -> Earlier | None:
        """Tells a desk what was decided before this run, where that is recorded."""
        return None if self._ledger is None else earlier(self._ledger)

    async def open(self, part: AbstractAsyncContextManager[T]) -> T:
        """Open something that is closed with us, as a desk is."""
        return await self._opened.enter_async_context(part)

    async def aclose(self) -> None:
        """Close the desks, the store and the ledger."""
        await self._calling.aclose()
        if self.keeper is not None:
            await self.keeper.aclose()
        await self._recorder.aclose()
        await self._opened.aclose()

    async def decide(
        self,
        question: Question,
        revision: Revision,
        asker: Asker,
        calls: Sequence[Call],
        desk: Desks | None = None,
        read: Callable[[Decision], Decision] | None = None,
        guard: bool = False,
    ) -> Decision:
        """The decision about a question, at `desk` or else at ours; there `read` says how an answer counts.

        `guard`: a guard of the user's asks, and not the server.
        """
        if desk is None:
            desk = OurDesk(self.queue, lambda: self._call(asker.upstream.name), read)
        consent = self._consent(asker, calls, desk)
        with _because_of(calls):
            return await consent.ask(question, revision, ours=asker.upstream.itself, guard=guard)

    def needs_passkey(self, question: Question, asker: Asker, calls: Sequence[Call]) -> bool:
        """Whether a question has to come to our desk, because accepting it needs the person's passkey."""
        return self._gate.needs_passkey(self._consent(asker, calls, self.queue).waiting_for(question))

    async def refuse(self, error: WireError, revision: str, asker: Asker, calls: Sequence[Call]) -> None:
        """Record a question that breaks the rules of its revision. Nobody is shown it."""
        logger.warning("%s asked against the rule %r: %s", asker.upstream.name, error.rule, error)
        consent = self._consent(asker, calls, self.queue)
        await consent.unreadable(_known(revision), f"it breaks the rule {error.rule}")

    async def judge(
        self, message: Message, asker: Asker, calls: Sequence[Call], is_for_desk: Callable[[str], bool]
    ) -> str | None:
        """Judge and record the questions in a message that the client takes further itself: a -32042, a task.

        Their answers are not heard here. Why the message may not pass to the client; None when it may.
        """
        try:
            questions = _questions_in(message)
        except WireError as error:
            await self.refuse(error, asker.source.revision, asker, calls)
            return f"it breaks the rule {error.rule}"
        for question, revision in questions:
            consent = self._consent(asker, calls, self.queue)
            if is_for_desk(question.mode):
                why = "the client cannot ask its person, and its answer would not come from our desk"
                await consent.unreadable(revision, why)
                return why
            with _because_of(calls):
                reasons = await consent.pass_on(question, revision)
            if reasons:
                return "; ".join(reasons)
        return None

    def tell_in_vain(self, call: Call) -> None:
        """Have the desks tell that what was answered because of a call reached nothing."""
        logger.warning("what was answered because of a call of %s reached nothing", call.name)
        self.queue.note(_told(call).id, IN_VAIN)

    def _call(self, server: str) -> None:
        if self.call_person is not None:
            self._calling.run(self.call_person(server))

    async def wait_in_browser(self, question: Any, asker: Asker, calls: Sequence[Call]) -> bool:
        """Offer "done" and "cancel" at our desk while a browser flow runs; True for "done"."""
        return await self._consent(asker, calls, self.queue).wait_in_browser(question)

    def _consent(self, asker: Asker, calls: Sequence[Call], desk: Desks) -> Consent:
        consent = Consent(
            desk,
            origin=asker.origin,
            person=asker.person,
            gate=self._gate,
            timeout=self._timeout,
            recorder=self._recorder,
            policy_version=self._policy_version,
            gateway=self._name,
            transport=asker.upstream.transport,
            server_host=asker.upstream.host,
        )
        consent.calls = [_told(call) for call in calls]
        consent.client = asker.client
        return consent


class OurDesk:
    """The queue behind our own desks, and a word to the person that something waits in it."""

    def __init__(
        self,
        queue: Queue,
        call_person: Callable[[], None],
        read: Callable[[Decision], Decision] | None = None,
    ) -> None:
        self._queue = queue
        self._call_person = call_person
        self._read = read

    async def put(self, waiting: Waiting) -> Decision:
        self._call_person()
        decision = await self._queue.put(waiting)
        return decision if self._read is None else self._read(decision)

    async def join(self, question_id: str) -> Decision | None:
        return await self._queue.join(question_id)

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        self._queue.tell(waiting, decision)


def begin_round(call: Call, questions: int) -> None:
    """Questions that come together are shown together."""
    _told(call).begin_round(call.rounds, questions)


def redump(question: Question, revision: str) -> dict[str, Any]:
    """The params of a question for a client of another revision than its server's."""
    return dump_question(question, Revision(revision))


def parse(params: Mapping[str, Any], revision: str) -> tuple[Question, Revision]:
    """The question in a server's message; WireError when it breaks the rules."""
    known = _known(revision)
    asked = {name: plain(value) for name, value in params.items() if name not in ("_meta", "task")}
    return parse_question(asked, known), known


def _questions_in(message: Message) -> list[tuple[Question, Revision]]:
    """The questions that a message holds beside requests and rounds; WireError when one breaks the rules."""
    if message.requires_links:
        links = parse_url_required(plain(message.body["error"].get("data")))
        return [(link, Revision.NOVEMBER_2025) for link in links]
    asked = [each for each in input_requests(message.body) if each.get("method") == ELICIT]
    return [parse(each["params"] if isinstance(each.get("params"), dict) else {}, MODERN) for each in asked]


@contextmanager
def _because_of(calls: Sequence[Call]) -> Iterator[None]:
    """Say which call asks, where that is known."""
    before = CALL.set(_told(calls[0])) if len(calls) == 1 else None
    try:
        yield
    finally:
        if before is not None:
            CALL.reset(before)


def _known(revision: str) -> Revision:
    return Revision(revision) if revision in list(Revision) else Revision.JUNE_2025


def note_for_model(decision: Decision, server: str) -> str | None:
    """A sentence for the model when a rule decided, and not the person."""
    if decision.by != "policy":
        return None
    why = f" ({decision.reason})" if decision.reason else ""
    return (
        f"A question of the server {server!r} was answered by the user's Handraise rules and not by the user{why}. "
        "The user decided nothing; tell them if it matters."
    )


def _told(call: Call) -> Told:
    if call.cause is None:
        trace = parse_trace(call.message.params.get("_meta"))
        call.cause = Told(call.name, call.arguments, call.message.method or "tools/call", trace)
    told: Told = call.cause
    return told
