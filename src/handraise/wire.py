"""The three revisions of the protocol, as far as asking goes: messages to and from questions and answers.

Nothing here needs the SDK; the tests hold every message against its models.

Hints travel in `_meta` between our own server and our own desks, and every other program ignores them. A question may
carry `handraise/question`: how long it can be answered, its button texts, and the problems of the previous
answer. An answer may carry `handraise/refused`: why nobody was asked.

All hints are untrusted. A hint that is not as described here is ignored, never an error. A hint can take something from
a question (time) or add words that a desk quotes; it cannot give a question more rights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias, assert_never, get_args

from handraise.errors import DefinitionError, Mode, NotSupported, UsageError, WireError
from handraise.forms import (
    DEFAULT_LIMITS,
    Choice,
    Choices,
    Field,
    Form,
    Limits,
    check_answer,
    dump_form,
    parse_form,
    require_bounded,
    require_message,
    write_json,
)
from handraise.questions import NO_HINTS, Action, Buttons, FormQuestion, Question, QuestionHints, UrlQuestion
from handraise.revisions import Revision

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
"""Also: a mode that the client did not declare (2025-06-18, 2025-11-25)."""
MISSING_CAPABILITY: Final = -32021
"""The client did not declare what the request needs (2026-07-28)."""
URL_REQUIRED: Final = -32042
"""Something has to be done in a browser first (2025-11-25)."""

RESUMES: Final = "handraise/resumes"
"""The experimental capability of a server whose calls outlive its process: a gateway may send an answer later."""


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """The error object of a JSON-RPC response."""

    code: int
    message: str
    data: Any = None


def undeclared_mode(mode: Mode) -> ErrorObject:
    """A client's answer to a mode that it did not declare (2025-06-18 and 2025-11-25)."""
    return ErrorObject(
        INVALID_PARAMS, f"This client did not declare {'URL' if mode == 'url' else mode} mode."
    )


_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"
)
"""Version, trace, span and flags; a version to come may add to them."""


def parse_trace(meta: object) -> str | None:
    """The trace id in a request's `_meta`; None where there is none, or something that is no trace id."""
    parent = meta.get("traceparent") if isinstance(meta, Mapping) else None
    found = _PARENT.fullmatch(parent) if isinstance(parent, str) else None
    return None if found is None else found["trace"]


def dump_question(
    question: Question, revision: Revision, hints: QuestionHints | None = None
) -> dict[str, Any]:
    """The params of a question, with only what the revision knows, and with these hints instead of its own.

    NotSupported when the revision has no such question; UsageError when 2025-11-25 needs an id for it.
    """
    match question:
        case FormQuestion():
            params: dict[str, Any] = {"message": question.message}
            if question.names_mode and revision is not Revision.JUNE_2025:
                params["mode"] = "form"
            params["requestedSchema"] = dump_form(question.form, revision)
        case UrlQuestion():
            params = _dump_url(question, revision)
        case _:
            assert_never(question)
    if meta := dump_question_hints(hints or question.hints):
        params["_meta"] = meta
    return params


def dump_url_required(questions: Iterable[UrlQuestion]) -> dict[str, Any]:
    """The `data` of a -32042: the links to open in a browser first. 2025-11-25 only."""
    return {"elicitations": [_dump_url(question, Revision.NOVEMBER_2025) for question in questions]}


def parse_question(params: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> Question:
    """The question that some params ask; WireError names the rule that they break.

    Without `mode` it is a form, even when a `url` is there: the spec's own rule.
    """
    if not isinstance(params, dict):
        raise WireError("params", "The params of a question are a JSON object.")
    require_bounded(params, limits)
    message = params.get("message")
    if not isinstance(message, str):
        raise WireError("message", "A question has a message.")
    require_message(message, limits)
    mode = params.get("mode", "form")
    if mode == "form":
        form = parse_form(params.get("requestedSchema"), revision, limits)
        asked = FormQuestion(message, form, names_mode="mode" in params)
        meta = params.get("_meta")
        return replace(asked, hints=parse_question_hints(meta, form if asked.confirms is None else None))
    if mode == "url" and revision.url_mode:
        return replace(_parse_url(message, params, revision), hints=parse_question_hints(params.get("_meta")))
    raise WireError("mode", "The mode is form, or from 2025-11-25 on url.")


def check_size(question: Question, limits: Limits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Every way in which a question is larger than a desk shows, for its author; nothing when it fits."""
    found = []
    try:
        require_message(question.message, limits)
    except WireError as error:
        found.append(str(error))
    fields: Sequence[Field] = ()
    match question:
        case FormQuestion(form=form):
            fields, rest = form.fields, form.size
        case UrlQuestion(url=url):
            rest = len(url)
    if len(question.message.encode("utf-8", "surrogatepass")) + rest > limits.bytes:
        found.append(f"The question has more than {limits.bytes:,} bytes.")
    if len(fields) > limits.fields:
        found.append(
            f"The form has {len(fields)} fields; {limits.fields} are allowed. Ask in several questions."
        )
    for each in fields:
        if isinstance(each, Choice | Choices) and len(each.options) > limits.options:
            found.append(
                f"{each.name} has {len(each.options):,} options; {limits.options:,} are allowed. "
                "Ask first for what narrows them down."
            )
    return tuple(found)


def parse_url_required(data: object, limits: Limits = DEFAULT_LIMITS) -> tuple[UrlQuestion, ...]:
    """The links of a -32042. Anything but URL questions among them is refused."""
    elicitations = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(elicitations, list) or not elicitations:
        raise WireError("elicitations", "A -32042 lists the URL questions that have to come first.")
    require_bounded(elicitations, limits)
    questions = tuple(parse_question(params, Revision.NOVEMBER_2025, limits) for params in elicitations)
    if not all(isinstance(question, UrlQuestion) for question in questions):
        raise WireError("mode", "A -32042 lists URL questions only.")
    return questions  # type: ignore[return-value]


def _dump_url(question: UrlQuestion, revision: Revision) -> dict[str, Any]:
    if not revision.url_mode:
        raise NotSupported("url", "2025-06-18 has no URL mode")
    params = {"mode": "url", "message": question.message, "url": question.url}
    if question.elicitation_id is not None:  # 2026-07-28 needs none, but some of its clients do
        params["elicitationId"] = question.elicitation_id
    elif revision is Revision.NOVEMBER_2025:
        raise UsageError("a URL question needs an elicitation_id on 2025-11-25")
    return params


def _parse_url(message: str, params: dict[str, Any], revision: Revision) -> UrlQuestion:
    url = params.get("url")
    if not isinstance(url, str) or not url:
        raise WireError("url", "A URL question has a url.")
    if revision is not Revision.NOVEMBER_2025:
        return UrlQuestion(message, url)
    elicitation_id = params.get("elicitationId")
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise WireError("elicitation_id", "On 2025-11-25 a URL question has an elicitationId.")
    return UrlQuestion(message, url, elicitation_id)


_ACTIONS = frozenset(get_args(Action))


class WireAnswer(NamedTuple):
    """The client's answer: the action, and content only on an accepted form. Not checked yet."""

    action: Action
    content: dict[str, Any] | None = None


def parse_answer(raw: object, mode: Mode, form: Form[Any] | None = None) -> WireAnswer:
    """The answer in a result; WireError when it is none.

    Content is dropped wherever the spec has none: on decline and cancel, and on a URL question, where
    accept means consent to open and nothing else. An accepted form without content is refused, unless
    `form` is given and requires nothing: some clients leave it out then.
    """
    action = raw.get("action") if isinstance(raw, dict) else None
    if not isinstance(action, str) or action not in _ACTIONS:
        raise WireError("action", "An answer is accept, decline or cancel.")
    if action != "accept" or mode != "form":
        return WireAnswer(action)  # type: ignore[arg-type]
    content = raw.get("content")  # type: ignore[attr-defined]
    if content is None and form is not None and not form.required:
        content = {}
    if not isinstance(content, dict):
        raise WireError("content", "An accepted form has content.")
    return WireAnswer("accept", content)


def dump_answer(answer: WireAnswer) -> dict[str, Any]:
    """The result that carries an answer."""
    if answer.content is None:
        return {"action": answer.action}
    return {"action": answer.action, "content": answer.content}


QUESTION_HINTS: Final = "handraise/question"
"""The `_meta` key of a question's params."""
REFUSED: Final = "handraise/refused"
"""The `_meta` key of an answer that no person gave."""

LONGEST_BUTTON: Final = 40
"""Characters that a button may say in the server's words."""
_QUOTATION_MARKS: Final = frozenset('"“”„‟«»‹›「」『』〝〞〟＂')
"""A desk quotes the words of a button. These could end the quotation and go on in the desk's name."""
_LONGEST_TIME: Final = 10 * 365 * 86_400.0
_MOST_PROBLEMS: Final = 50
_LONGEST_PROBLEM: Final = 300

RefusalCode: TypeAlias = Literal[
    "policy", "rate", "secret", "link", "size", "no_desk", "not_shown", "answer", "expired"
]
"""Why nobody was asked, or why an answer was kept back. A fixed code: never the text of a rule."""

REFUSALS: Final[Mapping[RefusalCode, str]] = {
    "policy": "A rule of the person's does not let this server ask.",
    "rate": "The server asked too often.",
    "secret": "The form asks for a secret. Ask for it on a page.",
    "link": "The link is not safe.",
    "size": "The question is larger than the desk can show.",
    "no_desk": "There is no desk here at which a person could answer.",
    "not_shown": "The desk could not show the question.",
    "answer": "The answer was kept back: it held a secret, did not fit the form, or lacked a passkey.",
    "expired": "Nobody answered in time.",
}
"""One constant sentence for each code."""


def require_button(words: str) -> str:
    """The words of a button, as an author gives them; DefinitionError when a button cannot say them."""
    if not _is_button(words):
        raise DefinitionError(
            f"a button says 1 to {LONGEST_BUTTON} printable characters on one line, without spaces around them and "
            "without quotation marks; "
            f"it got {words!r}"
        )
    return words


def dump_question_hints(hints: QuestionHints) -> dict[str, Any]:
    """The `_meta` of a question; empty when there is nothing to say. DefinitionError for words no button can say."""
    told: dict[str, Any] = {}
    if hints.expires_in is not None:
        told["expiresIn"] = round(max(0.0, hints.expires_in), 3)
    buttons = {"yes": hints.buttons.yes, "no": hints.buttons.no}
    if said := {name: require_button(words) for name, words in buttons.items() if words is not None}:
        told["buttons"] = said
    if hints.problems:
        told["problems"] = [
            {"field": name, "reason": reason[:_LONGEST_PROBLEM].encode(errors="replace").decode()}
            for name, reason in hints.problems[:_MOST_PROBLEMS]
        ]
    if hints.last_answer:
        told["lastAnswer"] = dict(hints.last_answer)
    if hints.guard:
        told["guard"] = True
    return {QUESTION_HINTS: told} if told else {}


def parse_question_hints(meta: object, form: Form[Any] | None = None) -> QuestionHints:
    """The hints in a question's `_meta`. It is untrusted: a malformed hint counts as absent.

    Values of a last answer count only where they fit the `form`, and never in a confirmation or before a guard.
    """
    told = meta.get(QUESTION_HINTS) if isinstance(meta, Mapping) else None
    if not isinstance(told, Mapping):
        return NO_HINTS
    buttons, guard = told.get("buttons"), told.get("guard") is True
    return QuestionHints(
        _parse_time(told.get("expiresIn")),
        Buttons(_parse_button(buttons.get("yes")), _parse_button(buttons.get("no")))
        if isinstance(buttons, Mapping)
        else Buttons(),
        _parse_problems(told.get("problems")),
        {} if form is None or guard else _parse_last_answer(told.get("lastAnswer"), form),
        guard,
    )


def shorter_deadline(deadline: float | None, hints: QuestionHints, now: float) -> float | None:
    """The deadline of a question, by the wall clock. A hint can shorten it and never lengthen it."""
    if hints.expires_in is None:
        return deadline
    hinted = now + hints.expires_in
    return hinted if deadline is None else min(deadline, hinted)


def dump_refusal(refusal: RefusalCode) -> dict[str, Any]:
    """The `_meta` of an answer that no person gave."""
    return {REFUSED: refusal}


def parse_refusal(answer: object) -> RefusalCode | None:
    """Why nobody was asked, from the result that carries an answer; None when it does not say.

    Only a cancel can say so: a refusal never turns a person's accept or decline into something else.
    """
    if not isinstance(answer, Mapping) or answer.get("action") != "cancel":
        return None
    meta = answer.get("_meta")
    code = meta.get(REFUSED) if isinstance(meta, Mapping) else None
    return next((known for known in get_args(RefusalCode) if known == code), None)


def _parse_time(told: object) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    try:
        seconds = float(told)
    except OverflowError:
        return None
    return min(seconds, _LONGEST_TIME) if math.isfinite(seconds) and seconds >= 0 else None


def _parse_button(words: object) -> str | None:
    return words if isinstance(words, str) and _is_button(words) else None


def _is_button(words: str) -> bool:
    """`str.isprintable` is false for control, format, private, unassigned and invisible separator characters."""
    fits = 0 < len(words) <= LONGEST_BUTTON and words.isprintable() and words == words.strip()
    return fits and _QUOTATION_MARKS.isdisjoint(words)


def _parse_problems(told: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(told, Sequence) or isinstance(told, str | bytes):
        return ()
    found = (
        (each["field"], each["reason"][:_LONGEST_PROBLEM])
        for each in told[:_MOST_PROBLEMS]
        if isinstance(each, Mapping)
        and isinstance(each.get("field"), str)
        and isinstance(each.get("reason"), str)
    )
    return tuple(found)


def _parse_last_answer(told: object, form: Form[Any]) -> dict[str, Any]:
    names = {each.name for each in form.fields}
    given = {name: told[name] for name in names & told.keys()} if isinstance(told, Mapping) else {}
    return {
        name: value
        for name, value in given.items()
        if not any(problem.field == name for problem in check_answer(form, {name: value}))
    }


def dump_input_required(requests: Mapping[str, Any], request_state: str | None) -> dict[str, Any]:
    """The result that ends a round with requests for input."""
    dumped: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        dumped["inputRequests"] = dict(requests)
    if request_state is not None:
        dumped["requestState"] = request_state
    return dumped


def parse_input_responses(raw: object, limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
    """The answers in a retry, by key, within bounds. Their meaning is not checked here."""
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise WireError("input_responses", "inputResponses is a JSON object.")
    if len(raw) > limits.answers:
        raise WireError("input_responses", f"inputResponses has more than {limits.answers} entries.")
    if len(write_json(raw)) > limits.answer_bytes:
        raise WireError("input_responses", f"inputResponses has more than {limits.answer_bytes} bytes.")
    return raw


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The modes and input requests that a client declared."""

    form: bool = False
    url: bool = False
    roots: bool = False
    sampling: bool = False

    def supports(self, mode: Mode) -> bool:
        """Whether the client may be sent this."""
        return bool(getattr(self, mode))


def dump_capabilities(capabilities: Capabilities, revision: Revision) -> dict[str, Any]:
    """A `ClientCapabilities` object that declares exactly this."""
    dumped: dict[str, Any] = {}
    if capabilities.form or capabilities.url:
        dumped["elicitation"] = _modes(capabilities, revision)
    if capabilities.roots:
        dumped["roots"] = {}
    if capabilities.sampling:
        dumped["sampling"] = {}
    if not revision.url_mode and not capabilities.form:
        dumped.pop("elicitation", None)
    return dumped


def dump_missing_capability(modes: Iterable[Mode]) -> dict[str, Any]:
    """The `data` of a -32021: the capabilities that the client would have to declare."""
    needed = dict.fromkeys(modes, True)
    return {"requiredCapabilities": dump_capabilities(Capabilities(**needed), Revision.JULY_2026)}


def _modes(capabilities: Capabilities, revision: Revision) -> dict[str, Any]:
    if not revision.url_mode:
        return {}
    return {mode: {} for mode in ("form", "url") if capabilities.supports(mode)}
