"""All settings together, and every one of them by its key.

The configuration file is read by this table, `handraise policy show` prints it, and a test holds the
documentation against it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from handraise.policy.accepts import Choice
from handraise.policy.setting import Setting, setting
from handraise.policy.tables import (
    Asking,
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
        Choice("standard", "strict"),
        'Where the other defaults come from. "strict" refuses national ids and personal data in forms.',
    )
    default: Asking = setting(  # noqa: RUF009
        "allow",
        Choice("allow", "mute", "block"),
        "Whether servers may ask that no rule names. "
        "Mute refuses without a word at the desk, block says that one tried.",
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
        """What is set for one server, by its configured name or else its target."""
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
"""What a preset makes of the defaults. What the file says itself goes before."""


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
