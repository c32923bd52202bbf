"""The part of `ask` that is answered on a page: secrets, a set-up, an account, a task on another site."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, overload

from handraise.forms import Form
from handraise.questions import Answer, Fallback
from handraise.server.asking import Asking
from handraise.server.page_requests import PageRequest
from handraise.server.question_arguments import NO_FALLBACK, ask_options, require_callable, require_text
from handraise.server.served import fits_call
from handraise.vault import Secret

if TYPE_CHECKING:
    from handraise.pages import OutsideRequest, Page, SecretField, Setup
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
