"""What can be asked, each with how it is said on the wire and how its answer is read."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from handraise.conversation.digest import digest
from handraise.errors import Expired, Failed, Mode, Stale
from handraise.forms import read_answer
from handraise.questions import (
    Accepted,
    Cancelled,
    Declined,
    FormQuestion,
    Question,
    UrlQuestion,
    with_reasons,
)
from handraise.revisions import Revision
from handraise.urls import require_safe_url
from handraise.wire import dump_question, parse_answer

if TYPE_CHECKING:
    from handraise.server.calls import Call

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Check = Callable[[T], Any]
"""The author's own validation: a sentence or False (or a raised ValueError) asks again."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that has to be asked for again, with the reasons.

    A link that was opened and not finished yet is asked again too, and not held against anyone (`counts`).
    """

    reasons: tuple[str, ...]
    counts: bool = True


class Inquiry(Protocol[R_co]):
    """Anything that can be put to the client within a call."""

    @property
    def mode(self) -> Mode:
        """What the client has to be able to do."""
        ...

    @property
    def content(self) -> object:
        """What makes this inquiry differ from others, for its id."""
        ...

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        """The input request; `reasons` say why it is asked again."""
        ...

    async def begin(self, call: Call, timeout: float) -> Inquiry[R_co]:
        """The inquiry as it is asked in this call."""
        ...

    async def read(self, raw: Any, call: Call) -> R_co | Unusable:
        """The result, from what the client answered. Raises `WireError` when that is no answer."""
        ...


class _Elicitation:
    """What is asked by a question to the person."""

    __slots__ = ()
    question: Question

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        """The input request; `reasons` say why it is asked again."""
        params = dump_question(self.question, revision)
        if reasons:
            params = {**params, "message": with_reasons(params["message"], reasons)}
        return {"method": "elicitation/create", "params": params}


@dataclass(slots=True)
class FormInquiry(_Elicitation, Generic[T]):
    """A form question. `declined_when` tells the accepted answers that mean "no" (a confirmation)."""

    mode: ClassVar[Mode] = "form"
    question: FormQuestion[Any]
    convert: Callable[[Any], T] | None = None
    """From what the form reads to what the author gets."""
    check: Check[T] | None = None
    still: Callable[[], Any] | None = None
    declined_when: Callable[[T], bool] | None = None

    @property
    def content(self) -> object:
        return self.question.message

    async def begin(self, call: Call, timeout: float) -> FormInquiry[T]:
        return self

    async def read(self, raw: Any, call: Call) -> Accepted[T] | Declined | Cancelled | Unusable:
        form = self.question.form
        action, content = parse_answer(raw, "form", form)
        if content is None:
            return Declined() if action == "decline" else Cancelled()
        data: Any
        data, problems = read_answer(form, content)
        if problems:
            return Unusable(tuple(f"{p.field}: {p.message}" if p.field else p.message for p in problems))
        if self.convert is not None:
            data = self.convert(data)
        if self.check is not None:
            said = ["check", self.question.message, raw]
            if (reason := await call.judge(said, partial(_refusal, partial(self.check, data)))) is not None:
                return Unusable((reason,))
        if self.declined_when is not None and self.declined_when(data):
            return Declined(by="answer")
        if self.still is not None:
            said = ["still", self.question.message, raw]
            if (changed := await call.judge(said, partial(_refusal, self.still))) is not None:
                raise Stale(changed)
        return Accepted(data)


@dataclass(frozen=True, slots=True)
class UrlInquiry(_Elicitation):
    """Consent to open a link and, with `wait`, what the person does there until it is complete."""

    question: UrlQuestion
    wait: bool = True
    unsafe_plain_http: bool = False
    deadline: float = 0.0
    about: str = ""
    """What its id is found by in another call, if the author chose none and it is required there, too."""

    @property
    def mode(self) -> Mode:
        return "url"

    @property
    def content(self) -> object:
        return self.question.url

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        asked = _Elicitation.request(self, revision)
        if reasons:  # nothing that the person answered was wrong
            asked["params"] = {**asked["params"], "message": "\n\n".join((self.question.message, *reasons))}
        return asked

    def require_askable(self) -> None:
        """Refuse a link that no question may carry, where the question is made."""
        require_safe_url(self.question.url, unsafe_plain_http=self.unsafe_plain_http)

    async def known(self, call: Call) -> UrlInquiry:
        """The same link with the id that this server gave the person of the call for it before.

        Elicitation ids are random, so that it is remembered which one was given out, as long as its flow is.
        """
        if self.question.elicitation_id is not None:
            return self
        about = f"link {digest([call.runtime.hosting.name, call.person.key, self.question.url])}"
        chosen = await call.runtime.flows.known_id(about)
        return replace(self, question=replace(self.question, elicitation_id=chosen), about=about)

    async def is_finished(self, call: Call) -> bool:
        """Whether the person of the call has done it before."""
        chosen = self.question.elicitation_id
        return chosen is not None and await call.runtime.flows.is_complete(chosen, call.person)

    def identified(self, call: Call) -> UrlInquiry:
        """The same link with an id, if the author chose none."""
        if self.question.elicitation_id is not None:
            return self
        chosen = call.new_elicitation_id(self.question.url)
        return replace(self, question=replace(self.question, elicitation_id=chosen))

    async def begin(self, call: Call, timeout: float) -> UrlInquiry:
        if self.deadline:
            return self
        chosen = self.question.elicitation_id or call.new_elicitation_id(self.question.url)
        chosen = await call.runtime.flows.open(chosen, call.person, timeout, self.about)
        question = replace(self.question, elicitation_id=chosen)
        return replace(self, question=question, deadline=time.monotonic() + timeout)

    async def read(self, raw: Any, call: Call) -> Accepted[None] | Declined | Cancelled | Unusable:
        match parse_answer(raw, "url").action:
            case "decline":
                return Declined()
            case "cancel":
                return Cancelled()
        # Only who consented is told of the end: to anybody else it says nothing, and a "no" leaves nothing behind.
        elicitation_id = str(self.question.elicitation_id)
        if not self.wait:
            await call.announce_when_complete(elicitation_id, self.deadline)
            return Accepted(None)
        if await call.completed(elicitation_id, self.deadline):
            return Accepted(None)
        if time.monotonic() >= self.deadline:
            raise Expired
        return Unusable(("The page was not finished yet.",), counts=False)


@dataclass(frozen=True, slots=True)
class Root:
    """A place that the client lets the server see."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RootsInquiry:
    """Which roots the client exposes."""

    @property
    def mode(self) -> Mode:
        return "roots"

    @property
    def content(self) -> object:
        return "roots"

    async def begin(self, call: Call, timeout: float) -> RootsInquiry:
        return self

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        return {"method": "roots/list"}

    async def read(self, raw: Any, call: Call) -> tuple[Root, ...] | Unusable:
        roots = raw.get("roots") if isinstance(raw, Mapping) else None
        if not isinstance(roots, list) or not all(_is_root(root) for root in roots):
            raise Failed("the client answered roots/list with something that is no list of roots")
        return tuple(Root(root["uri"], root.get("name")) for root in roots)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the client's model said."""

    text: str
    model: str
    stop_reason: str | None
    content: Any
    """The content exactly as it came: one block, or several."""


@dataclass(frozen=True, slots=True)
class ModelInquiry:
    """A request to the client's own model (sampling)."""

    params: Mapping[str, Any]

    @property
    def mode(self) -> Mode:
        return "sampling"

    @property
    def content(self) -> object:
        return self.params

    async def begin(self, call: Call, timeout: float) -> ModelInquiry:
        return self

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        return {"method": "sampling/createMessage", "params": dict(self.params)}

    async def read(self, raw: Any, call: Call) -> ModelReply | Unusable:
        if not isinstance(raw, Mapping) or not isinstance(raw.get("model"), str) or "content" not in raw:
            raise Failed("the client answered sampling/createMessage with something that is no message")
        content = raw["content"]
        blocks = content if isinstance(content, list) else [content]
        text = "".join(
            str(b.get("text", "")) for b in blocks if isinstance(b, Mapping) and b.get("type") == "text"
        )
        return ModelReply(text, raw["model"], raw.get("stopReason"), content)


async def _refusal(check: Callable[[], Any]) -> str | None:
    """Why a function of the author's refuses: a sentence, False, or a ValueError. None when it does not."""
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
