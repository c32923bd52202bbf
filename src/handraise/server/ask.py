"""`ask`: a question in the middle of a tool, prompt or resource template."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

from mcp.server.session import ServerSession

from handraise.errors import DefinitionError
from handraise.forms import Form, Integer, Number, Text
from handraise.policy.secrets import require_no_secrets
from handraise.questions import Accepted, Cancelled, Declined, Fallback, FormQuestion, Person, UrlQuestion
from handraise.server import shortcuts
from handraise.server.arguments import (
    refuse,
    require_callable,
    require_known,
    require_named,
    require_text,
    require_timeout,
)
from handraise.server.asking import NO_FALLBACK, Asking, Manner
from handraise.server.calls import current_call
from handraise.server.inquiries import (
    FormInquiry,
    ModelInquiry,
    ModelReply,
    Root,
    RootsInquiry,
    UrlInquiry,
)
from handraise.server.page_asks import PageAsks
from handraise.server.paging import PageInquiry
from handraise.server.refusals import fitted, fitting
from handraise.server.required import Requirement
from handraise.server.sampling import sampling_params
from handraise.server.several import Several
from handraise.server.threads import wait_in_thread

if TYPE_CHECKING:
    from handraise.pages import Page

T = TypeVar("T")
F = TypeVar("F")

Answer: TypeAlias = Accepted[T] | Declined | Cancelled


class Usual(TypedDict, total=False):
    """What every question may be given, beside its message and its form.

    - `key`: its name on the wire and in the journal; made up when absent.
    - `timeout`: seconds until nobody answering is `Expired`.
    - `because`, `if_declined`: added to the message, so that the person knows what depends on it.
    - `still`: looked at after an accepted answer. False, a sentence or a ValueError says that the world has
      changed meanwhile: the answer is not used and `Stale` is raised.
    - `session`: a legacy session to ask on, outside of a request.
    """

    key: str | None
    timeout: float | None
    because: str | None
    if_declined: str | None
    still: Callable[[], Any] | None
    session: ServerSession | None


class Ask(PageAsks):
    """Asks the person, on every revision of the protocol.

    Every method gives an `Asking`: `await` it for the answer, hand several to `ask.all`, or `prepare()` one, or
    all, to send them now and wait later.
    """

    @overload
    def __call__(
        self,
        message: str,
        form: type[T] | Form[T],
        *,
        check: Callable[[T], Any] | None = None,
        unsafe_preanswer: bool = False,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[T]]: ...
    @overload
    def __call__(
        self,
        message: str,
        form: type[T] | Form[T],
        *,
        fallback: F,
        check: Callable[[T], Any] | None = None,
        unsafe_preanswer: bool = False,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[T] | Fallback[F]]: ...
    def __call__(
        self,
        message: str,
        form: Any,
        *,
        fallback: Any = NO_FALLBACK,
        check: Callable[[Any], Any] | None = None,
        unsafe_preanswer: bool = False,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask for the fields of a form: a `Form`, a pydantic model, a dataclass, a TypedDict or any simple type.

        `check` is the author's own validation of the typed result: a sentence, False or a ValueError asks again.
        `unsafe_preanswer` takes an answer that came with the call, before anything was asked.
        """
        try:
            asked = Form.of(form)
        except DefinitionError as error:
            raise fitting(error) from None
        return _form(message, asked, usual, check=check, fallback=fallback, unsafe_preanswer=unsafe_preanswer)

    @overload
    def confirm(self, message: str, **usual: Unpack[Usual]) -> Asking[Answer[bool]]: ...
    @overload
    def confirm(
        self, message: str, *, fallback: F, **usual: Unpack[Usual]
    ) -> Asking[Answer[bool] | Fallback[F]]: ...
    def confirm(self, message: str, *, fallback: Any = NO_FALLBACK, **usual: Unpack[Usual]) -> Asking[Any]:
        """Ask for one yes or no. A "no" is `Declined(by="answer")`."""
        return _form(
            message,
            shortcuts.CONFIRM,
            usual,
            fallback=fallback,
            convert=shortcuts.confirmed,
            declined_when=lambda yes: not yes,
        )

    @overload
    def choose(
        self, message: str, options: Mapping[T, str] | Iterable[T], **usual: Unpack[Usual]
    ) -> Asking[Answer[T]]: ...
    @overload
    def choose(
        self, message: str, options: Mapping[T, str] | Iterable[T], *, fallback: F, **usual: Unpack[Usual]
    ) -> Asking[Answer[T] | Fallback[F]]: ...
    def choose(
        self, message: str, options: Iterable[Any], *, fallback: Any = NO_FALLBACK, **usual: Unpack[Usual]
    ) -> Asking[Any]:
        """Ask for one of several: a mapping from value to title, an Enum, or any values."""
        with fitted:
            form, convert = shortcuts.choice(options)
        return _form(message, form, usual, fallback=fallback, convert=convert)

    @overload
    def choose_many(
        self,
        message: str,
        options: Mapping[T, str] | Iterable[T],
        *,
        min_items: int | None = None,
        max_items: int | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[list[T]]]: ...
    @overload
    def choose_many(
        self,
        message: str,
        options: Mapping[T, str] | Iterable[T],
        *,
        fallback: F,
        min_items: int | None = None,
        max_items: int | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[list[T]] | Fallback[F]]: ...
    def choose_many(
        self,
        message: str,
        options: Iterable[Any],
        *,
        min_items: int | None = None,
        max_items: int | None = None,
        fallback: Any = NO_FALLBACK,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask for any number of several."""
        with fitted:
            form, convert = shortcuts.choices(options, min_items, max_items)
        return _form(message, form, usual, fallback=fallback, convert=convert)

    @overload
    def text(
        self,
        message: str,
        *,
        min_length: int | None = 1,
        max_length: int | None = None,
        pattern: str | None = None,
        format: Literal["email", "uri"] | None = None,
        check: Callable[[str], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[str]]: ...
    @overload
    def text(
        self,
        message: str,
        *,
        fallback: F,
        min_length: int | None = 1,
        max_length: int | None = None,
        pattern: str | None = None,
        format: Literal["email", "uri"] | None = None,
        check: Callable[[str], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[str] | Fallback[F]]: ...
    def text(
        self,
        message: str,
        *,
        min_length: int | None = 1,
        max_length: int | None = None,
        pattern: str | None = None,
        format: Literal["email", "uri"] | None = None,
        check: Callable[[str], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask for a line of text."""
        field = Text(
            shortcuts.ANSWER,
            title="Your answer",
            min_length=min_length,
            max_length=max_length,
            pattern=pattern,
            format=format,
        )
        return _single(message, field, usual, fallback=fallback, check=check)

    @overload
    def number(  # type: ignore[overload-overlap]  # a bool that nobody knows gives a float, and an int is one
        self,
        message: str,
        *,
        whole: Literal[True],
        minimum: float | None = None,
        maximum: float | None = None,
        check: Callable[[int], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[int]]: ...
    @overload
    def number(
        self,
        message: str,
        *,
        whole: bool = False,
        minimum: float | None = None,
        maximum: float | None = None,
        check: Callable[[float], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[float]]: ...
    @overload
    def number(  # type: ignore[overload-overlap]
        self,
        message: str,
        *,
        fallback: F,
        whole: Literal[True],
        minimum: float | None = None,
        maximum: float | None = None,
        check: Callable[[int], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[int] | Fallback[F]]: ...
    @overload
    def number(
        self,
        message: str,
        *,
        fallback: F,
        whole: bool = False,
        minimum: float | None = None,
        maximum: float | None = None,
        check: Callable[[float], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[float] | Fallback[F]]: ...
    def number(
        self,
        message: str,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        whole: bool = False,
        check: Callable[[Any], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask for a number, or for a whole one."""
        kind = Integer if whole else Number
        field = kind(shortcuts.ANSWER, title="Your answer", minimum=minimum, maximum=maximum)
        return _single(message, field, usual, fallback=fallback, check=check)

    @overload
    def date(
        self,
        message: str,
        *,
        check: Callable[[datetime.date], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[datetime.date]]: ...
    @overload
    def date(
        self,
        message: str,
        *,
        fallback: F,
        check: Callable[[datetime.date], Any] | None = None,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[datetime.date] | Fallback[F]]: ...
    def date(
        self,
        message: str,
        *,
        check: Callable[[datetime.date], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask for a day."""
        return _form(message, Form.of(datetime.date), usual, fallback=fallback, check=check)

    @overload
    def open(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        wait: bool = True,
        unsafe_plain_http: bool = False,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[None]]: ...
    @overload
    def open(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        fallback: F,
        wait: bool = True,
        unsafe_plain_http: bool = False,
        **usual: Unpack[Usual],
    ) -> Asking[Answer[None] | Fallback[F]]: ...
    def open(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        wait: bool = True,
        unsafe_plain_http: bool = False,
        fallback: Any = NO_FALLBACK,
        **usual: Unpack[Usual],
    ) -> Asking[Any]:
        """Ask the person to do something in their browser, and wait until `complete` says that it is done.

        Accepting is consent to open the link, nothing more. With `wait=False` that is what this gives.
        """
        require_text("url", url)
        require_named("elicitation_id", elicitation_id)
        question = UrlQuestion(_composed(message, usual), url, elicitation_id)
        inquiry = UrlInquiry(question, wait=wait, unsafe_plain_http=unsafe_plain_http)
        with fitted:
            inquiry.require_askable()
        return Asking(inquiry, _manner(usual, fallback))

    def require(self, *links: Page[Any] | UrlQuestion | str, timeout: float | None = None) -> Requirement:
        """Go on only when the person has finished these pages or links.

        2025-11-25: the call ends with error -32042 that lists what is missing, and the client calls again.
        2026-07-28: the links are asked for in a round, and the body goes on when they are finished.
        """
        require_timeout(timeout)
        return Requirement([_required(link) for link in links], timeout)

    def roots(
        self, *, key: str | None = None, timeout: float | None = None, session: ServerSession | None = None
    ) -> Asking[tuple[Root, ...]]:
        """Ask the client which roots it exposes."""
        return Asking(RootsInquiry(), _plain_manner(key, timeout, session))

    def model(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        key: str | None = None,
        timeout: float | None = None,
        session: ServerSession | None = None,
        **parameters: Any,
    ) -> Asking[ModelReply]:
        """Ask the client's own model (sampling). `parameters` are the protocol's, in its own spelling."""
        params = sampling_params(prompt, max_tokens, parameters)
        return Asking(ModelInquiry(params), _plain_manner(key, timeout, session))

    def all(self, **askings: Asking[Any]) -> Several:
        """Ask several things at once: one round on 2026-07-28, one after the other before. The answers by name."""
        return Several(askings)

    def sync(self, asking: Awaitable[T]) -> T:
        """Ask from a plain `def` tool: `answer = ask.sync(ask.confirm("Delete it?"))`."""
        return wait_in_thread(asking)

    def person(self) -> Person:
        """Who will answer: to hand to `complete` later, or to keep things apart."""
        return current_call().person


ask: Ask = Ask()


def _required(link: Page[Any] | UrlQuestion | str) -> UrlInquiry | PageInquiry[Any]:
    if isinstance(link, str):
        link = UrlQuestion(_NEEDED, link)
    if not hasattr(link, "message"):
        refuse("link", "an address, a UrlQuestion or a page", link)
    require_text("message", link.message)
    if not isinstance(link, UrlQuestion):
        return PageInquiry(link, link.message)
    require_text("url", link.url)
    require_named("elicitation_id", link.elicitation_id)
    return UrlInquiry(link)


_NEEDED = "Please open this page to go on."


def _form(
    message: str,
    form: Form[Any],
    usual: Usual,
    *,
    fallback: Any,
    check: Callable[[Any], Any] | None = None,
    convert: Callable[[Any], Any] | None = None,
    declined_when: Callable[[Any], bool] | None = None,
    unsafe_preanswer: bool = False,
) -> Asking[Any]:
    if usual:
        message = _composed(message, usual)
        require_callable("still", usual.get("still"))
    elif type(message) is not str or not message.isascii():
        require_text("message", message)
    if check is not None:
        require_callable("check", check)
    question = FormQuestion(message, form)
    try:
        require_no_secrets(message, form)
    except DefinitionError as error:
        raise fitting(error) from None
    inquiry: FormInquiry[Any] = FormInquiry(question, convert, check, usual.get("still"), declined_when)
    plain = not usual and fallback is NO_FALLBACK and not unsafe_preanswer
    return Asking(inquiry, _PLAIN if plain else _manner(usual, fallback, unsafe_preanswer))


def _single(
    message: str, field: Text | Number | Integer, usual: Usual, *, fallback: Any, check: Any
) -> Asking[Any]:
    with fitted:
        form = shortcuts.one(field)
    return _form(message, form, usual, fallback=fallback, check=check, convert=shortcuts.answer_of)


def _manner(usual: Usual, fallback: Any, unsafe_preanswer: bool = False) -> Manner:
    require_known(usual, Usual)
    key, timeout = usual.get("key"), usual.get("timeout")
    require_named("key", key)
    require_timeout(timeout)
    return Manner(key, timeout, fallback, usual.get("session"), unsafe_preanswer)


def _plain_manner(key: str | None, timeout: float | None, session: ServerSession | None) -> Manner:
    require_named("key", key)
    require_timeout(timeout)
    return Manner(key, timeout, session=session)


_PLAIN = Manner()


def _composed(message: str, usual: Usual) -> str:
    require_text("message", message)
    if because := usual.get("because"):
        require_text("because", because)
        message += f"\n\nWhy: {because}"
    if if_declined := usual.get("if_declined"):
        require_text("if_declined", if_declined)
        message += f"\n\nIf you decline: {if_declined}"
    return message
