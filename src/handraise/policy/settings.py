"""All settings: the tables of the configuration file, and which value counts: flag, environment, file or default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from handraise.errors import SetupError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.policy.setting_types import (
    ADDRESS,
    ARGUMENT_NAME,
    ARGUMENT_PATTERNS,
    DOMAINS,
    FILE_NAME,
    FOLDERS,
    PATTERNS,
    PROGRAM_COMMAND,
    SENTENCE,
    STORE_PLACE,
    Setting,
    SettingType,
    seconds,
    setting,
    settings_of,
    unsafe_switch,
    whole_number,
)
from handraise.questions import FASTER_THAN_READING


@dataclass(frozen=True, slots=True)
class Park:
    """Keep it under an id, for somebody to answer later."""


@dataclass(frozen=True, slots=True)
class RunHook:
    """Let the user's command answer: the question as JSON on standard input, the answer on standard output."""

    command: tuple[str, ...]
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class CancelIt:
    """Cancel the question, with the reason."""

    reason: str = "Nobody is here to answer."


Headless: TypeAlias = Park | RunHook | CancelIt
"""The fate of a question when nobody is at a desk."""


AskingRule = Literal["allow", "mute", "block"]
_MONTH = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class FormSettings:
    """The data that a form may ask for. Credentials and payment data are always refused."""

    national_ids: Literal["warn", "refuse"] = setting("warn", "A form that asks for a national id number.")
    personal_data: Literal["allow", "warn", "refuse"] = setting(
        "allow", "A form that asks for contact data: e-mail, telephone, address, date of birth, full name."
    )
    doubtful: Literal["allow", "warn", "refuse"] = setting(
        "warn",
        "A form that may be asking for a credential or payment data, but does not say so.",
        own_file_only=True,
    )
    urls_in_text: Literal["warn", "refuse"] = setting(
        "warn", "A form whose message, titles, descriptions or options contain a URL."
    )
    message_bytes: int = setting(
        DEFAULT_LIMITS.message,
        "Bytes of a message. A longer question is not shown.",
        whole_number(1_000, 1024 * 1024),
        stricter="lower",
    )
    fields: int = setting(
        DEFAULT_LIMITS.fields,
        "Fields of a form. A form with more is not shown.",
        whole_number(1, 500),
        stricter="lower",
    )
    options: int = setting(
        DEFAULT_LIMITS.options,
        "Options of a choice. A question with more is not shown.",
        whole_number(2, 20_000),
        stricter="lower",
    )
    unsafe_credentials: bool = unsafe_switch(
        "Show forms that ask for credentials or payment data, with a warning, instead of refusing them."
    )

    def limits(self) -> Limits:
        """Limits for the size of a question. The total fits the largest message with the longest list."""
        whole = max(DEFAULT_LIMITS.bytes, 8 * self.message_bytes, 256 * self.options)
        return replace(
            DEFAULT_LIMITS, bytes=whole, message=self.message_bytes, fields=self.fields, options=self.options
        )


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Which links may be offered. Dangerous ones are always refused."""

    doubtful: Literal["warn", "refuse"] = setting("warn", "A link that looks odd, but may be honest.")
    only: tuple[str, ...] = setting(
        (), "Allow links only to these domains and their subdomains. Empty: any domain.", DOMAINS
    )
    brands: tuple[str, ...] = setting(
        (), "Domains of your own to protect against imitation, beside the well-known ones.", DOMAINS
    )
    unsafe_dangerous: bool = unsafe_switch("Show dangerous links, with a warning, instead of refusing them.")


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How much one server may ask one person."""

    per_call: int = setting(
        10, "Questions in one call, over all its rounds.", whole_number(1, 1000), stricter="lower"
    )
    per_round: int = setting(
        5, "Questions of one call that wait at the same time.", whole_number(1, 64), stricter="lower"
    )
    per_minute: int = setting(
        10, "Questions within any sixty seconds.", whole_number(1, 1000), stricter="lower"
    )
    per_hour: int = setting(
        60, "Questions within any sixty minutes.", whole_number(1, 10_000), stricter="lower"
    )
    quiet_after_decline: float = setting(
        5.0,
        "Seconds for which a server may not ask after a decline. The time doubles with each further decline in a row, "
        "up to an hour.",
        seconds(0, 3600),
        stricter="higher",
    )


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """The proof that the desks want from a person before they take a yes."""

    passkey: tuple[Literal["guards", "typed", "shared"], ...] = setting(
        (),
        "Questions that you can accept only with your passkey, at the web desk. guards: guards, and questions with "
        "only a yes or no. typed: confirmations that you type. shared: all questions at a shared desk.",
    )


@dataclass(frozen=True, slots=True)
class HeadlessSettings:
    """The behaviour when nobody is at a desk."""

    rule: Literal["park", "hook", "cancel"] = setting(
        "park", "Keep the question under an id for a later answer, let a command answer it, or cancel it."
    )
    hook: tuple[str, ...] = setting(
        (),
        "The command that answers: program and arguments, run without a shell.",
        PROGRAM_COMMAND,
        own_file_only=True,
    )
    hook_timeout: float = setting(30.0, "Seconds after which the command is stopped.", seconds(0.1, 3600))
    reason: str = setting(
        "Nobody is here to answer.", "With cancel: the reason that the ledger records.", SENTENCE
    )

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
    """How the record of what was asked and decided is kept. The ledger is always on."""

    keep: Literal["none", "message", "fields", "all"] = setting(
        "none",
        "The contents to keep, encrypted and erasable: none, the question's message, the answer's fields, or both.",
        own_file_only=True,
    )
    checkpoint_file: str = setting(
        "",
        "A file that gets every signed checkpoint too. Choose one on another disk or machine.",
        FILE_NAME,
        own_file_only=True,
    )
    checkpoint_command: tuple[str, ...] = setting(
        (),
        "A command that gets every signed checkpoint on standard input, run without a shell.",
        PROGRAM_COMMAND,
        own_file_only=True,
    )
    unsafe_no_ledger: bool = unsafe_switch("Keep no record of what is asked and decided.")


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """How `handraise gateway` serves its client."""

    desk: Literal["auto", "always", "none"] = setting(
        "auto",
        "When to ask at our desk: if the client does not ask (auto), always, or never (none).",
        own_file_only=True,
    )
    hold: float = setting(
        45.0, "Seconds for which the gateway holds a call before it parks it.", seconds(0, 3600)
    )
    wait: float = setting(86400.0, "Seconds for which a question waits for you.", seconds(0, _MONTH))
    grace: float = setting(
        600.0,
        "Seconds for which you can still answer at our desk after the client cancelled the call.",
        seconds(0, 86400),
        stricter="lower",
    )
    too_fast: float = setting(
        FASTER_THAN_READING,
        "If the client declines within so many seconds, nobody can have read the question. Then our desk asks you. "
        "0: never.",
        seconds(0, 60),
        own_file_only=True,
    )
    browser: bool = setting(False, "Open the desk in your browser when the first question comes.")
    notify: bool = setting(True, "Show a desktop notice that names the server when a question comes.")
    http: str = setting(
        "",
        "Serve clients over streamable HTTP here, at /mcp. A gateway that a client starts then needs `--stdio`.",
        ADDRESS,
        own_file_only=True,
    )
    sessions: int = setting(
        8,
        "How many sessions one person may have at once over HTTP; each has server processes of its own.",
        whole_number(1, 1000),
        stricter="lower",
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where what waits is kept."""

    url: str = setting(
        "",
        "The store of the gateway and of `handraise store`; empty: a file in your data directory.",
        STORE_PLACE,
        own_file_only=True,
    )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of one server."""

    asking: AskingRule | None = setting(  # noqa: RUF009
        None, "Whether this server may ask. Without it, `default` decides."
    )
    roots: tuple[str, ...] = setting(
        (), "The folders that `handraise call` names to this server as roots.", FOLDERS, own_file_only=True
    )
    limits: LimitSettings = field(default_factory=LimitSettings)


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """A question in front of the tools of servers behind the gateway."""

    tools: tuple[str, ...] = setting(("*",), "The tools, by name or pattern.", PATTERNS)
    servers: tuple[str, ...] = setting(
        (), "Their servers, by configured name or pattern; empty: all servers.", PATTERNS
    )
    hint: Literal["destructive", "writes", "any"] = setting(
        "destructive",
        "Which tools the guard covers, by their own hints. any: all. writes: not those that say that they only read. "
        "destructive: also not those that say that they destroy nothing. A tool without hints counts as destructive.",
    )
    arguments: tuple[str, ...] = setting(
        (), "Only calls whose arguments match all of these.", ARGUMENT_PATTERNS
    )
    message: str = setting(
        "The model wants to call this tool.", "The question for you; {count} is filled in.", SENTENCE
    )
    count: str = setting(
        "",
        "The argument with the count: a number, or a list, whose elements count. Without it in a call, the guard asks.",
        ARGUMENT_NAME,
    )
    above: int | None = setting(
        None, "Ask only when the count is above this; without it, always.", whole_number(0, 1_000_000_000)
    )
    typed: str = setting(
        "",
        'The text to type for a yes: "count", or the value of the argument of this name. Empty: nothing.',
        ARGUMENT_NAME,
    )
    cooldown: float = setting(
        0.0,
        "Seconds for which a tool that you declined is refused without asking you again.",
        seconds(0, 86_400),
    )


Preset = Literal["standard", "strict"]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Without a configuration file these defaults hold."""

    preset: Preset = setting(  # noqa: RUF009
        "standard",
        'The set of defaults. "strict" refuses national ids and personal data in forms.',
    )
    default: AskingRule = setting(  # noqa: RUF009
        "allow",
        "What happens when a server asks and no rule names it. "
        "block: refused, and the desk says that it tried. mute: refused, and the desk says nothing.",
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


def _all_settings() -> Iterator[Setting]:
    yield from settings_of(Settings, "")
    for name, shape in GROUPS.items():
        yield from settings_of(shape, f"{name}.")
    yield from settings_of(ServerSettings, "servers.NAME.")
    yield from settings_of(LimitSettings, "servers.NAME.limits.")
    yield from settings_of(GuardSettings, "guards.NAME.")


SETTINGS: Final = tuple(_all_settings())
"""Every setting, in the order of the documentation."""


def value_of(settings: Settings, key: str) -> object:
    """The value of a setting by its key, for those that are not about one server."""
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name, None)
    return value


DEFAULT: Final = "default"
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
        return _taken(setting.accepts, setting.accepts.read(text), variable)
    value = value_of(settings, key)
    return ChosenValue(value, DEFAULT if file is None or value == setting.default else file)


def _taken(accepts: SettingType, value: object, name: str) -> ChosenValue:
    if accepts is STORE_PLACE:  # only a file is read from anywhere, and printed: it wants more
        return ChosenValue(str(value), name)
    try:
        return ChosenValue(accepts.take(value), name)
    except ValueError as error:
        raise SetupError(f"{name}: use {error}") from None
