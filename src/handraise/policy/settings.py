"""Every setting: its name, its default, what it accepts and what it means, in one place.

The configuration file is read by this table, `handraise policy show` prints it, and a test holds the
documentation against it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from handraise.policy.accepts import (
    ArgumentName,
    ArgumentPatterns,
    Choice,
    Command,
    Domains,
    FileName,
    Folders,
    Patterns,
    Seconds,
    Sentence,
    Whole,
)
from handraise.policy.headless import CancelIt, Headless, Park, RunHook
from handraise.policy.serving import GatewaySettings, StoreSettings
from handraise.policy.setting import Setting, setting, unsafe_switch

Asking = Literal["allow", "mute", "block"]
Preset = Literal["standard", "strict"]


@dataclass(frozen=True, slots=True)
class FormSettings:
    """What a form may ask for. Credentials and payment data are always refused."""

    national_ids: Literal["warn", "refuse"] = setting(
        "warn", Choice("warn", "refuse"), "A form that asks for a national id number."
    )
    personal_data: Literal["allow", "warn", "refuse"] = setting(
        "allow",
        Choice("allow", "warn", "refuse"),
        "A form that asks for contact data: e-mail, telephone, address, date of birth, full name.",
    )
    urls_in_text: Literal["warn", "refuse"] = setting(
        "warn",
        Choice("warn", "refuse"),
        "A form whose message, titles, descriptions or options contain a URL.",
    )
    unsafe_credentials: bool = unsafe_switch(
        "Show forms that ask for credentials or payment data, with a warning, instead of refusing them."
    )


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Which links may be offered. Dangerous ones are always refused."""

    doubtful: Literal["warn", "refuse"] = setting(
        "warn", Choice("warn", "refuse"), "A link that has something odd about it, though it may be honest."
    )
    only: tuple[str, ...] = setting(
        (), Domains(), "Refuse links to any other domain than these and their subdomains; empty: any domain."
    )
    brands: tuple[str, ...] = setting(
        (), Domains(), "Domains of your own to protect against imitation, beside the well-known ones."
    )
    unsafe_dangerous: bool = unsafe_switch("Show dangerous links, with a warning, instead of refusing them.")


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How much one server may ask one person."""

    per_call: int = setting(10, Whole(1, 1000), "Questions in one call, over all its rounds.")
    per_round: int = setting(5, Whole(1, 64), "Questions of one call that wait at the same time.")
    per_minute: int = setting(10, Whole(1, 1000), "Questions within any sixty seconds.")
    per_hour: int = setting(60, Whole(1, 10_000), "Questions within any sixty minutes.")
    quiet_after_decline: float = setting(
        5.0,
        Seconds(0, 3600),
        "Seconds for which a server may not ask after a decline; doubled with each further decline in a row, "
        "up to an hour.",
    )


@dataclass(frozen=True, slots=True)
class HeadlessSettings:
    """What happens when nobody sits at a desk."""

    rule: Literal["park", "hook", "cancel"] = setting(
        "park",
        Choice("park", "hook", "cancel"),
        "Keep the question under an id for a later answer, let a command answer it, or cancel it.",
    )
    hook: tuple[str, ...] = setting(
        (),
        Command(),
        "The command that answers: program and arguments, run without a shell.",
        own_file_only=True,
    )
    hook_timeout: float = setting(30.0, Seconds(0.1, 3600), "Seconds after which the command is stopped.")
    reason: str = setting("Nobody is here to answer.", Sentence(), "What is recorded when it is cancelled.")

    def decision(self) -> Headless:
        """The rule as a value to act on."""
        match self.rule:
            case "park":
                return Park()
            case "hook":
                return RunHook(self.hook, self.hook_timeout)
            case "cancel":
                return CancelIt(self.reason)


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """How the record of what was asked and decided is kept. That there is one goes without saying."""

    keep: Literal["none", "message", "fields", "all"] = setting(
        "none",
        Choice("none", "message", "fields", "all"),
        "Which contents are kept, encrypted and erasable: none, what people were asked, what they answered, or both.",
        own_file_only=True,
    )
    checkpoint_file: str = setting(
        "",
        FileName(),
        "A file, best on another disk or machine, to which every signed checkpoint is appended too.",
        own_file_only=True,
    )
    checkpoint_command: tuple[str, ...] = setting(
        (),
        Command(),
        "A command that gets every signed checkpoint on standard input, run without a shell.",
        own_file_only=True,
    )
    unsafe_no_ledger: bool = unsafe_switch("Keep no record of what is asked and decided.")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What one server may do."""

    asking: Asking | None = setting(  # noqa: RUF009
        None,
        Choice("allow", "mute", "block"),
        "Whether this server may ask; without it, `default` says so.",
    )
    roots: tuple[str, ...] = setting(
        (), Folders(), "The folders that `handraise call` lets this server know.", own_file_only=True
    )
    limits: LimitSettings = field(default_factory=LimitSettings)


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """A question in front of the tools of servers behind the gateway."""

    tools: tuple[str, ...] = setting(("*",), Patterns(), "Which tools, by name or pattern.")
    servers: tuple[str, ...] = setting((), Patterns(), "Of which servers, by configured name; empty: of all.")
    hint: Literal["destructive", "writes", "any"] = setting(
        "destructive",
        Choice("destructive", "writes", "any"),
        "Which of them, by what they say about themselves: all but those that say that they destroy nothing, all but "
        "those that say that they only read, or all. A tool that says nothing counts as destructive.",
    )
    arguments: tuple[str, ...] = setting(
        (), ArgumentPatterns(), "Only calls with arguments that match all of these."
    )
    message: str = setting(
        "The model wants to call this tool.", Sentence(), "What you are asked; {count} is filled in."
    )
    count: str = setting(
        "",
        ArgumentName(),
        "The argument that says how much a call is about: how many elements a list has, or a number. "
        "Where it does not say, you are asked all the same.",
    )
    above: int | None = setting(
        None, Whole(0, 1_000_000_000), "Ask only when the count is above this; without it, always."
    )
    typed: str = setting(
        "",
        ArgumentName(),
        'What has to be typed for a yes: "count", or the value of the argument of this name. Empty: nothing.',
    )
    cooldown: float = setting(
        0.0,
        Seconds(0, 86_400),
        "Seconds for which a tool that you declined is refused without asking you again.",
    )


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
