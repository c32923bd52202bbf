"""The one judge of questions: by the policy, then by the person in the client's dialog or at our desks."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from handraise.client.calls import CALL
from handraise.client.consent import Consent
from handraise.client.gate import Desks, Gate
from handraise.client.recording import HostRecorder
from handraise.desks import Decision, Queue, Waiting
from handraise.errors import WireError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.gateway.call import RelayedCall
from handraise.gateway.json_text import plain
from handraise.gateway.messages import ELICIT, Message, input_requests
from handraise.gateway.peers import MODERN, Peer
from handraise.gateway.tasks import TaskSet
from handraise.gateway.upstreams import Source, Upstream
from handraise.ledger.events import ClientRecord
from handraise.ledger.history import desk_history
from handraise.questions import Origin, Person, Question
from handraise.revisions import Revision
from handraise.wire import dump_question, parse_question, parse_url_required

if TYPE_CHECKING:
    from handraise.desks.endings import Earlier
    from handraise.gateway.tickets import TicketRepository
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
    def client(self) -> ClientRecord | None:
        """The client's program, as it calls itself."""
        if self.peer is None or not isinstance(name := self.peer.info.get("name"), str):
            return None
        version = self.peer.info.get("version")
        return ClientRecord(name, version if isinstance(version, str) else None)

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


class QuestionHandler:
    """One queue and one policy for all questions that come through the gateway."""

    def __init__(
        self,
        queue: Queue,
        gate: Gate,
        *,
        timeout: float,
        ledger: Ledger | None = None,
        policy_version: str | None = None,
        tickets: TicketRepository | None = None,
        opened: AsyncExitStack | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """`opened` is closed with us."""
        self.tickets = tickets
        """Keeps parked calls beyond this process."""
        self.queue = queue
        self.call_person: Callable[[str], Coroutine[Any, Any, None]] | None = None
        """Told which server asks at our desk, where somebody is to hear of it."""
        self.limits = limits
        """How large a question may be."""
        self._gate = gate
        self._timeout = timeout
        self._ledger = ledger
        self._recorder = HostRecorder(ledger)
        self._policy_version = policy_version
        self._name = f"handraise@{socket.gethostname()}"
        self._opened = opened or AsyncExitStack()
        self._calling = TaskSet()

    @property
    def earlier(self) -> Earlier | None:
        """Tells a desk what was decided before this run, where that is recorded."""
        return None if self._ledger is None else desk_history(self._ledger)

    async def open(self, part: AbstractAsyncContextManager[T]) -> T:
        """Open something that is closed with us, as a desk is."""
        return await self._opened.enter_async_context(part)

    async def aclose(self) -> None:
        """Close the desks, the store and the ledger."""
        await self._calling.aclose()
        if self.tickets is not None:
            await self.tickets.aclose()
        await self._recorder.aclose()
        await self._opened.aclose()

    async def decide(
        self,
        question: Question,
        revision: Revision,
        asker: Asker,
        calls: Sequence[RelayedCall],
        desk: Desks | None = None,
        guard: bool = False,
    ) -> Decision:
        """The decision about a question, at `desk` or else at ours.

        `guard`: a guard of the user's asks, and not the server.
        """
        consent = self._consent(asker, calls, desk or self.our_desk(asker))
        with _because_of(calls):
            return await consent.ask(question, revision, ours=guard or asker.upstream.itself, guard=guard)

    def our_desk(self, asker: Asker) -> OurDesk:
        """Our desk, for questions of this asker."""
        return OurDesk(self, asker.upstream.name)

    def needs_passkey(self, question: Question, asker: Asker, calls: Sequence[RelayedCall]) -> bool:
        """Whether a question has to come to our desk, because accepting it needs the person's passkey."""
        return self._gate.needs_passkey(self._consent(asker, calls, self.queue).waiting_for(question))

    async def refuse(
        self, error: WireError, revision: str, asker: Asker, calls: Sequence[RelayedCall]
    ) -> None:
        """Record a question that breaks the rules of its revision. Nobody is shown it."""
        logger.warning("%s asked against the rule %r: %s", asker.upstream.name, error.rule, error)
        consent = self._consent(asker, calls, self.queue)
        await consent.unreadable(_known(revision), f"it breaks the rule {error.rule}")

    async def note_unasked(self, asker: Asker, call: RelayedCall, *, passes: bool) -> None:
        """Record an answer of the client's to a question that was not asked through this process."""
        logger.warning("the client answered a question of %s that was not asked here", asker.upstream.name)
        await self._consent(asker, [call], self.queue).unasked(_known(MODERN), passes=passes)

    async def judge(
        self, message: Message, asker: Asker, calls: Sequence[RelayedCall], modes: Collection[str]
    ) -> str | None:
        """Judge and record the questions in a message that the client takes further itself: a -32042, a task.

        Their answers are not heard here. `modes` is what the client asks its person itself. Why the message may not
        pass to the client; None when it may.
        """
        try:
            questions = self._questions_in(message)
        except WireError as error:
            await self.refuse(error, asker.source.revision, asker, calls)
            return f"it breaks the rule {error.rule}"
        for question, revision in questions:
            consent = self._consent(asker, calls, self.queue)
            if question.mode not in modes:
                why = "the client cannot ask its person, and its answer would not come from our desk"
                await consent.unreadable(revision, why)
                return why
            with _because_of(calls):
                reasons = await consent.pass_on(question, revision)
            if reasons:
                return "; ".join(reasons)
        return None

    def parse(self, params: object, revision: str) -> tuple[Question, Revision]:
        """The question in a server's message; WireError when it breaks the rules, or is larger than our limits."""
        known, given = _known(revision), params if isinstance(params, Mapping) else {}
        asked = {name: plain(value) for name, value in given.items() if name != "task"}
        return parse_question(asked, known, self.limits), known

    def _questions_in(self, message: Message) -> list[tuple[Question, Revision]]:
        """The questions that a message holds beside requests and rounds; WireError when one breaks the rules."""
        if message.requires_links:
            links = parse_url_required(plain(message.body["error"].get("data")), self.limits)
            return [(link, Revision.NOVEMBER_2025) for link in links]
        asked = [each for each in input_requests(message.body) if each.get("method") == ELICIT]
        return [self.parse(each.get("params"), MODERN) for each in asked]

    def tell_in_vain(self, call: RelayedCall) -> None:
        """Have the desks tell that what was answered because of a call reached nothing."""
        logger.warning("what was answered because of a call of %s reached nothing", call.name)
        self.queue.note(call.told.id, IN_VAIN)

    def tell_person(self, server: str) -> None:
        """Tell the person, as far as they want to hear of it, that a server asks."""
        if self.call_person is not None:
            self._calling.run(self.call_person(server))

    async def wait_in_browser(self, question: Any, asker: Asker, calls: Sequence[RelayedCall]) -> bool:
        """Offer "done" and "cancel" at our desk while a browser flow runs; True for "done"."""
        return await self._consent(asker, calls, self.queue).wait_in_browser(question)

    def _consent(self, asker: Asker, calls: Sequence[RelayedCall], desk: Desks) -> Consent:
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
            limits=self.limits,
        )
        consent.calls = [call.told for call in calls]
        consent.client = asker.client
        return consent


class OurDesk:
    """The queue behind our own desks, and a word to the person that something waits in it."""

    def __init__(self, asking: QuestionHandler, server: str) -> None:
        self._asking = asking
        self._server = server

    async def put(self, waiting: Waiting) -> Decision:
        self._asking.tell_person(self._server)
        return await self._asking.queue.put(waiting)

    async def join(self, question_id: str) -> Decision | None:
        return await self._asking.queue.join(question_id)

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        self._asking.queue.tell(waiting, decision)


def begin_round(call: RelayedCall, questions: int) -> None:
    """Questions that come together are shown together."""
    call.told.begin_round(call.rounds, questions)


def redump(question: Question, revision: str) -> dict[str, Any]:
    """The params of a question for a client of another revision than its server's."""
    return dump_question(question, Revision(revision))


@contextmanager
def _because_of(calls: Sequence[RelayedCall]) -> Iterator[None]:
    """Say which call asks, where that is known."""
    before = CALL.set(calls[0].told) if len(calls) == 1 else None
    try:
        yield
    finally:
        if before is not None:
            CALL.reset(before)


def _known(revision: str) -> Revision:
    return Revision(revision) if revision in list(Revision) else Revision.JUNE_2025


def note_for_model(decision: Decision, server: str) -> str | None:
    """A sentence for the model when the person did not decide: a rule did, or no answer came that could be used."""
    why = f" ({decision.reason})" if decision.reason else ""
    if decision.by == "agent" and decision.refusal == "answer":
        return (
            f"The answer to a question of the server {server!r} could not be used{why}. The server was told that "
            "nobody answered; tell the user if it matters."
        )
    if decision.by != "policy":
        return None
    return (
        f"A question of the server {server!r} was answered by the user's Handraise rules and not by the user{why}. "
        "The user decided nothing; tell them if it matters."
    )
