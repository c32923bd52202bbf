"""Decide questions: first by the policy, then by the person in the client's dialog or at our desk."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from handraise.client.calls import CALL
from handraise.client.consent import Consent, Desks, Gate
from handraise.client.recording import HostRecorder
from handraise.desks import Decision, Queue, Waiting
from handraise.errors import WireError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.gateway.call import RelayedCall
from handraise.gateway.json_text import plain
from handraise.gateway.links import TaskSet
from handraise.gateway.messages import Message
from handraise.gateway.peers import MODERN, Peer
from handraise.gateway.upstreams import Source, Upstream
from handraise.ledger.events import ClientRecord
from handraise.ledger.views import desk_history
from handraise.questions import Origin, Person, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import parse_question, parse_url_required

if TYPE_CHECKING:
    from handraise.desks.endings import Earlier
    from handraise.gateway.tickets import TicketRepository
    from handraise.ledger import Ledger

logger = logging.getLogger(__name__)

T = TypeVar("T")

ANSWER_LOST: Final = "The server no longer knew the call, so the answer had no effect."


@dataclass(frozen=True, slots=True)
class Asker:
    """A server that asks, and the person it asks."""

    source: Source
    person: Person
    peer: Peer | None = None

    @property
    def upstream(self) -> Upstream:
        return self.source.upstream

    @property
    def client(self) -> ClientRecord | None:
        """The client's name and version, as it claims them."""
        if self.peer is None or not isinstance(name := self.peer.info.get("name"), str):
            return None
        version = self.peer.info.get("version")
        return ClientRecord(name, version if isinstance(version, str) else None)

    @property
    def origin(self) -> Origin:
        """The server's configured name, and the name that it claims."""
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
        """`opened` is closed with the handler."""
        self.tickets = tickets
        self.queue = queue
        self.call_person: Callable[[str], Coroutine[Any, Any, None]] | None = None
        """Notifies the person that this server asks at our desk."""
        self.limits = limits
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
        """Earlier decisions for a desk; None without a ledger."""
        return None if self._ledger is None else desk_history(self._ledger)

    async def open(self, part: AbstractAsyncContextManager[T]) -> T:
        """Open a part, such as a desk, that is closed with the handler."""
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
        """Decide a question at `desk`; default is our desk. `guard`: the user's guard asks, not the server."""
        consent = self._consent(asker, calls, desk or self.our_desk(asker))
        with _because_of(calls):
            return await consent.ask(question, revision, ours=guard or asker.upstream.itself, guard=guard)

    def our_desk(self, asker: Asker) -> OurDesk:
        return OurDesk(self, asker.upstream.name)

    async def refuse(
        self, error: WireError, revision: str, asker: Asker, calls: Sequence[RelayedCall]
    ) -> None:
        """Record a question that breaks the rules of its revision. It is not shown."""
        logger.warning("%s asked against the rule %r: %s", asker.upstream.name, error.rule, error)
        consent = self._consent(asker, calls, self.queue)
        await consent.unreadable(_known(revision), f"it breaks the rule {error.rule}")

    async def note_unasked(self, asker: Asker, call: RelayedCall, *, passes: bool) -> None:
        """Record a client's answer to a question that did not pass through this process."""
        logger.warning("the client answered a question of %s that was not asked here", asker.upstream.name)
        await self._consent(asker, [call], self.queue).unasked(_known(MODERN), passes=passes)

    async def judge(
        self, message: Message, asker: Asker, calls: Sequence[RelayedCall], modes: Collection[str]
    ) -> str | None:
        """Judge and record questions whose answers do not pass through here: in a -32042 or a task.

        `modes`: those in which the client asks its person itself. Returns why the message must not pass, or None.
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
        """Parse a server's question; WireError when it breaks a rule or a limit."""
        known, given = _known(revision), params if isinstance(params, Mapping) else {}
        asked = {name: plain(value) for name, value in given.items() if name != "task"}
        return parse_question(asked, known, self.limits), known

    def _questions_in(self, message: Message) -> list[tuple[Question, Revision]]:
        """The questions in a -32042, a task or a notice; WireError when one breaks a rule."""
        asked = [each.get("params") for each in message.inside.questions]
        found = [self.parse(each, MODERN) for each in asked]
        _require_one_mode(asked)
        for data in message.inside.required_links:
            links = parse_url_required(plain(data), self.limits)
            _require_one_mode(data["elicitations"])
            found += [(link, Revision.NOVEMBER_2025) for link in links]
        return found

    def tell_answer_lost(self, call: RelayedCall) -> None:
        """Tell the person that the server lost the call they answered."""
        logger.warning("the server no longer knew a call of %s; the answer had no effect", call.name)
        self.queue.note(call.host_call.id, ANSWER_LOST)

    def tell_person(self, server: str) -> None:
        """Notify the person that a server asks."""
        if self.call_person is not None:
            self._calling.run(self.call_person(server))

    async def wait_in_browser(
        self, question: UrlQuestion, asker: Asker, calls: Sequence[RelayedCall]
    ) -> bool:
        """Offer "done" and "cancel" at our desk while the person is in the browser; True for "done"."""
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
        consent.calls = [call.host_call for call in calls]
        consent.client = asker.client
        return consent


class OurDesk:
    """The queue behind our own desks. A new question also notifies the person."""

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


def as_judged(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a question for a client, without the other mode's members, which nobody judged.

    The attack: a client that looks at the members, and not at the mode, would open the `url` of a form.
    """
    others = ("requestedSchema",) if params.get("mode") == "url" else ("url", "elicitationId")
    return {name: value for name, value in params.items() if name not in others}


def _require_one_mode(asked: Iterable[Any]) -> None:
    """WireError for a question with members of both modes, in a message that is passed on unchanged."""
    if any(as_judged(params) != params for params in asked):
        raise WireError("mode", "A question is a form or a link, and not both.")


@contextmanager
def _because_of(calls: Sequence[RelayedCall]) -> Iterator[None]:
    """Say which call asks, if it is known."""
    before = CALL.set(calls[0].host_call) if len(calls) == 1 else None
    try:
        yield
    finally:
        if before is not None:
            CALL.reset(before)


def _known(revision: str) -> Revision:
    return Revision(revision) if revision in list(Revision) else Revision.JUNE_2025


def note_for_model(decision: Decision, server: str) -> str | None:
    """A note for the model when a rule decided instead of the person, or the answer was unusable."""
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
