"""`ask`: a question in the middle of a tool, prompt or resource template."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, overload

from handraise.forms import ANSWER, Form, Integer, Number, Text
from handraise.forms.formats import AskedFormat
from handraise.questions import (
    NO_HINTS,
    Answer,
    Buttons,
    Fallback,
    FormQuestion,
    Person,
    QuestionHints,
    UrlQuestion,
)
from handraise.secrets import require_no_secrets
from handraise.server.asking import Asking, Several, wait_in_thread
from handraise.server.client_requests import (
    FormRequest,
    ModelReply,
    ModelRequest,
    Root,
    RootsRequest,
    UrlRequest,
)
from handraise.server.page_asks import PageAsks, PageOptions, PageRequest, Requirement
from handraise.server.question_arguments import (
    CONFIRM,
    NO_FALLBACK,
    answer_of,
    ask_options,
    choice_form,
    choices_form,
    refuse,
    require_callable,
    require_message,
    require_name,
    require_size,
    require_text,
    require_timeout,
    sampling_params,
    size_limits,
)
from handraise.server.served import current_call, fits_call
from handraise.wire import require_button

if TYPE_CHECKING:
    from handraise.pages import Page

T = TypeVar("T")
F = TypeVar("F")


class CommonOptions(PageOptions, total=False):
    """Options of every question that is answered in the client, beside those of `PageOptions`.

    - `still`: called after an accepted answer. If it returns False or a sentence, or raises ValueError, the situation
      has changed: the answer is not used and `Stale` is raised.
    - `session`: a legacy session to ask on, outside of a request.

    Every question also takes `fallback`, a value for clients that cannot ask. You get `Fallback(value)` instead of
    `NotSupported`, also where a client declared that it can ask and then answers -32601 or -32602. It covers nothing
    else: `Expired`, `Failed` and `Withdrawn` are raised, and `Declined` is an answer.
    """

    still: Callable[[], Any] | None
    session: object


class FormOptions(CommonOptions, Generic[T], total=False):
    """The options of `ask(message, form)`."""

    check: Callable[[T], Any] | None
    unsafe_preanswer: bool


class ConfirmOptions(CommonOptions, total=False):
    """The options of `ask.confirm`."""

    yes: str | None
    no: str | None


class ChooseManyOptions(CommonOptions, total=False):
    """The options of `ask.choose_many`."""

    min_items: int | None
    max_items: int | None


class TextOptions(CommonOptions, total=False):
    """The options of `ask.text`."""

    min_length: int | None
    max_length: int | None
    pattern: str | None
    format: AskedFormat | None
    check: Callable[[str], Any] | None


class NumberOptions(CommonOptions, Generic[T], total=False):
    """The options of `ask.number`, beside `whole`."""

    minimum: float | None
    maximum: float | None
    check: Callable[[T], Any] | None


class DateOptions(CommonOptions, total=False):
    """The options of `ask.date`."""

    check: Callable[[datetime.date], Any] | None


class OpenOptions(CommonOptions, total=False):
    """The options of `ask.open`."""

    wait: bool
    unsafe_plain_http: bool


class Ask(PageAsks):
    """Asks the person, on every revision of the protocol.

    Every method gives an `Asking`: `await` it for the answer, hand several to `ask.all`, or `prepare()` one, or
    all, to send them now and wait later.
    """

    @overload
    def __call__(
        self, message: str, form: type[T] | Form[T], **options: Unpack[FormOptions[T]]
    ) -> Asking[Answer[T]]: ...
    @overload
    def __call__(
        self, message: str, form: type[T] | Form[T], *, fallback: F, **options: Unpack[FormOptions[T]]
    ) -> Asking[Answer[T] | Fallback[F]]: ...
    @fits_call
    def __call__(
        self,
        message: str,
        form: Any,
        *,
        fallback: Any = NO_FALLBACK,
        check: Callable[[Any], Any] | None = None,
        unsafe_preanswer: bool = False,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for the fields of a form: a `Form`, a pydantic model, a dataclass, a TypedDict or any simple type.

        `check` is the author's own validation of the typed result: a sentence, False or a ValueError asks again.
        `unsafe_preanswer` takes an answer that came with the call, before anything was asked.
        """
        return _form(
            message, Form.of(form), common, check=check, fallback=fallback, unsafe_preanswer=unsafe_preanswer
        )

    @overload
    def confirm(self, message: str, **options: Unpack[ConfirmOptions]) -> Asking[Answer[bool]]: ...
    @overload
    def confirm(
        self, message: str, *, fallback: F, **options: Unpack[ConfirmOptions]
    ) -> Asking[Answer[bool] | Fallback[F]]: ...
    @fits_call
    def confirm(
        self,
        message: str,
        *,
        yes: str | None = None,
        no: str | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for one yes or no. A "no" is `Declined(by="answer")`.

        `yes` and `no` say what each does ("Delete 47 files"). Our desks show them on the buttons.
        """
        buttons = Buttons(*(words if words is None else require_button(words) for words in (yes, no)))
        return _form(
            message,
            CONFIRM,
            common,
            fallback=fallback,
            convert=answer_of,
            declined_when=lambda said: not said,
            hints=QuestionHints(buttons=buttons),
        )

    @overload
    def choose(
        self, message: str, options: Mapping[T, str] | Iterable[T], **common: Unpack[CommonOptions]
    ) -> Asking[Answer[T]]: ...
    @overload
    def choose(
        self,
        message: str,
        options: Mapping[T, str] | Iterable[T],
        *,
        fallback: F,
        **common: Unpack[CommonOptions],
    ) -> Asking[Answer[T] | Fallback[F]]: ...
    @fits_call
    def choose(
        self,
        message: str,
        options: Iterable[Any],
        *,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for one option: from a mapping of values to titles, an Enum, or any values."""
        form, convert = choice_form(options)
        return _form(message, form, common, fallback=fallback, convert=convert)

    @overload
    def choose_many(
        self, message: str, options: Mapping[T, str] | Iterable[T], **more: Unpack[ChooseManyOptions]
    ) -> Asking[Answer[list[T]]]: ...
    @overload
    def choose_many(
        self,
        message: str,
        options: Mapping[T, str] | Iterable[T],
        *,
        fallback: F,
        **more: Unpack[ChooseManyOptions],
    ) -> Asking[Answer[list[T]] | Fallback[F]]: ...
    @fits_call
    def choose_many(
        self,
        message: str,
        options: Iterable[Any],
        *,
        min_items: int | None = None,
        max_items: int | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for any number of options."""
        form, convert = choices_form(options, min_items, max_items)
        return _form(message, form, common, fallback=fallback, convert=convert)

    @overload
    def text(self, message: str, **options: Unpack[TextOptions]) -> Asking[Answer[str]]: ...
    @overload
    def text(
        self, message: str, *, fallback: F, **options: Unpack[TextOptions]
    ) -> Asking[Answer[str] | Fallback[F]]: ...
    @fits_call
    def text(
        self,
        message: str,
        *,
        min_length: int | None = 1,
        max_length: int | None = None,
        pattern: str | None = None,
        format: AskedFormat | None = None,
        check: Callable[[str], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for a line of text."""
        field = Text(
            ANSWER,
            title="Your answer",
            min_length=min_length,
            max_length=max_length,
            pattern=pattern,
            format=format,
        )
        return _form(message, Form.by_hand(field), common, fallback=fallback, check=check, convert=answer_of)

    @overload
    def number(  # type: ignore[overload-overlap]  # a bool that nobody knows gives a float, and an int is one
        self, message: str, *, whole: Literal[True], **options: Unpack[NumberOptions[int]]
    ) -> Asking[Answer[int]]: ...
    @overload
    def number(
        self, message: str, *, whole: bool = False, **options: Unpack[NumberOptions[float]]
    ) -> Asking[Answer[float]]: ...
    @overload
    def number(  # type: ignore[overload-overlap]
        self, message: str, *, fallback: F, whole: Literal[True], **options: Unpack[NumberOptions[int]]
    ) -> Asking[Answer[int] | Fallback[F]]: ...
    @overload
    def number(
        self, message: str, *, fallback: F, whole: bool = False, **options: Unpack[NumberOptions[float]]
    ) -> Asking[Answer[float] | Fallback[F]]: ...
    @fits_call
    def number(
        self,
        message: str,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        whole: bool = False,
        check: Callable[[Any], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for a number, or for a whole one."""
        kind = Integer if whole else Number
        field = kind(ANSWER, title="Your answer", minimum=minimum, maximum=maximum)
        return _form(message, Form.by_hand(field), common, fallback=fallback, check=check, convert=answer_of)

    @overload
    def date(self, message: str, **options: Unpack[DateOptions]) -> Asking[Answer[datetime.date]]: ...
    @overload
    def date(
        self, message: str, *, fallback: F, **options: Unpack[DateOptions]
    ) -> Asking[Answer[datetime.date] | Fallback[F]]: ...
    @fits_call
    def date(
        self,
        message: str,
        *,
        check: Callable[[datetime.date], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask for a day."""
        return _form(message, Form.of(datetime.date), common, fallback=fallback, check=check)

    @overload
    def open(
        self, message: str, url: str, elicitation_id: str | None = None, **options: Unpack[OpenOptions]
    ) -> Asking[Answer[None]]: ...
    @overload
    def open(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        fallback: F,
        **options: Unpack[OpenOptions],
    ) -> Asking[Answer[None] | Fallback[F]]: ...
    @fits_call
    def open(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        wait: bool = True,
        unsafe_plain_http: bool = False,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[CommonOptions],
    ) -> Asking[Any]:
        """Ask the person to do something in their browser, and wait until `complete` says that it is done.

        Accepting is consent to open the link, nothing more. With `wait=False` this returns after the consent.
        """
        options = ask_options(common, CommonOptions, fallback)
        question = _link(UrlQuestion(_composed(message, common), url, elicitation_id))
        request = UrlRequest(question, wait=wait, unsafe_plain_http=unsafe_plain_http)
        request.require_askable()
        require_size(question)
        return Asking(request, options)

    @fits_call
    def require(self, *links: Page[Any] | UrlQuestion | str, timeout: float | None = None) -> Requirement:
        """Continue only when the person has finished these pages or links.

        2025-11-25: the call ends with error -32042 that lists what is missing, and the client calls again.
        2026-07-28: the links are asked for in a round, and the handler continues when they are finished.
        """
        require_timeout(timeout)
        return Requirement([_required(link) for link in links], timeout)

    @fits_call
    def roots(
        self, *, key: str | None = None, timeout: float | None = None, session: object = None
    ) -> Asking[tuple[Root, ...]]:
        """Ask the client which roots it exposes."""
        return Asking(
            RootsRequest(), ask_options({"key": key, "timeout": timeout, "session": session}, CommonOptions)
        )

    @fits_call
    def model(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        key: str | None = None,
        timeout: float | None = None,
        session: object = None,
        **parameters: Any,
    ) -> Asking[ModelReply]:
        """Ask the client's own model (sampling). `parameters` are the protocol's, in its own spelling."""
        params = sampling_params(prompt, max_tokens, parameters)
        return Asking(
            ModelRequest(params),
            ask_options({"key": key, "timeout": timeout, "session": session}, CommonOptions),
        )

    def all(self, **askings: Asking[T]) -> Several[T]:
        """Ask several things at once: one round on 2026-07-28, one after the other before. The answers by name."""
        return Several(askings)

    def sync(self, asking: Awaitable[T]) -> T:
        """Ask from a plain `def` tool: `answer = ask.sync(ask.confirm("Delete it?"))`."""
        return wait_in_thread(asking)

    def person(self) -> Person:
        """The person who will answer. Pass it to `complete` later, or use it as a key for data of theirs."""
        return current_call().person


ask: Ask = Ask()


def _required(link: Page[Any] | UrlQuestion | str) -> UrlRequest | PageRequest[Any]:
    if isinstance(link, str):
        link = UrlQuestion(_NEEDED, link)
    if not hasattr(link, "message"):
        refuse("link", "an address, a UrlQuestion or a page", link)
    require_text("message", link.message)
    return UrlRequest(_link(link)) if isinstance(link, UrlQuestion) else PageRequest(link, link.message)


def _link(question: UrlQuestion) -> UrlQuestion:
    require_text("url", question.url)
    require_name("elicitation_id", question.elicitation_id)
    return question


_NEEDED = "Please open this page to go on."


def _form(
    message: str,
    form: Form[Any],
    common: CommonOptions,
    *,
    fallback: Any,
    check: Callable[[Any], Any] | None = None,
    convert: Callable[[Any], Any] | None = None,
    declined_when: Callable[[Any], bool] | None = None,
    unsafe_preanswer: bool = False,
    hints: QuestionHints = NO_HINTS,
) -> Asking[Any]:
    options = ask_options(common, CommonOptions, fallback, unsafe_preanswer)
    question = FormQuestion(_composed(message, common), form, hints=hints)
    still = common.get("still")
    require_callable("still", still)
    require_callable("check", check)
    require_no_secrets(question.message, form)
    require_size(question)
    request: FormRequest[Any] = FormRequest(
        question, convert, check, still, declined_when, size_limits().message
    )
    return Asking(request, options)


def _composed(message: str, common: CommonOptions) -> str:
    """Question, reason and consequence, one line each: some clients show only three lines of a message."""
    require_message(message)
    if because := common.get("because"):
        message += f"\nWhy: {because}"
    if if_declined := common.get("if_declined"):
        message += f"\nIf you decline: {if_declined}"
    return message
