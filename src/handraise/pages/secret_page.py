"""The page on which a secret is entered: an API key, a password, a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from starlette.responses import Response

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

R = TypeVar("R", Secret, Mapping[str, Secret])

ONE = "secret"
"""The name of the field of a page that asks for one secret."""


@dataclass(frozen=True, slots=True)
class SecretPage(Generic[R]):
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

    async def show(self, sitting: BrowserAtPage) -> Response:
        return self._page(sitting, blank(self.fields))

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[R]:
        entered = read_secrets(self.fields, posted, sitting.language)
        if not entered.fits:
            return self._page(sitting, entered.views, 422)
        result = self._result(entered.secrets)
        problem = await find_problem(self.check, result, sitting.language)
        if problem is not None:
            return self._page(sitting, entered.views, 422, problem)
        return Accepted(result)

    async def step(self, sitting: BrowserAtPage, name: str) -> None:
        return None

    def dump(self, result: R) -> Mapping[str, Any]:
        if isinstance(result, Secret):
            return {ONE: result.reveal()}
        return {name: secret.reveal() for name, secret in result.items()}

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result; None when the page now asks for something else."""
        names = {field.name for field in self.fields}
        needed = {field.name for field in self.fields if field.required}
        if not needed <= set(contents) <= names:
            return None
        return self._result({name: Secret(value) for name, value in contents.items()})

    def _result(self, secrets: dict[str, Secret]) -> R:
        alone = [field.name for field in self.fields] == [ONE]
        return secrets[ONE] if alone else MappingProxyType(secrets)  # type: ignore[return-value]

    def _page(
        self,
        sitting: BrowserAtPage,
        views: tuple[SecretView, ...],
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        return sitting.render(
            "fields.html",
            status,
            fields=(),
            secrets=views,
            problem=problem,
            kept=self.service is not None,
            button=sitting.language("save" if self.service else "send"),
        )
