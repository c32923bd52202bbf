"""The page of a first set-up: ordinary fields and secrets together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from starlette.responses import Response

from handraise.desks.fill import Entries, Filled, fill, read_typed, suggest
from handraise.desks.present import present_fields
from handraise.desks.web.fields import read_entries, view_fields
from handraise.forms import Form, read_answer
from handraise.pages.fields import (
    SecretField,
    SecretView,
    blank,
    find_problem,
    read_secrets,
    require_distinct,
)
from handraise.pages.page import BrowserAtPage
from handraise.questions import Accepted
from handraise.site.middleware import Posted
from handraise.vault import Secret

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Setup(Generic[T_co]):
    """The result of a set-up: the form's own result, and the secrets by name."""

    data: T_co
    secrets: Mapping[str, Secret]
    content: Mapping[str, Any]
    """The form's checked answer."""


@dataclass(frozen=True, slots=True)
class SetupPage(Generic[T]):
    """Asks for the fields of a form and for secrets, on one page."""

    title: str
    form: Form[T]
    secrets: tuple[SecretField, ...] = ()
    service: str | None = None
    keep_for: float | None = None
    check: Callable[[Setup[T]], Any] | None = None
    """Called with the entries while the page is open. A sentence, False or a ValueError asks again."""

    def __post_init__(self) -> None:
        names = [field.name for field in (*self.form.fields, *self.secrets)]
        require_distinct(names)

    @property
    def message(self) -> str:
        return (
            f"{self.title}: please set it up on this server's own page. It does not pass through this client."
        )

    async def show(self, sitting: BrowserAtPage) -> Response:
        return self._page(sitting, suggest(self.form), None, blank(self.secrets))

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[Setup[T]]:
        language = sitting.language
        entries = read_typed(self.form, read_entries(self.form, posted), language).entries
        filled, entered = fill(self.form, entries), read_secrets(self.secrets, posted, language)
        if not filled.sendable or not entered.fits:
            return self._page(sitting, entries, filled, entered.views, 422)
        result = self._result(filled.content, entered.secrets)
        problem = await find_problem(self.check, result, language)
        if problem is not None:
            return self._page(sitting, entries, filled, entered.views, 422, problem)
        return Accepted(result)

    async def step(self, sitting: BrowserAtPage, name: str) -> None:
        return None

    def dump(self, result: Setup[T]) -> Mapping[str, Any]:
        secrets = {name: secret.reveal() for name, secret in result.secrets.items()}
        return {"content": dict(result.content), "secrets": secrets}

    async def recall(self, contents: Mapping[str, Any]) -> Setup[T] | None:
        """The result; None when the page now asks for something else."""
        names = {field.name for field in self.secrets}
        needed = {field.name for field in self.secrets if field.required}
        _, problems = read_answer(self.form, contents["content"])
        if problems or not needed <= set(contents["secrets"]) <= names:
            return None
        secrets = {name: Secret(value) for name, value in contents["secrets"].items()}
        return self._result(contents["content"], secrets)

    def _result(self, content: dict[str, Any], secrets: dict[str, Secret]) -> Setup[T]:
        data: Any
        data, _ = read_answer(self.form, content)
        return Setup(data, MappingProxyType(secrets), content)

    def _page(
        self,
        sitting: BrowserAtPage,
        entries: Entries,
        filled: Filled | None,
        secrets: tuple[SecretView, ...],
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        shown = None if filled is None else Filled(filled.content, filled.problems, ())
        language = sitting.language
        return sitting.render(
            "fields.html",
            status,
            fields=view_fields(
                self.form, present_fields(self.form, language), entries, shown, language=language
            ),
            secrets=secrets,
            problem=problem,
            kept=self.service is not None,
            button=language("save"),
        )
