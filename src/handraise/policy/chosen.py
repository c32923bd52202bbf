"""Which value of an option counts: the one on the command line, else the environment's, the file's, the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from handraise.errors import SetupError
from handraise.policy.accepts import Accepts, Seconds, StorePlace, Switch
from handraise.policy.setting import Setting
from handraise.policy.settings import SETTINGS, Settings, value_of

DEFAULT: Final = "default"
_ON_OFF: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_BY_KEY: Final[Mapping[str, Setting]] = {setting.key: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A value, and who said so."""

    value: Any
    by: str
    """A flag, a variable of the environment, a file, or the default."""


def variable_of(key: str) -> str:
    """The variable of the environment that says the same as a setting."""
    return "HANDRAISE_STORE" if key == "store.url" else f"HANDRAISE_{key.upper().replace('.', '_')}"


def flag_of(key: str) -> str:
    """The flag of the command line that says the same as a setting."""
    return "--store" if key == "store.url" else f"--{key.rpartition('.')[2]}"


def choose(
    key: str, flag: object, environment: Mapping[str, str], settings: Settings, file: str | None
) -> Chosen:
    """What counts for a setting. `flag` is None when the command line does not say it.

    SetupError names the flag or the variable whose value cannot be used.
    """
    setting, variable = _BY_KEY[key], variable_of(key)
    if flag is not None:
        return _taken(setting.accepts, flag, flag_of(key))
    if text := environment.get(variable):
        return _taken(setting.accepts, _from_text(setting.accepts, text), variable)
    value = value_of(settings, key)
    return Chosen(value, DEFAULT if file is None or value == setting.default else file)


def _taken(accepts: Accepts, value: object, name: str) -> Chosen:
    if isinstance(accepts, StorePlace):  # only a file is read from anywhere, and printed: it wants more
        return Chosen(str(value), name)
    try:
        return Chosen(accepts.take(value), name)
    except ValueError as error:
        raise SetupError(f"{name}: use {error}") from None


def _from_text(accepts: Accepts, text: str) -> object:
    """What the environment can only say as a text."""
    if isinstance(accepts, Switch):
        return _ON_OFF.get(text.lower(), text)
    if isinstance(accepts, Seconds):
        try:
            return float(text)
        except ValueError:
            return text
    return text
