"""The client's own dialog as a desk. Clients are believed by what they do, not by what they declare.

Many clients declare that they ask but do not: they decline at once, accept an empty form, or never answer.

| the client                                     | then                                                        |
|------------------------------------------------|-------------------------------------------------------------|
| declines or cancels within `too_fast` seconds  | nobody read it: the question goes to our desk, too          |
| declines or cancels later                      | that is the answer                                          |
| accepts with content that does not fit         | the question goes to our desk, too                          |
| accepts a link within `too_fast` seconds       | nobody saw it: the question goes to our desk, too           |
| accepts a form within `too_fast` seconds       | that is the answer, recorded as decided by the client       |
| answers with an error                          | the question goes to our desk, too                          |
| does not answer within `hold` seconds          | the question goes to our desk, too; the first answer counts |
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from handraise.client.consent import Desks
from handraise.desks import Decision, Waiting
from handraise.desks.waiting import desk_answer
from handraise.disk import make_directory, replace_file
from handraise.errors import HandraiseError, WireError
from handraise.forms import check_answer
from handraise.gateway.json_text import plain
from handraise.gateway.messages import Message, object_in
from handraise.gateway.peers import Peer
from handraise.gateway.sentences import ANSWER_KEPT, ANSWER_TOO_LONG
from handraise.questions import Accepted, Cancelled, FormQuestion, Question
from handraise.secrets import scan_answer
from handraise.wire import parse_answer

if TYPE_CHECKING:
    from handraise.gateway.call import RelayedCall
    from handraise.gateway.holding import Holding
    from handraise.gateway.state import GatewayState

logger = logging.getLogger(__name__)

CLIENT: Final = "client"
"""The name of the client's dialog in decisions."""
_LONGEST_NAME: Final = 200
_MOST_CLIENTS: Final = 500
"""How many clients and versions are remembered: a client can claim any."""
LONGEST_ANSWER: Final = 256 * 1024
"""Bytes of an answer."""
NO_DESK: Final = "it needs a passkey, and the gateway runs without a desk"

Habit = Literal["answered", "too_fast", "incomplete", "failed", "unanswered"]

_WHY: Final[Mapping[Habit, str]] = {
    "too_fast": "the client said {action} within {seconds:.2f} seconds, faster than a person reads",
    "incomplete": "the client accepted, but its answer does not fit the question",
    "failed": "the client could not ask",
    "unanswered": "the client left it unanswered for {seconds:.0f} seconds",
}


@dataclass(slots=True)
class Seen:
    """How often one version of a client did what with questions."""

    answered: int = 0
    too_fast: int = 0
    incomplete: int = 0
    failed: int = 0
    unanswered: int = 0
    last: str = ""
    """The last habit."""

    @property
    def asks(self) -> bool:
        """Whether it seems to have shown its last question to a person."""
        return self.last in ("", "answered")


class ClientHabits:
    """The habits of each client and version, kept in a file. `handraise gateway doctor` shows them."""

    def __init__(self, path: Path | None = None) -> None:
        """Without a path they are kept in memory."""
        self._path = path
        self._seen = load_habits(path)
        self._unsaved: list[tuple[str, Habit]] = []

    def does_not_ask(self, peer: Peer | None) -> bool:
        """Whether this client did not show its last question to its person."""
        return peer is not None and not self._seen.get(_name(peer), Seen()).asks

    def leaves_unanswered(self, peer: Peer | None) -> bool:
        """Whether this client did not answer its last question."""
        return peer is not None and self._seen.get(_name(peer), Seen()).last == "unanswered"

    def note(self, peer: Peer | None, habit: Habit) -> None:
        """Count what a client did. A change of habit is saved at once, the rest by `save`."""
        if peer is None or not peer.info:
            return
        changed = self._seen.get(_name(peer), Seen()).last != habit
        _count(self._seen, _name(peer), habit)
        self._unsaved.append((_name(peer), habit))
        if changed:
            self.save()

    def save(self) -> None:
        """Add the new counts to the file, which other gateways write too."""
        unsaved, self._unsaved = self._unsaved, []
        if self._path is None or not unsaved:
            return
        self._seen = load_habits(self._path)
        for name, habit in unsaved:
            _count(self._seen, name, habit)
        try:
            make_directory(self._path.parent)
            replace_file(
                self._path, json.dumps({name: asdict(each) for name, each in self._seen.items()}, indent=2)
            )
        except (OSError, HandraiseError) as error:
            logger.warning("the habits of clients cannot be saved: %s", error)


def _count(seen: dict[str, Seen], name: str, habit: Habit) -> None:
    one = seen[name] = seen.pop(name, Seen())
    while len(seen) > _MOST_CLIENTS:
        del seen[next(iter(seen))]
    setattr(one, habit, getattr(one, habit) + 1)
    one.last = habit


def load_habits(path: Path | None) -> dict[str, Seen]:
    """The counts by the client's name and version; empty when the file is missing or damaged."""
    try:
        kept = {} if path is None else json.loads(path.read_bytes())
        return {str(name): Seen(**each) for name, each in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _name(peer: Peer) -> str:
    """The client and its version, and its user. Otherwise one person's client could spoil what others' clients do."""
    name = f"{peer.info.get('name', '?')} {peer.info.get('version', '')}".strip()[:_LONGEST_NAME]
    return f"{name} ({peer.user[:_LONGEST_NAME]})" if peer.user else name


class ClientDesk:
    """One question in the client's dialog, and at our desk if the client does not ask."""

    def __init__(
        self,
        state: GatewayState,
        peer: Peer | None,
        ours: Desks,
        holding: Holding,
        calls: Sequence[RelayedCall],
        *,
        ends_round: bool = False,
    ) -> None:
        """`ours` is our desk. The `calls` are held while our desk asks.

        `ends_round`: the client gets the question as the end of the call's round, and its retry is held instead.
        """
        self.shown = asyncio.Event()
        """Set when the policy allows the question, so that it may be sent."""
        self.reply: Message | None = None
        """The client's response."""
        self._result: object = None
        self._options = state.options
        self._habits = state.habits
        self._peer = peer
        self._ours = ours
        self._holding = holding
        self._calls = calls
        self._held_later = [] if ends_round else calls
        self._answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def answer(self, raw: object) -> None:
        """Take the client's result; None for an error or no response."""
        if not self._answered.done():
            self._result = raw
            self._answered.set_result(plain(raw))

    async def is_shown(self, deciding: asyncio.Future[Decision]) -> bool:
        """Wait for the policy: True when it allows the question, False when it decides it."""
        await _first(asyncio.ensure_future(self.shown.wait()), deciding)
        return self.shown.is_set()

    def own_result(self, decision: Decision) -> dict[str, Any] | None:
        """The client's own result, if it is the decision, so that it can be passed on unchanged.

        Content that does not answer the question was not judged, so it is left out. So are unknown members, and a
        `_meta` with a secret in it: only the content was searched.
        """
        result = self._result
        if (
            not isinstance(result, dict)
            or decision.desk != CLIENT
            or decision.refusal is not None
            or result.get("action") != decision.answer.action
        ):
            return None
        known = {"action"} if _holds_secret(result.get("_meta")) else {"action", "_meta"}
        if isinstance(decision.answer, Accepted) and decision.answer.data is not None:
            known.add("content")
        return {name: value for name, value in result.items() if name in known}

    async def put(self, waiting: Waiting) -> Decision:
        if waiting.passkey and self._options.desk == "none":
            return Decision(Cancelled(), by="policy", reason=NO_DESK)
        if waiting.passkey:  # a client cannot accept it
            with self._holding.hold(self._calls):
                return await self._ours.put(waiting)
        began = time.monotonic()
        self.shown.set()
        if waiting.on_shown is not None:
            waiting.on_shown()
        if self._options.desk == "none":
            return await self._believed(waiting, began)
        unanswered = self._habits.leaves_unanswered(self._peer)
        await asyncio.wait({self._answered}, timeout=0 if unanswered else self._options.hold)
        here = replace(waiting, on_shown=None)  # the ledger has the "shown" event already
        if not self._answered.done():
            return await self._both(here, began, park=unanswered)
        decision, habit = self._judged(waiting, time.monotonic() - began)
        self._habits.note(self._peer, habit)
        if habit == "answered" or _is_quick_yes(waiting.question, decision, habit):
            return decision
        return await self._ask_here(here, habit, time.monotonic() - began, decision)

    async def join(self, question_id: str) -> Decision | None:
        return await self._ours.join(question_id)

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """No-op: a client has no place for it. The result tells the model."""

    async def _believed(self, waiting: Waiting, began: float) -> Decision:
        """The client's answer as it is: without a desk there is nobody else to ask."""
        left = None if waiting.deadline is None else waiting.deadline - time.time()
        try:
            async with asyncio.timeout(left):
                raw = await asyncio.shield(self._answered)
        except TimeoutError:
            return Decision(
                Cancelled(), by="timeout", desk=CLIENT, reason="nobody answered in time", refusal="expired"
            )
        decision = _decision(waiting.question, raw)
        if decision.by == "human" and time.monotonic() - began < self._options.too_fast:
            return replace(decision, by="client")
        return decision

    async def _both(self, waiting: Waiting, began: float, *, park: bool) -> Decision:
        """Ask at the client and at our desk; the first answer counts."""
        seconds = time.monotonic() - began
        at_desk = asyncio.ensure_future(
            self._ask_here(waiting, "unanswered", seconds, Decision(Cancelled()), park=park)
        )
        try:
            await _first(at_desk, self._answered)
            if at_desk.done():
                self._habits.note(self._peer, "unanswered")
                return at_desk.result()
            decision, habit = self._judged(waiting, time.monotonic() - began)
            self._habits.note(self._peer, habit)
            if habit != "answered" and not _is_quick_yes(waiting.question, decision, habit):
                return await at_desk
        finally:
            at_desk.cancel()
        await asyncio.gather(at_desk, return_exceptions=True)
        self._ours.tell(waiting, decision)
        return decision

    def _judged(self, waiting: Waiting, seconds: float) -> tuple[Decision, Habit]:
        """The client's answer, and the habit that it shows."""
        raw = self._answered.result()
        if not isinstance(raw, Mapping):
            return _decision(waiting.question, raw), "failed"
        decision = _decision(waiting.question, raw)
        if decision.by == "agent" or not _fits(waiting.question, decision):
            return decision, "incomplete"
        if seconds >= self._options.too_fast:
            return decision, "answered"
        accepts = isinstance(decision.answer, Accepted)
        return replace(decision, by="client") if accepts else decision, "too_fast"

    async def _ask_here(
        self, waiting: Waiting, habit: Habit, seconds: float, instead_of: Decision, *, park: bool = True
    ) -> Decision:
        """Ask at our desk, and add to the decision why."""
        why = _WHY[habit].format(action=instead_of.answer.action, seconds=seconds)
        with self._holding.hold(self._held_later, park=park):
            decision = await self._ours.put(waiting)
        return replace(decision, reason=f"{decision.reason}; {why}" if decision.reason else why)


def _fits(question: Question, decision: Decision) -> bool:
    """Whether the content of an accepted form is valid."""
    if not isinstance(question, FormQuestion) or not isinstance(decision.answer, Accepted):
        return True
    return not check_answer(question.form, decision.answer.data or {})


def _is_quick_yes(question: Question, decision: Decision, habit: Habit) -> bool:
    """A hook of the user may fill in a form at once. Quick consent to open a link is no consent: nobody saw it."""
    accepts = isinstance(decision.answer, Accepted)
    return habit == "too_fast" and accepts and isinstance(question, FormQuestion)


def _decision(question: Question, raw: object) -> Decision:
    form = question.form if isinstance(question, FormQuestion) else None
    try:
        _require_one_reading(raw)
        if is_too_long(raw):
            raise WireError("content", "An answer has at most 256 KiB.")
        answer = parse_answer(raw, question.mode, form)
    except WireError as error:
        why = f"the client sent no answer ({error.rule})"
        return Decision(Cancelled(), by="agent", desk=CLIENT, reason=why, refusal="answer")
    return Decision(desk_answer(answer.action, answer.content), desk=CLIENT)


def _holds_secret(beside: object) -> bool:
    """Whether what came beside an answer holds a secret, however deep."""
    text = json.dumps(plain(beside), ensure_ascii=False)
    return any(finding.tier == 1 for finding in scan_answer({"_meta": text}))


def is_too_long(answer: object) -> bool:
    """Whether an answer is longer than a person writes. Looking for secrets in 16 MiB would hold up everybody."""
    return len(json.dumps(answer)) > LONGEST_ANSWER


def _require_one_reading(raw: object) -> None:
    """WireError for an answer with two readings: some servers read `Action` as `action`, and the last one counts."""
    for name in raw if isinstance(raw, Mapping) else ():
        if name.casefold() in ("action", "content") and name not in ("action", "content"):
            raise WireError(name.casefold(), "An answer writes its members as the protocol does.")


async def _first(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


def answers_in(message: Message) -> dict[str, dict[str, Any]]:
    """The answers to questions in a request, by key. Other responses in it, as to sampling, have no action."""
    given = object_in(message.params, "inputResponses")
    return {key: each for key, each in given.items() if isinstance(each, dict) and "action" in each}


def why_kept(message: Message) -> str | None:
    """Why answers in a request, as to the questions of a task, may not leave: they are too long, or hold a secret."""
    answers = [plain(each) for each in answers_in(message).values()]
    if is_too_long(answers):
        return ANSWER_TOO_LONG
    findings = [finding for each in answers for text in _texts(each) for finding in scan_answer(text)]
    return ANSWER_KEPT if any(finding.tier == 1 for finding in findings) else None


def _texts(value: object, name: str = "") -> Iterator[dict[str, object]]:
    """The values in an answer, however deep, each with its name."""
    if isinstance(value, dict):
        for inner, each in value.items():
            yield from _texts(each, inner)
    elif isinstance(value, list):
        yield {name: value}
        for each in value:
            yield from _texts(each, name)
    else:
        yield {name: value}
