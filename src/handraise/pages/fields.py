"""Masked fields for secrets, and the checks of their form."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.desks.language import Language
from handraise.errors import DefinitionError
from handraise.forms.formats import compile_pattern
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
