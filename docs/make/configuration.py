"""The configuration reference: every key of `handraise.toml`, every variable, every option of `Handraise`."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from docs.make.markdown import NOTICE, code, table

from handraise import Handraise
from handraise.policy.places import config_directory, data_directory
from handraise.policy.setting_types import Setting
from handraise.policy.settings import SETTINGS

SOURCE: Final = Path(__file__).parents[2] / "src" / "handraise"

VARIABLES: Final = {
    "HANDRAISE_CLIENT_SECRET": "The client secret that belongs to the gateway's `--client-id`.",
    "HANDRAISE_CONFIG": "The configuration file to read, instead of the one in your configuration directory.",
    "HANDRAISE_DESK_SECRET": "The client secret with which a shared gateway signs people in at its desk.",
    "HANDRAISE_GATEWAY_HOLD": "The same as `gateway.hold` in the file; every key of `[gateway]` has a variable.",
    "HANDRAISE_LEDGER": "The ledger's file, instead of the one in your data directory. Servers then keep a ledger too.",
    "HANDRAISE_NODE_URL": "Removed. A server does not start while it is set; use sticky routing.",
    "HANDRAISE_LINES": "Any value: the terminal desk uses plain lines instead of the full screen.",
    "HANDRAISE_STORE": "Where questions are kept: the path of an SQLite file, or a PostgreSQL address.",
    "HANDRAISE_STORE_KEYS": "Keys of a store, separated by spaces. The first key encrypts. All keys decrypt.",
    "HANDRAISE_VAULT_KEY": "The vault's keys, as `handraise vault new-key` prints them, the newest first.",
    "HANDRAISE_VAULT_KEY_FILE": "The file with the vault's keys, one on each line. Nobody else may be able to read it.",
}
"""The purpose of each of our variables."""

OURS_ALONE: Final = {"HANDRAISE_NOTICE"}
"""Variables between our own processes; nobody sets them."""

OTHERS: Final = {
    "XDG_CONFIG_HOME": "On Linux: where the configuration directory is, instead of `~/.config`.",
    "XDG_DATA_HOME": "On Linux: where the data directory is, instead of `~/.local/share`.",
    "NO_COLOR": "Any value: no colours in the terminal.",
    "DISPLAY, WAYLAND_DISPLAY": "Without one of them, Handraise opens no browser and shows no notice, on Linux.",
}
"""The variables of the system that change what Handraise does."""


def configuration_page() -> str:
    """The page."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    meanings = option_meanings()
    yield f"# Configuration\n\n{NOTICE}"
    yield (
        "Look up a setting. Every setting is optional. "
        "[Policy](../policy.md#the-configuration-file) says which file counts.\n"
    )
    yield "## handraise.toml\n"
    for group, settings in groupby(SETTINGS, lambda setting: setting.key.rpartition(".")[0]):
        yield f"### {f'[{group}]' if group else 'At the top'}\n"
        yield table(
            ("key", "default", "accepts", "meaning"),
            (
                (
                    code(setting.key.rpartition(".")[2]),
                    "" if setting.default is None else code(json.dumps(setting.default)),
                    setting.accepts.allowed,
                    setting.meaning + _where(setting),
                )
                for setting in settings
            ),
        )
    yield "*Your own file only*: a file in the working directory may come with a project, so it cannot set this key.\n"
    yield "*In a project's file only lower* (or *higher*) than the default: it may only make things stricter.\n"
    yield "## Directories\n"
    yield "`handraise doctor` names the files that Handraise uses on your computer.\n"
    yield table(("directory", "Linux", "macOS", "Windows"), _directories())
    yield "## Environment variables\n"
    yield table(("variable", "meaning"), ((code(name), meaning) for name, meaning in VARIABLES.items()))
    yield "Variables of the system that Handraise reads:\n"
    yield table(("variable", "meaning"), ((code(name), meaning) for name, meaning in OTHERS.items()))
    yield "## Handraise(…) { #handraise }\n"
    yield "Options of a server that asks; times are in seconds. More: [asking](../asking.md).\n"
    yield table(
        ("option", "default", "meaning"),
        (
            (code(name), code(repr(parameter.default)), meanings.get(name, ""))
            for name, parameter in inspect.signature(Handraise).parameters.items()
        ),
    )


def _directories() -> Iterator[tuple[str, ...]]:
    for name, directory in {
        "configuration: `handraise.toml`": config_directory,
        "data: your rules, the ledger, the gateway's store, passkeys": data_directory,
    }.items():
        places = [directory({"HOME": "~"}, system) for system in ("linux", "darwin", "win32")]
        yield name, *(code(place.as_posix()) for place in places)


def _where(setting: Setting) -> str:
    """Whether a file in the working directory may set it."""
    if setting.own_file_only:
        return " Your own file only."
    return "" if setting.stricter is None else f" In a project's file only {setting.stricter}."


def option_meanings() -> dict[str, str]:
    """The meanings of the options of `Handraise`, from its docstring."""
    words = inspect.getdoc(Handraise) or ""
    return {found[1]: found[2] for found in re.finditer(r"(?m)^- `(\w+)`: ((?:.+\n?(?!- ))+)", words)}


def variables_in_source() -> set[str]:
    """The variables of ours that the code names."""
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    found = set(re.findall(r"\bHANDRAISE_[A-Z_]*[A-Z]\b", text)) - OURS_ALONE
    return {name for name in found if name in VARIABLES or not name.startswith("HANDRAISE_GATEWAY_")}
