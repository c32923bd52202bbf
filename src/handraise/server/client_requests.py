"""The kinds of requests to a client: how each looks on the wire, and how its answer is parsed."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from handraise.calls.rounds import digest
from handraise.errors import Expired, Failed, Mode, Stale
from handraise.forms import DEFAULT_LIMITS, Form, Problem, read_answer
from handraise.questions import (
    Accepted,
    Cancelled,
    Declined,
    FormQuestion,
    Question,
    QuestionHints,
    UrlQuestion,
    field_reasons,
    with_reasons,
)
from handraise.revisions import Revision
from handraise.urls import require_safe_url
from handraise.wire import dump_question, parse_answer

if TYPE_CHECKING:
    from handraise.server.served import ServedCall

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Check = Callable[[T], Any]
"""The author's own validation: a sentence or False (or a raised ValueError) asks again."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An unusable answer, with the reasons. The question is asked again.

    A link that was opened but is not finished is asked again too, without counting as a mistake (`counts`).
    """

    reasons: tuple[str, ...]
    counts: bool = True
    problems: tuple[tuple[str, str], ...] = ()
    """The fields that were wrong, each with the reason."""
    right: Mapping[str, Any] = field(default_factory=dict)
    """The valid values: the next form has them as defaults."""


class ClientRequest(Generic[R_co]):
    """A request to the client within a call."""

    mode: ClassVar[Mode]
    """The capability that the client needs."""
    question: Question | None
    """The question to a person; None for a request that no person answers."""
    wait: bool = False
    """Whether accepting it leads to a browser flow, and its end is awaited."""
    known: R_co | None = None
    """Its result, if that is known without asking."""

    @property
    def content(self) -> object:
        """The content that tells this request from others, for its id."""
        raise NotImplementedError

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        """The input request; `again` says why the last answer was unusable."""
        raise NotImplementedError

    async def begin(self, call: ServedCall, key: str, timeout: float) -> Self:
        """Do the slow work before it can be sent, once; returns the request to send."""
        return self

    async def read(self, raw: Any, call: ServedCall) -> R_co | Unusable:
        """Parse the client's answer. `WireError` when it is not an answer."""
        raise NotImplementedError


@dataclass(slots=True)
class FormRequest(ClientRequest[Accepted[T] | Declined | Cancelled]):
    """A form question. `declined_when` recognises accepted answers that mean "no" (a confirmation)."""

    mode: ClassVar[Mode] = "form"
    question: FormQuestion[Any]
    convert: Callable[[Any], T] | None = None
    """Converts the form's value for the author."""
    check: Check[T] | None = None
    still: Callable[[], Any] | None = None
    declined_when: Callable[[T], bool] | None = None
    longest_message: int = DEFAULT_LIMITS.message
    """Bytes, including the reasons of a repeated question."""

    @property
    def content(self) -> object:
        return self.question.message

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        hints = replace(self.question.hints, expires_in=timeout)
        if again is None:
            return _elicit(self.question, revision, hints)
        is_consent = self.question.confirms is not None or hints.guard
        right = {} if is_consent else again.right  # nobody confirms by what they typed before
        hints = replace(hints, problems=again.problems, last_answer=right)
        request = _elicit(self.question, revision, hints)
        params = request["params"]
        params["message"] = with_reasons(params["message"], again.reasons, self.longest_message)
        params["requestedSchema"] = _with_defaults(params["requestedSchema"], right, revision)
        return request

    async def read(self, raw: Any, call: ServedCall) -> Accepted[T] | Declined | Cancelled | Unusable:
        form = self.question.form
        action, content = parse_answer(raw, "form", form)
        if content is None:
            return Declined() if action == "decline" else Cancelled()
        data: Any
        data, problems = read_answer(form, content)
        if problems:
            return _unusable(form, content, problems)
        if self.convert is not None:
            data = self.convert(data)
        if self.check is not None:
            said = ["check", self.question.message, raw]
            if (reason := await call.judge(said, partial(_refusal, partial(self.check, data)))) is not None:
                return _refused(form, content, reason)
        if self.declined_when is not None and self.declined_when(data):
            return Declined(by="answer")
        if self.still is not None:
            said = ["still", self.question.message, raw]
            if (changed := await call.judge(said, partial(_refusal, self.still))) is not None:
                raise Stale(changed)
        return Accepted(data)


@dataclass(frozen=True, slots=True)
class UrlRequest(ClientRequest[Accepted[None] | Declined | Cancelled]):
    """Consent to open a link. With `wait`, also its completion."""

    mode: ClassVar[Mode] = "url"
    question: UrlQuestion
    wait: bool = True
    unsafe_plain_http: bool = False
    deadline: float = 0.0
    about: str = ""
    """Finds its id in another call that requires the same link, if the author chose no id."""

    @property
    def content(self) -> object:
        return self.question.url

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        left = max(0.0, self.deadline - time.monotonic()) if self.deadline else timeout
        request = _elicit(self.question, revision, replace(self.question.hints, expires_in=left))
        if again is not None:  # the person's answer was not wrong
            request["params"]["message"] = "\n\n".join((self.question.message, *again.reasons))
        return request

    def require_askable(self) -> None:
        """Refuse an invalid link when the question is made."""
        require_safe_url(self.question.url, unsafe_plain_http=self.unsafe_plain_http)

    async def remembered(self, call: ServedCall) -> UrlRequest:
        """The same link with the id that this person got for it before.

        Elicitation ids are random, so the flows remember which one was given out.
        """
        if self.question.elicitation_id is not None:
            return self
        about = f"link {digest([call.runtime.name, call.person.key, self.question.url])}"
        return replace(self._named(await call.runtime.flows.known_id(about)), about=about)

    async def is_finished(self, call: ServedCall) -> bool:
        """Whether the person has finished it before."""
        chosen = self.question.elicitation_id
        return chosen is not None and await call.runtime.flows.is_complete(chosen, call.person)

    def identified(self, call: ServedCall) -> UrlRequest:
        """The same link with an id, if the author chose none."""
        chosen = self.question.elicitation_id or call.channel.new_elicitation_id(self.question.url)
        return self._named(chosen)

    def _named(self, elicitation_id: str | None) -> UrlRequest:
        return replace(self, question=replace(self.question, elicitation_id=elicitation_id))

    async def begin(self, call: ServedCall, key: str, timeout: float) -> UrlRequest:
        if self.deadline or not call.can("url"):
            return self
        chosen = str(self.identified(call).question.elicitation_id)
        chosen = await call.runtime.flows.open(chosen, call.person, timeout, self.about)
        return replace(self._named(chosen), deadline=time.monotonic() + timeout)

    async def read(self, raw: Any, call: ServedCall) -> Accepted[None] | Declined | Cancelled | Unusable:
        match parse_answer(raw, "url").action:
            case "decline":
                return Declined()
            case "cancel":
                return Cancelled()
        # Only a client whose person consented gets the completion notice.
        elicitation_id = str(self.question.elicitation_id)
        if not self.wait:
            await call.channel.announce(elicitation_id, self.deadline)
            return Accepted(None)
        if await call.channel.completed(elicitation_id, self.deadline):
            return Accepted(None)
        if time.monotonic() >= self.deadline:
            raise Expired
        return Unusable(("The page was not finished yet.",), counts=False)


@dataclass(frozen=True, slots=True)
class Root:
    """A root of the client."""

    uri: str
    name: str | None = None


class RootsRequest(ClientRequest[tuple[Root, ...]]):
    """Which roots the client exposes."""

    mode = "roots"
    question = None
    content = "roots"

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        return {"method": "roots/list"}

    async def read(self, raw: Any, call: ServedCall) -> tuple[Root, ...] | Unusable:
        roots = raw.get("roots") if isinstance(raw, Mapping) else None
        if not isinstance(roots, list) or not all(map(_is_root, roots)):
            raise Failed("the client answered roots/list with something that is not a list of roots")
        return tuple(Root(root["uri"], root.get("name")) for root in roots)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The reply of the client's model."""

    text: str
    model: str
    stop_reason: str | None
    content: Any
    """The content exactly as it came: one block, or several."""


@dataclass(frozen=True, slots=True)
class ModelRequest(ClientRequest[ModelReply]):
    """A request to the client's own model (sampling)."""

    mode: ClassVar[Mode] = "sampling"
    params: Mapping[str, Any]
    question: None = None

    @property
    def content(self) -> object:
        return self.params

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        return {"method": "sampling/createMessage", "params": dict(self.params)}

    async def read(self, raw: Any, call: ServedCall) -> ModelReply | Unusable:
        if not isinstance(raw, Mapping) or not isinstance(raw.get("model"), str) or "content" not in raw:
            raise Failed("the client answered sampling/createMessage with something that is not a message")
        content = raw["content"]
        blocks = content if isinstance(content, list) else [content]
        text = "".join(
            str(b.get("text", "")) for b in blocks if isinstance(b, Mapping) and b.get("type") == "text"
        )
        return ModelReply(text, raw["model"], raw.get("stopReason"), content)


def _elicit(question: Question, revision: Revision, hints: QuestionHints) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": dump_question(question, revision, hints)}


def _unusable(form: Form[Any], content: Mapping[str, Any], problems: Sequence[Problem]) -> Unusable:
    """The error for an answer with problems, named by the labels of their fields, and the valid values."""
    wrong = {problem.field for problem in problems}
    at_fields = tuple((problem.field, problem.message) for problem in problems if problem.field)
    return Unusable(
        (*(p.message for p in problems if not p.field), *field_reasons(form, at_fields)),
        problems=at_fields,
        right={
            each.name: content[each.name]
            for each in form.fields
            if each.name in content and each.name not in wrong
        },
    )


def _refused(form: Form[Any], content: Mapping[str, Any], reason: str) -> Unusable:
    """The error for an answer that the author's check refuses. It is about the field, if there is only one."""
    at_field = ((form.fields[0].name, reason),) if len(form.fields) == 1 else ()
    return Unusable(field_reasons(form, at_field) or (reason,), problems=at_field, right=content)


def _with_defaults(
    schema: Mapping[str, Any], values: Mapping[str, Any], revision: Revision
) -> dict[str, Any]:
    """A schema with these defaults. 2025-06-18 has defaults on booleans only."""
    properties = {
        name: {**rules, "default": values[name]}
        if name in values and (revision is not Revision.JUNE_2025 or isinstance(values[name], bool))
        else rules
        for name, rules in schema["properties"].items()
    }
    return {**schema, "properties": properties}


async def _refusal(check: Callable[[], Any]) -> str | None:
    """Why the author's function refuses: a sentence, False, or a ValueError. None when it accepts."""
    try:
        verdict = check()
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except ValueError as error:
        return str(error) or "This answer cannot be used."
    if verdict is None or verdict is True:
        return None
    return verdict if isinstance(verdict, str) else "This answer cannot be used."


def _is_root(root: Any) -> bool:
    return (
        isinstance(root, Mapping)
        and isinstance(root.get("uri"), str)
        and isinstance(root.get("name"), str | None)
    )
