"""The part of `ask` that is answered on a page: secrets, a set-up, an account, a task on another site.

Entries come from the vault if they are there. Otherwise the person gets a link to the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar, Unpack, overload

from handraise.errors import Expired, HandraiseError, Mode
from handraise.forms import Form
from handraise.questions import Accepted, Answer, Cancelled, Declined, Fallback, UrlQuestion
from handraise.revisions import Revision
from handraise.server.asking import Asking, Prepared, Unasked, ask_until_valid
from handraise.server.client_requests import ClientRequest, Unusable, UrlRequest
from handraise.server.question_arguments import (
    NO_FALLBACK,
    AskOptions,
    OutgoingRequest,
    ask_options,
    require_callable,
    require_text,
)
from handraise.server.served import LinksRequired, ServedCall, current_call, fits_call
from handraise.vault import Secret
from handraise.wire import dump_url_required

if TYPE_CHECKING:
    from handraise.pages import OutsideRequest, Page, SecretField, Setup, Visit
    from handraise.pages.oauth import Account, Token

T = TypeVar("T")
F = TypeVar("F")
R = TypeVar("R")


class PageOptions(TypedDict, total=False):
    """Options of every question to a person.

    - `key`: its name on the wire and in the journal; made up when absent.
    - `timeout`: seconds until `Expired` is raised.
    - `because`, `if_declined`: added to the message, and shown on a page, so that the person knows what depends on it.
    """

    key: str | None
    timeout: float | None
    because: str | None
    if_declined: str | None


class SecretOptions(PageOptions, Generic[T], total=False):
    """The options of a page with secrets; `check` gets what was entered."""

    service: str | None
    keep_for: float | None
    check: Callable[[T], Any] | None


class OneSecretOptions(SecretOptions[Secret], total=False):
    """The options of `ask.secret` for one secret."""

    hint: str | None
    pattern: str | None
    multiline: bool


class SetupOptions(SecretOptions["Setup[T]"], Generic[T], total=False):
    """The options of `ask.setup`."""

    secrets: Sequence[SecretField]


class OutsideOptions(PageOptions, total=False):
    """The options of `ask.outside`."""

    confirm: Callable[[str], Any] | None
    webhook_key: str | bytes | None


class PageAsks:
    """Asks on pages. The entries reach the tool, never the client or the model."""

    @overload
    def secret(self, title: str, **options: Unpack[OneSecretOptions]) -> Asking[Answer[Secret]]: ...
    @overload
    def secret(
        self, title: str, *, fallback: F, **options: Unpack[OneSecretOptions]
    ) -> Asking[Answer[Secret] | Fallback[F]]: ...
    @overload
    def secret(
        self,
        title: str,
        *,
        fields: Sequence[SecretField],
        **options: Unpack[SecretOptions[Mapping[str, Secret]]],
    ) -> Asking[Answer[Mapping[str, Secret]]]: ...
    @overload
    def secret(
        self,
        title: str,
        *,
        fields: Sequence[SecretField],
        fallback: F,
        **options: Unpack[SecretOptions[Mapping[str, Secret]]],
    ) -> Asking[Answer[Mapping[str, Secret]] | Fallback[F]]: ...
    @fits_call
    def secret(
        self,
        title: str,
        *,
        service: str | None = None,
        fields: Sequence[SecretField] | None = None,
        keep_for: float | None = None,
        hint: str | None = None,
        pattern: str | None = None,
        multiline: bool = False,
        check: Callable[[Any], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[PageOptions],
    ) -> Asking[Any]:
        """Ask for a secret, or several with `fields`, on a page of this server.

        With a `service` the vault keeps it for this person, for `keep_for` seconds or for good, and they are not
        asked again. `check` gets the entries while the page is open: a sentence, False or a
        ValueError asks again there.
        """
        from handraise.pages import SecretField, SecretPage
        from handraise.pages.entry_pages import ONE

        require_text("title", title)
        require_text("hint", hint or "")
        require_callable("check", check)
        one = SecretField(ONE, title, hint=hint, pattern=pattern, multiline=multiline)
        page: SecretPage[Any] = SecretPage(title, tuple(fields or (one,)), service, keep_for, check)
        return _ask_on(page, common, fallback)

    @overload
    def setup(
        self, title: str, form: type[T] | Form[T], **options: Unpack[SetupOptions[T]]
    ) -> Asking[Answer[Setup[T]]]: ...
    @overload
    def setup(
        self, title: str, form: type[T] | Form[T], *, fallback: F, **options: Unpack[SetupOptions[T]]
    ) -> Asking[Answer[Setup[T]] | Fallback[F]]: ...
    @fits_call
    def setup(
        self,
        title: str,
        form: type[T] | Form[T],
        *,
        secrets: Sequence[SecretField] = (),
        service: str | None = None,
        keep_for: float | None = None,
        check: Callable[[Setup[T]], Any] | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[PageOptions],
    ) -> Asking[Any]:
        """Ask for ordinary fields and for secrets on one page, once: the vault keeps them for the `service`."""
        from handraise.pages import SetupPage

        require_text("title", title)
        require_callable("check", check)
        page = SetupPage(title, Form.of(form), tuple(secrets), service, keep_for, check)
        return _ask_on(page, common, fallback)

    @overload
    def outside(
        self, title: str, url: Callable[[OutsideRequest], str] | str, **options: Unpack[OutsideOptions]
    ) -> Asking[Answer[None]]: ...
    @overload
    def outside(
        self,
        title: str,
        url: Callable[[OutsideRequest], str] | str,
        *,
        fallback: F,
        **options: Unpack[OutsideOptions],
    ) -> Asking[Answer[None] | Fallback[F]]: ...
    @fits_call
    def outside(
        self,
        title: str,
        url: Callable[[OutsideRequest], str] | str,
        *,
        confirm: Callable[[str], Any] | None = None,
        webhook_key: str | bytes | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[PageOptions],
    ) -> Asking[Any]:
        """Send the person to another site, to pay or to sign, and wait until it is done there.

        `confirm` asks the other site when the person is back; with a `webhook_key` the site reports itself.
        """
        from handraise.pages import OutsidePage

        require_text("title", title)
        require_callable("confirm", confirm)
        return _ask_on(OutsidePage(title, url, confirm, webhook_key), common, fallback)

    @overload
    def connect(
        self,
        account: Account,
        *,
        keep_for: float | None = None,
        **common: Unpack[PageOptions],
    ) -> Asking[Answer[Token]]: ...
    @overload
    def connect(
        self,
        account: Account,
        *,
        fallback: F,
        keep_for: float | None = None,
        **common: Unpack[PageOptions],
    ) -> Asking[Answer[Token] | Fallback[F]]: ...
    @fits_call
    def connect(
        self,
        account: Account,
        *,
        keep_for: float | None = None,
        fallback: Any = NO_FALLBACK,
        **common: Unpack[PageOptions],
    ) -> Asking[Any]:
        """Ask the person to connect their account at a service by OAuth. The token comes from the vault if it is there.

        The vault keeps it for this person, for `keep_for` seconds or for good, and it is renewed when it is about
        to expire. The client's own token is not used.
        """
        from handraise.pages.oauth import ConnectPage

        return _ask_on(ConnectPage(account, keep_for), common, fallback)

    @overload
    def page(self, page: Page[R], **common: Unpack[PageOptions]) -> Asking[Answer[R]]: ...
    @overload
    def page(
        self, page: Page[R], *, fallback: F, **common: Unpack[PageOptions]
    ) -> Asking[Answer[R] | Fallback[F]]: ...
    @fits_call
    def page(
        self, page: Page[R], *, fallback: Any = NO_FALLBACK, **common: Unpack[PageOptions]
    ) -> Asking[Any]:
        """Ask on any kind of page."""
        return _ask_on(page, common, fallback)


def _ask_on(page: Page[Any], common: PageOptions, fallback: Any) -> Asking[Any]:
    options = ask_options(common, PageOptions, fallback)
    require_text("message", page.message)
    if_declined = common.get("if_declined")
    reasons = (common.get("because"), f"If you decline: {if_declined}" if if_declined else None)
    why = " ".join(reason for reason in reasons if reason)
    message = f"{page.message}\nWhy: {why}" if why else page.message
    return Asking(PageRequest(page, message, why), options)


_CODE = "If the page asks for a code, type: {}"


@dataclass(frozen=True, slots=True)
class PageRequest(ClientRequest[Answer[R]]):
    """A page of this server: consent to open it, and its completion."""

    mode: ClassVar[Mode] = "url"
    page: Page[R]
    message: str
    why: str = ""
    visit: Visit | None = None
    link: UrlRequest | None = None
    question: UrlQuestion | None = None
    """None before the page has a link."""
    wait: bool = True
    known: Accepted[R] | None = None

    @property
    def content(self) -> object:
        return [self.page.title, self.page.service]

    def require_askable(self) -> None:
        """No-op: our own link is valid."""

    async def remembered(self, call: ServedCall) -> PageRequest[R]:
        """The same page: its visits are found by its fields."""
        return self

    async def is_finished(self, call: ServedCall) -> bool:
        """Whether the person has finished it before. A refusal on the page ends the call, once."""
        if await call.runtime.pages.recall(call.person, self.page) is not None:
            return True
        visits = call.runtime.pages.visits
        last = visits.last(self._required_key(call), call.person)
        if last is None or last.answer is None:
            return False
        visits.forget(last)
        last.answer.or_stop()
        return True

    def _required_key(self, call: ServedCall) -> str:
        """A key that is the same in every call, because the client calls again when the page is finished."""
        return f"required {call.method} {call.params.get('name', '')} {self.content}"

    async def begin(self, call: ServedCall, key: str, timeout: float) -> PageRequest[R]:
        """The contents of the vault, or the page with its link. Without a key, it is a required page."""
        if self.visit is not None or self.known is not None:
            return self
        pages = call.runtime.pages
        if key and (found := await pages.recall(call.person, self.page)) is not None:
            return replace(self, known=Accepted(found))
        if not call.can("url"):
            return self
        key = f"{call.method} {key}" if key else self._required_key(call)
        visit, url = await pages.open(call, self.page, self.why, key, timeout)
        message = self.message if visit.code is None else f"{self.message}\n\n{_CODE.format(visit.code)}"
        link = await UrlRequest(UrlQuestion(message, url, visit.elicitation_id)).begin(call, "", timeout)
        return replace(self, visit=visit, link=link, question=link.question)

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        return self._begun()[1].dump(revision, timeout, again)

    async def read(self, raw: Any, call: ServedCall) -> Answer[R] | Unusable:
        visit, link = self._begun()
        consent = await link.read(raw, call)
        match consent:
            case Declined() | Cancelled():
                call.runtime.pages.visits.withdraw(visit, consent)
                return consent
            case Unusable():
                return consent
        if visit.answer is None:
            raise Expired
        return visit.answer

    def _begun(self) -> tuple[Visit, UrlRequest]:
        assert self.visit is not None
        assert self.link is not None
        return self.visit, self.link


Required = UrlRequest | PageRequest[Any]


class Requirement(Unasked):
    """Pages and links that a call requires. Awaiting it returns when the person has finished all of them."""

    __slots__ = ("_links", "_outgoing", "_timeout")

    def __init__(self, links: Sequence[Required], timeout: float | None) -> None:
        self._used = False
        self._links = links
        self._timeout = timeout
        self._outgoing = OutgoingRequest()

    def __await__(self) -> Generator[Any, None, None]:
        self.use()
        return self._finished(current_call()).__await__()

    def prepare(self) -> Prepared[None]:
        """Ask for missing pages without waiting. Await the result to wait."""
        self.use()
        call = current_call()
        return Prepared(call, self._outgoing.request, self._finished(call), [self._outgoing])

    async def _finished(self, call: ServedCall) -> None:
        """Return when every link is finished; before 2026-07-28 end the call with -32042 instead of waiting."""
        limit = self._timeout or call.runtime.options.timeout
        try:
            async with call.at_question():
                missing = [await link.begin(call, "", limit) for link in await _missing(call, self._links)]
                if missing and call.revision.legacy:
                    raise LinksRequired(await self._listed(call, missing, limit))
                keyed = {call.next_key(link.content): link for link in missing}
                self._outgoing.fill({key: link.dump(call.revision) for key, link in keyed.items()})
            await call.channel.ask_all(
                [partial(_begun, call, link, AskOptions(key, limit)) for key, link in keyed.items()]
            )
        except HandraiseError as error:
            raise call.raisable(error) from error.__cause__

    async def _listed(self, call: ServedCall, missing: Sequence[Required], limit: float) -> dict[str, Any]:
        """The data of the error. The client gets a notice for each finished link."""
        questions = [link.question for link in missing if link.question is not None]
        for question in questions:
            await call.channel.announce(str(question.elicitation_id), time.monotonic() + limit)
        self._outgoing.fill(dump_url_required(questions))
        return self._outgoing.request


async def _begun(
    call: ServedCall, link: Required, options: AskOptions
) -> Callable[[], Coroutine[Any, Any, None]]:
    return partial(_finish, call, link, options)


async def _finish(call: ServedCall, link: Required, options: AskOptions) -> None:
    """Ask for a link. A "no" to one of several ends the wait for all of them."""
    (await ask_until_valid(call, link, options)).or_stop()


async def _missing(call: ServedCall, links: Sequence[Required]) -> list[Required]:
    """The links that the person has not finished, if they can be asked for."""
    known = [await link.remembered(call) for link in links]
    missing = [link for link in known if not await link.is_finished(call)]
    if missing:
        call.require_mode("url")
    for link in missing:
        link.require_askable()
    return missing
