"""All settings, every one of them by its key, and which value counts: flag, environment, file or default."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from handraise.errors import SetupError
from handraise.policy.setting import STORE_PLACE, OneOf, Seconds, Setting, SettingType, Switch, setting
from handraise.policy.tables import (
    AskingRule,
    DeskSettings,
    FormSettings,
    GatewaySettings,
    GuardSettings,
    HeadlessSettings,
    LedgerSettings,
    LimitSettings,
    LinkSettings,
    ServerSettings,
    StoreSettings,
)

Preset = Literal["standard", "strict"]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Without a configuration file these defaults hold."""

    preset: Preset = setting(  # noqa: RUF009
        "standard",
        OneOf("standard", "strict"),
        'Where the other defaults come from. "strict" refuses national ids and personal data in forms.',
    )
    default: AskingRule = setting(  # noqa: RUF009
        "allow",
        OneOf("allow", "mute", "block"),
        "Whether a server may ask that no rule names. "
        "With block, the desk says that it tried. With mute, the desk says nothing.",
    )
    forms: FormSettings = field(default=None)  # type: ignore[assignment]  # the preset's, when not given
    links: LinkSettings = field(default_factory=LinkSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    desk: DeskSettings = field(default_factory=DeskSettings)
    headless: HeadlessSettings = field(default_factory=HeadlessSettings)
    ledger: LedgerSettings = field(default_factory=LedgerSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    servers: Mapping[str, ServerSettings] = field(default_factory=lambda: MappingProxyType({}))
    guards: Mapping[str, GuardSettings] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.forms is None:
            object.__setattr__(self, "forms", FORMS_BY_PRESET[self.preset])

    def named(self, server: str, target: str = "") -> ServerSettings | None:
        """The settings for one server, by its configured name or else its target."""
        return self.servers.get(server) or self.servers.get(target)

    def limits_for(self, server: str, target: str = "") -> LimitSettings:
        """The limits of one server."""
        named = self.named(server, target)
        return self.limits if named is None else named.limits

    def unsafe(self) -> tuple[str, ...]:
        """The unsafe switches that are on."""
        return tuple(s.key for s in SETTINGS if ".unsafe_" in s.key and value_of(self, s.key))


GROUPS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "forms": FormSettings,
        "links": LinkSettings,
        "limits": LimitSettings,
        "desk": DeskSettings,
        "headless": HeadlessSettings,
        "ledger": LedgerSettings,
        "gateway": GatewaySettings,
        "store": StoreSettings,
    }
)
FORMS_BY_PRESET: Final[Mapping[Preset, FormSettings]] = MappingProxyType(
    {
        "standard": FormSettings(),
        "strict": FormSettings(national_ids="refuse", personal_data="refuse"),
    }
)
"""The defaults of each preset. The file overrides them."""


def _settings_of(shape: type[Any], prefix: str) -> Iterator[Setting]:
    for each in dataclasses.fields(shape):
        if each.metadata:
            yield Setting(f"{prefix}{each.name}", each.default, **each.metadata)


def _all_settings() -> Iterator[Setting]:
    yield from _settings_of(Settings, "")
    for name, shape in GROUPS.items():
        yield from _settings_of(shape, f"{name}.")
    yield from _settings_of(ServerSettings, "servers.NAME.")
    yield from _settings_of(LimitSettings, "servers.NAME.limits.")
    yield from _settings_of(GuardSettings, "guards.NAME.")


SETTINGS: Final = tuple(_all_settings())
"""Every setting, in the order of the documentation."""


def value_of(settings: Settings, key: str) -> object:
    """The value of a setting by its key, for those that are not about one server."""
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name, None)
    return value


DEFAULT: Final = "default"
_ON_OFF: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_BY_KEY: Final[Mapping[str, Setting]] = {setting.key: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class ChosenValue:
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
) -> ChosenValue:
    """The value in force for a setting. `flag` is None when the command line does not say it.

    SetupError names the flag or the variable whose value cannot be used.
    """
    setting, variable = _BY_KEY[key], variable_of(key)
    if flag is not None:
        return _taken(setting.accepts, flag, flag_of(key))
    if text := environment.get(variable):
        return _taken(setting.accepts, _from_text(setting.accepts, text), variable)
    value = value_of(settings, key)
    return ChosenValue(value, DEFAULT if file is None or value == setting.default else file)


def _taken(accepts: SettingType, value: object, name: str) -> ChosenValue:
    if accepts is STORE_PLACE:  # only a file is read from anywhere, and printed: it wants more
        return ChosenValue(str(value), name)
    try:
        return ChosenValue(accepts.take(value), name)
    except ValueError as error:
        raise SetupError(f"{name}: use {error}") from None


def _from_text(accepts: SettingType, text: str) -> object:
    """An environment variable's text as the setting's type."""
    if isinstance(accepts, Switch):
        return _ON_OFF.get(text.lower(), text)
    if isinstance(accepts, Seconds):
        try:
            return float(text)
        except ValueError:
            return text
    return text
