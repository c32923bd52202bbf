"""The pages on which a person enters something: a secret (an API key, a password, a card), or a first set-up."""

from __future__ import annotations

import asyncio
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from starlette.responses import Response

from handraise.desks.fill import Entries, Filled, fill, read_typed, suggest
from handraise.desks.language import Language
from handraise.desks.present import present_fields
from handraise.desks.web.fields import read_entries, view_fields
from handraise.errors import DefinitionError
from handraise.forms import Form, read_answer
from handraise.forms.formats import compile_pattern
from handraise.pages.page import BrowserAtPage
from handraise.questions import Accepted
from handraise.site.middleware import Posted, first
from handraise.vault import Secret

_MOST = 100_000


@dataclass(frozen=True, slots=True)
class SecretField:
    """One masked field. `hint` says what it looks like ("starts with ghp_"), never an example that works."""

    name: str
    title: str | None = None
    description: str | None = None
    hint: str | None = None
    required: bool = True
    min_length: int = 1
    max_length: int = 10_000
    pattern: str | None = None
    """A regular expression that the whole secret has to match, on a linear-time engine."""
    multiline: bool = False
    """For keys of several lines."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length <= _MOST:
            raise DefinitionError(f"{self.name}: lengths go from 1 to {_MOST}, the smaller one first")
        if self.pattern is not None:
            try:
                compile_pattern(f"^(?:{self.pattern})$")
            except ValueError as error:
                raise DefinitionError(f"{self.name}: the pattern: {error}") from None

    @property
    def label(self) -> str:
        """The label above it."""
        return self.title or self.name

    def problem(self, value: str, language: Language) -> str | None:
        """Why a value cannot be right, in words that do not repeat it."""
        if not value:
            return language("problem_required") if self.required else None
        if len(value) < self.min_length:
            return language("secret_too_short", count=len(value), least=language.number(self.min_length))
        if len(value) > self.max_length:
            return language("secret_too_long", count=len(value), most=language.number(self.max_length))
        if self.pattern is not None and not compile_pattern(f"^(?:{self.pattern})$")(value):
            return f"{language('secret_odd')} {self.hint or language('secret_look_again')}"
        return None


@dataclass(frozen=True, slots=True)
class SecretView:
    """A field for the browser. The entered value is never shown again."""

    id: str
    field: SecretField
    problem: str | None = None

    @property
    def hint(self) -> str:
        """What it looks like, unless the problem says the same."""
        hint = self.field.hint or ""
        return "" if hint in (self.problem or "") else hint

    @property
    def described_by(self) -> str:
        """The ids of its texts for screen readers, problems first."""
        parts = {"problem": self.problem, "about": self.field.description, "hint": self.hint}
        return " ".join(f"{self.id}-{part}" for part, there in parts.items() if there)


@dataclass(frozen=True, slots=True)
class EnteredSecrets:
    """The values entered into fields for secrets."""

    secrets: dict[str, Secret] = field(repr=False)
    views: tuple[SecretView, ...]

    @property
    def fits(self) -> bool:
        """Whether there is nothing to correct."""
        return not any(view.problem for view in self.views)


def blank(fields: Sequence[SecretField]) -> tuple[SecretView, ...]:
    """The fields before anything was entered."""
    return tuple(SecretView(f"s{at}", one) for at, one in enumerate(fields))


def read_secrets(fields: Sequence[SecretField], posted: Posted, language: Language) -> EnteredSecrets:
    """The entered values, without surrounding blanks from copying."""
    secrets: dict[str, Secret] = {}
    views = []
    for at, one in enumerate(fields):
        value = first(posted, f"s{at}").replace("\r\n", "\n").strip()
        views.append(SecretView(f"s{at}", one, one.problem(value, language)))
        if value:
            secrets[one.name] = Secret(value)
    return EnteredSecrets(secrets, tuple(views))


def require_distinct(names: Sequence[str]) -> None:
    """Refuse two fields of one name."""
    if not names or len(set(names)) != len(names):
        raise DefinitionError("a page needs fields, each with a name of its own")


def _are_still_asked_for(fields: Sequence[SecretField], names: Iterable[str]) -> bool:
    """Whether kept secrets with these names are those that a page asks for now."""
    needed = {field.name for field in fields if field.required}
    return needed <= set(names) <= {field.name for field in fields}


logger = logging.getLogger(__name__)

_PATIENCE: Final = 20.0


async def find_problem(check: Callable[[Any], Any] | None, value: Any, language: Language) -> str | None:
    """Why the author's function refuses a value: a sentence, False, or a ValueError. None when it accepts.

    Other errors are logged by class only: an error's text may repeat the secret.
    """
    if check is None:
        return None
    try:
        async with asyncio.timeout(_PATIENCE):
            verdict = check(value)
            if inspect.isawaitable(verdict):
                verdict = await verdict
    except ValueError as error:
        return str(error) or language("page_not_taken")
    except Exception as error:  # noqa: BLE001 - the author's code; the person gets a sentence
        logger.warning("a check of what was entered on a page failed: %s", type(error).__name__)
        return language("page_not_checked")
    if verdict is None or verdict is True:
        return None
    return verdict if isinstance(verdict, str) else language("page_not_taken")


P = TypeVar("P")
R = TypeVar("R", Secret, Mapping[str, Secret])
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ONE = "secret"
"""The name of the field of a page that asks for one secret."""
_NO_FORM: Final = Form.by_hand()


class _EntryPage(ABC, Generic[P]):
    """A page on which a person enters the fields of a form and secrets. `P` is its result."""

    __slots__ = ()

    service: str | None
    check: Callable[[P], Any] | None

    @property
    @abstractmethod
    def _asked(self) -> tuple[Form[Any], tuple[SecretField, ...]]:
        """What is entered: a form, and secrets."""

    @abstractmethod
    def _result(self, content: dict[str, Any], secrets: dict[str, Secret]) -> P:
        """The result, from the checked answer to the form and the secrets."""

    async def show(self, sitting: BrowserAtPage) -> Response:
        form, secrets = self._asked
        return self._page(sitting, suggest(form), None, blank(secrets))

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[P]:
        (form, secrets), language = self._asked, sitting.language
        entries = read_typed(form, read_entries(form, posted), language).entries
        filled, entered = fill(form, entries), read_secrets(secrets, posted, language)
        if not filled.sendable or not entered.fits:
            return self._page(sitting, entries, filled, entered.views, 422)
        result = self._result(filled.content, entered.secrets)
        problem = await find_problem(self.check, result, language)
        if problem is not None:
            return self._page(sitting, entries, filled, entered.views, 422, problem)
        return Accepted(result)

    async def step(self, sitting: BrowserAtPage, name: str) -> None:
        return None

    def _page(
        self,
        sitting: BrowserAtPage,
        entries: Entries,
        filled: Filled | None,
        secrets: tuple[SecretView, ...],
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        form, language = self._asked[0], sitting.language
        shown = None if filled is None else Filled(filled.content, filled.problems, ())
        return sitting.render(
            "fields.html",
            status,
            fields=view_fields(form, present_fields(form, language), entries, shown, language=language),
            secrets=secrets,
            problem=problem,
            kept=self.service is not None,
            button=language("send" if form is _NO_FORM and self.service is None else "save"),
        )


@dataclass(frozen=True, slots=True)
class SecretPage(_EntryPage[R]):
    """Asks for one secret, or with several `fields` for a mapping of secrets by name."""

    title: str
    fields: tuple[SecretField, ...]
    service: str | None = None
    keep_for: float | None = None
    check: Callable[[R], Any] | None = None
    """Called with the entries while the page is open. A sentence, False or a ValueError asks again."""

    def __post_init__(self) -> None:
        require_distinct([field.name for field in self.fields])

    @property
    def message(self) -> str:
        return (
            f"{self.title}: please enter it on this server's own page. It does not pass through this client."
        )

    def dump(self, result: R) -> Mapping[str, Any]:
        if isinstance(result, Secret):
            return {ONE: result.reveal()}
        return {name: secret.reveal() for name, secret in result.items()}

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result; None when the page now asks for something else."""
        if not _are_still_asked_for(self.fields, contents):
            return None
        return self._result({}, {name: Secret(value) for name, value in contents.items()})

    @property
    def _asked(self) -> tuple[Form[Any], tuple[SecretField, ...]]:
        return _NO_FORM, self.fields

    def _result(self, content: dict[str, Any], secrets: dict[str, Secret]) -> R:
        alone = [field.name for field in self.fields] == [ONE]
        return secrets[ONE] if alone else MappingProxyType(secrets)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Setup(Generic[T_co]):
    """The result of a set-up: the form's own result, and the secrets by name."""

    data: T_co
    secrets: Mapping[str, Secret]
    content: Mapping[str, Any]
    """The form's checked answer."""


@dataclass(frozen=True, slots=True)
class SetupPage(_EntryPage[Setup[T]], Generic[T]):
    """Asks for the fields of a form and for secrets, on one page."""

    title: str
    form: Form[T]
    secrets: tuple[SecretField, ...] = ()
    service: str | None = None
    keep_for: float | None = None
    check: Callable[[Setup[T]], Any] | None = None
    """Called with the entries while the page is open. A sentence, False or a ValueError asks again."""

    def __post_init__(self) -> None:
        require_distinct([field.name for field in (*self.form.fields, *self.secrets)])

    @property
    def message(self) -> str:
        return (
            f"{self.title}: please set it up on this server's own page. It does not pass through this client."
        )

    def dump(self, result: Setup[T]) -> Mapping[str, Any]:
        secrets = {name: secret.reveal() for name, secret in result.secrets.items()}
        return {"content": dict(result.content), "secrets": secrets}

    async def recall(self, contents: Mapping[str, Any]) -> Setup[T] | None:
        """The result; None when the page now asks for something else."""
        _, problems = read_answer(self.form, contents["content"])
        if problems or not _are_still_asked_for(self.secrets, contents["secrets"]):
            return None
        secrets = {name: Secret(value) for name, value in contents["secrets"].items()}
        return self._result(contents["content"], secrets)

    @property
    def _asked(self) -> tuple[Form[Any], tuple[SecretField, ...]]:
        return self.form, self.secrets

    def _result(self, content: dict[str, Any], secrets: dict[str, Secret]) -> Setup[T]:
        data: Any
        data, _ = read_answer(self.form, content)
        return Setup(data, MappingProxyType(secrets), content)
