"""`Consent`: the elicitation callback of a host, which never answers for the person.

Every question is parsed with limits, judged by the policy, put into the queue of the desks, and its answer checked
before it leaves. A question that nobody saw is cancelled, never declined. Our own failures cancel too.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from handraise.client.calls import HostCall, OpenLinks, asking_call, cause_of
from handraise.client.recording import ASKER_ENDED, Circumstances, HostRecord, HostRecorder
from handraise.client.roots import Folders, Roots, ask_about
from handraise.desks import Decision, Waiting
from handraise.desks.waiting import Decider, lacks_passkey, noting_no
from handraise.errors import HandraiseError, WireError
from handraise.forms import DEFAULT_LIMITS, SIZE_RULES, Limits, check_answer
from handraise.questions import Accepted, Cancelled, FormQuestion, Origin, Person, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.sdk.client import dumped, elicit_result, error_data, revision_of, roots_result
from handraise.secrets import SecretFinding, judge_form, scan_answer
from handraise.urls import inspect_url
from handraise.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Capabilities,
    RefusalCode,
    WireAnswer,
    dump_answer,
    dump_capabilities,
    dump_refusal,
    parse_question,
    shorter_deadline,
    undeclared_mode,
)

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.ledger.events import ClientRecord
    from handraise.policy import PolicyRuling

logger = logging.getLogger(__name__)

DeskMode = Literal["form", "url"]

_REFUSED = "the policy refused it"
_ELSEWHERE = "the client took it further, and its answer is not heard here"
_NO_PASSKEY = "accepting it needs the person's passkey, and the client takes it further without one"
_NO_ROOTS = "Roots are not supported here."


class Desks(Protocol):
    """Where a person is asked: the queue behind our desks, or another dialog."""

    async def put(self, waiting: Waiting) -> Decision:
        """Ask a question and wait for the decision."""
        ...

    async def join(self, question_id: str) -> Decision | None:
        """Wait for the decision about a waiting question; None when it is gone."""
        ...

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """Show a question that was decided without waiting."""
        ...


class Gate(Protocol):
    """Decides whether a question may reach the desk, and learns how it ended."""

    def admit(self, waiting: Waiting, now: float) -> PolicyRuling:
        """Judge a question by the rules and the limits."""
        ...

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        """Take note of a decision: quiet time after a decline, a person's own rule."""
        ...


class Consent:
    """The callback: `Client(target, elicitation_callback=Consent(queue, …))`.

    Without a mode it is falsy, and the SDK declares that the client cannot be asked. Otherwise the SDK always declares
    both modes; `ConsentClient` declares exactly these. With `roots`,
    `list_roots` is the SDK's other callback: `Client(…, list_roots_callback=consent.list_roots)`.
    Several of them share one `recorder` in the place of a `ledger`, so that refusals are counted together.
    """

    def __init__(
        self,
        queue: Desks,
        *,
        origin: Origin,
        person: Person,
        gate: Gate,
        modes: Iterable[DeskMode] = ("form", "url"),
        roots: Roots | Folders | None = None,
        timeout: float | None = 300.0,
        ledger: Ledger | None = None,
        recorder: HostRecorder | None = None,
        policy_version: str | None = None,
        gateway: str | None = None,
        transport: Literal["stdio", "http"] = "stdio",
        server_host: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.queue = queue
        self.origin: Origin = origin
        self.person = person
        self.modes: frozenset[DeskMode] = frozenset(modes)
        self.roots: Roots | None = roots if roots is None or isinstance(roots, Roots) else Roots(roots)
        """The folders that the server may learn about, once the person agrees; None: it cannot ask for roots."""
        self.calls: list[HostCall] = []
        """The open calls, as far as the host reports them."""
        self.flows: OpenLinks = OpenLinks()
        """The open links."""
        self.client: ClientRecord | None = None
        """The host's own program, for the ledger."""
        self._gate = gate
        self._timeout = timeout
        self._recorder = recorder or HostRecorder(ledger)
        self._policy_version = policy_version
        self._gateway = gateway
        self._transport: Literal["stdio", "http"] = transport
        self._server_host = server_host
        self._limits = limits
        self._about_roots = asyncio.Lock()

    def __bool__(self) -> bool:
        return bool(self.modes)

    def hear_claim(self, name: str, version: str) -> None:
        """Take the server's own name. It is shown and recorded as a claim, unless the host has one already."""
        if self.origin.claimed_name is None:
            self.origin = replace(self.origin, claimed_name=name, claimed_version=version)

    def declare(self, capabilities: dict[str, Any], revision: Revision) -> None:
        """Set exactly our modes, and roots if there are any, in the wire capabilities."""
        modes = Capabilities(form="form" in self.modes, url="url" in self.modes, roots=self.roots is not None)
        for name in ("elicitation", "roots"):
            capabilities.pop(name, None)
        capabilities |= dump_capabilities(modes, revision)
        if self.roots is not None and revision.legacy:
            capabilities["roots"] = {"listChanged": True}

    async def __call__(self, context: Any, params: Any) -> Any:
        """Answer an `elicitation/create` from the SDK, on any revision and release."""
        revision, raw = revision_of(context.session), dumped(params)
        try:
            question = parse_question(raw, revision, self._limits)
        except WireError as error:
            if error.rule in SIZE_RULES:
                return elicit_result(dump_as_answer(await self.too_large(revision, error)))
            logger.warning("%s asked against the rule %r: %s", self.origin.name, error.rule, error)
            await self.unreadable(revision, f"it breaks the rule {error.rule}")
            return error_data(INVALID_PARAMS, f"{error.public} Rule: {error.rule}.")
        if question.mode not in self.modes:
            fault = undeclared_mode(question.mode)
            await self.unreadable(revision, f"{question.mode} mode was not declared")
            return error_data(fault.code, fault.message)
        call = asking_call(self.calls)
        if (
            isinstance(question, UrlQuestion)
            and revision.modern
            and call is not None
            and call.may_resend(question)
        ):
            call.resent += 1
            decision = await self._agree_again(question, revision)
        else:
            decision = await self.ask(question, revision)
        if isinstance(question, UrlQuestion) and isinstance(decision.answer, Accepted):
            self._went_to(question, revision)
        return elicit_result(dump_as_answer(decision))

    async def _agree_again(self, question: UrlQuestion, revision: Revision) -> Decision:
        """Agree to a link that the person agreed to before, so that the call goes on when they are done in the browser.

        The server stopped holding the retry, and sent the link again. Nothing is opened.
        """
        recording = self._recorder.begin(self.waiting_for(question), self._around(revision))
        decision = Decision(Accepted(None), by="agent", reason="the person agreed to this link before")
        try:
            await recording.asked()
            await recording.decided(decision)
        except HandraiseError:
            logger.exception("a link of %s could not be recorded", self.origin.name)
            return Decision(Cancelled(), by="agent", reason="it could not be recorded", refusal="not_shown")
        self._accepted(question, recording, asking_call(self.calls))
        return decision

    async def list_roots(self, context: Any) -> Any:
        """Answer a `roots/list` from the SDK with the folders that the person agreed to."""
        if self.roots is None:
            return error_data(METHOD_NOT_FOUND, _NO_ROOTS)
        async with self._about_roots:  # asked once, however often a server wants to know
            if (undecided := self.roots.undecided()) and "form" in self.modes:
                decision = await self.ask(ask_about(undecided), revision_of(context.session), ours=True)
                self.roots.decide(undecided, decision.answer)
        return roots_result(self.roots.exposed())

    async def ask(
        self, question: Question, revision: Revision | None = None, *, ours: bool = False, guard: bool = False
    ) -> Decision:
        """Decide a question: by the policy, or by the person at a desk.

        `ours`: the host wrote the question. `guard`: the user's guard asks.
        """
        recording = HostRecord()
        call = asking_call(self.calls)
        try:
            waiting = replace(self.waiting_for(question), ours=ours, guard=guard)
            recording = self._recorder.begin(waiting, self._around(revision))
            decision = await self._decide(replace(waiting, on_shown=recording.shown), recording)
            if isinstance(decision.answer, Accepted) and not decision.said_no:
                self._accepted(question, recording, call)
        except Exception:
            logger.exception("a question of %s could not be shown", self.origin.name)
            decision = Decision(Cancelled(), by="agent", reason="it could not be shown", refusal="not_shown")
            with suppress(HandraiseError):  # of the record: without it nothing was accepted either
                await recording.failed(decision.reason)
        return decision

    async def _decide(self, waiting: Waiting, recording: HostRecord) -> Decision:
        ruling = self._gate.admit(waiting, time.time())
        if ruling.verdict == "refuse":
            return await self._refuse(waiting, ruling, recording)
        try:
            await recording.asked()
            decision = await self._answered(waiting, ruling)
            await recording.decided(decision)
        except asyncio.CancelledError as ended:
            recording.ambiguous() if ended.args == (ASKER_ENDED,) else recording.withdrawn()
            raise
        return decision

    async def _refuse(self, waiting: Waiting, ruling: PolicyRuling, recording: HostRecord) -> Decision:
        refused = Decision(
            Cancelled(), by="policy", reason="; ".join(ruling.reasons), refusal=_refusal_of(ruling.rules)
        )
        await recording.refused(ruling.reasons or (_REFUSED,))
        if not ruling.silent:
            self._log_refusal(refused.reason)
            self.queue.tell(waiting, refused)
        return refused

    async def pass_on(self, question: Question, revision: Revision) -> tuple[str, ...]:
        """Judge and record a question that somebody else shows, and whose answer does not pass through here.

        Returns why the policy refuses it; empty when it may pass.
        """
        waiting = self.waiting_for(question)
        recording = self._recorder.begin(waiting, self._around(revision))
        ruling = self._gate.admit(waiting, time.time())
        if ruling.verdict == "refuse":
            await self._refuse(waiting, ruling, recording)
            return ruling.reasons or (_REFUSED,)
        if ruling.passkey:  # the other asker cannot check a passkey
            await recording.refused((ruling.passkey, _NO_PASSKEY))
            return (_NO_PASSKEY,)
        self._gate.decided(waiting, Decision(Cancelled(), by="agent", reason=_ELSEWHERE), time.time())
        await recording.passed_on(_ELSEWHERE)
        return ()

    async def _answered(self, waiting: Waiting, ruling: PolicyRuling) -> Decision:
        if ruling.passkey:
            waiting = replace(waiting, passkey=True)  # each needs its own passkey, so questions do not join
        elif ruling.same_as is not None and (shared := await self.queue.join(ruling.same_as)) is not None:
            return await _checked_aside(waiting, shared)
        if ruling.verdict == "warn":
            waiting = waiting.warned(ruling.reasons)
        decision = Decision(Cancelled(), by="agent", reason="the asker went away")
        try:
            decision = await _checked_aside(waiting, await self.queue.put(waiting))
        finally:
            self._gate.decided(waiting, decision, time.time())
        return decision

    async def unreadable(self, revision: Revision, reason: str) -> None:
        """Record a question that could not be parsed, or that nobody here can be asked."""
        await self._recorder.unreadable(self._around(revision), reason)

    async def unasked(self, revision: Revision, *, passes: bool) -> None:
        """Record an answer to a question that was not asked here. `passes`: the server gets it anyway."""
        await self._recorder.unasked(self._around(revision), passes=passes)

    async def too_large(self, revision: Revision, error: WireError) -> Decision:
        """Cancel a question over the limits. Our own servers learn why."""
        logger.warning("a question of %s is too large to be shown: %s", self.origin.name, error)
        await self.unreadable(revision, f"it is too large: {error}")
        return Decision(Cancelled(), by="policy", reason=str(error), refusal="size")

    async def aclose(self) -> None:
        """Record pending counts. Call it before the ledger is closed."""
        await self._recorder.aclose()

    def _around(self, revision: Revision | None) -> Circumstances:
        call = asking_call(self.calls)
        return Circumstances(
            self.origin,
            self.person,
            revision,
            client=self.client,
            policy=self._policy_version,
            gateway=self._gateway,
            trace=None if call is None else call.trace,
        )

    def _went_to(self, question: UrlQuestion, revision: Revision) -> None:
        """Note that the person is in their browser while the call waits."""
        if (call := asking_call(self.calls)) is None:
            return
        call.opened.append(question)
        if revision is Revision.NOVEMBER_2025:
            self.flows.expect(question)
            call.in_browser.put_nowait(question)

    def _accepted(self, question: Question, recording: HostRecord, call: HostCall | None) -> None:
        """Join an accepted question to its call, and a link to its completion notice."""
        if call is not None:
            call.join(recording)
        if isinstance(question, UrlQuestion):
            self.flows.opened(question, recording)
            if call is not None:
                call.agreed.add(question.url)

    def _log_refusal(self, reason: str) -> None:
        """Log a refusal once for each reason, so that a server cannot fill the host's log."""
        level = logging.DEBUG if reason == self._recorder.refused_for else logging.WARNING
        self._recorder.refused_for = reason
        logger.log(level, "a question of %s was refused: %s", self.origin.name, reason)

    def waiting_for(self, question: Question) -> Waiting:
        """A question as a desk gets it."""
        now, call = time.time(), asking_call(self.calls)
        again = isinstance(question, UrlQuestion) and call is not None and question.url in call.agreed
        return Waiting(
            id=secrets.token_hex(8),  # to be typed behind `handraise answer`
            question=question,
            origin=self.origin,
            person=self.person,
            cause=cause_of(self.calls),
            secrets=_secrets_asked_for(question, call),
            link=(
                inspect_url(question.url, transport=self._transport, server_host=self._server_host)
                if isinstance(question, UrlQuestion)
                else None
            ),
            asked_at=now,
            deadline=shorter_deadline(
                None if self._timeout is None else now + self._timeout, question.hints, now
            ),
            group=None if call is None else call.group,
            browsing=again,
            asked_again=again,
        )

    async def wait_in_browser(self, question: UrlQuestion) -> bool:
        """Offer "done" and "cancel" while a browser flow runs; True for "done"."""
        waiting = replace(self.waiting_for(question), browsing=True, asked_again=False)
        decision = await self.queue.put(waiting)
        if isinstance(decision.answer, Accepted):
            await self.flows.completed(question)
        return isinstance(decision.answer, Accepted)


def _secrets_asked_for(question: Question, call: HostCall | None) -> tuple[SecretFinding, ...]:
    """The secrets that a form asks for, together with the other forms of its call."""
    if not isinstance(question, FormQuestion):
        return ()
    judge = judge_form if call is None else call.reading.judge
    return judge(question.message, question.form)


_CODES: Final[dict[str, RefusalCode]] = {"limits": "rate", "forms.": "secret", "links.": "link"}


def _refusal_of(rules: tuple[str, ...]) -> RefusalCode:
    """The code of a refusal for the server, which must not learn the person's rules."""
    for prefix, code in _CODES.items():
        if any(rule.startswith(prefix) for rule in rules):
            return code
    return "policy"


_UNUSED_PASSKEY: Final = "it needs a passkey, and none was used"


_LONG: Final = 16 * 1024
"""Characters of an answer that take noticeable time to look through."""


async def _checked_aside(waiting: Waiting, decision: Decision) -> Decision:
    """Like `checked`; a long answer is looked through in a thread, so that nobody else has to wait."""
    if isinstance(decision.answer, Accepted) and len(str(decision.answer.data)) > _LONG:
        return await asyncio.to_thread(checked, waiting, decision)
    return checked(waiting, decision)


def checked(waiting: Waiting, decision: Decision) -> Decision:
    """The decision, or a cancel if it must not leave, whatever desk it came from."""
    if lacks_passkey(waiting, decision):
        return _kept_back(decision, "policy", _UNUSED_PASSKEY)
    decision = noting_no(waiting, decision)
    question, answer = waiting.question, decision.answer
    if not isinstance(question, FormQuestion) or not isinstance(answer, Accepted):
        return decision
    content = answer.data or {}
    if check_answer(question.form, content):
        return _kept_back(decision, "agent", "the answer did not fit the form")
    if any(finding.tier == 1 for finding in scan_answer(content, question.form, question.message)):
        return _kept_back(decision, "policy", "the answer held a secret")
    return decision


def _kept_back(decision: Decision, by: Decider, reason: str) -> Decision:
    return Decision(Cancelled(), by=by, desk=decision.desk, reason=reason, refusal="answer")


def dump_unshown(error: WireError) -> dict[str, Any]:
    """The answer for a question that was not shown. If it was too large, our own servers learn why."""
    dumped = dump_answer(WireAnswer("cancel"))
    return {**dumped, "_meta": dump_refusal("size")} if error.rule in SIZE_RULES else dumped


def dump_unasked() -> dict[str, Any]:
    """The answer when no desk is available."""
    return {**dump_answer(WireAnswer("cancel")), "_meta": dump_refusal("no_desk")}


def dump_as_answer(decision: Decision) -> dict[str, Any]:
    """A decision as the answer for the server."""
    answer = decision.answer
    content = answer.data if isinstance(answer, Accepted) else None
    dumped = dump_answer(WireAnswer(answer.action, content))
    if decision.refusal is not None and isinstance(answer, Cancelled):
        dumped["_meta"] = dump_refusal(decision.refusal)
    return dumped
