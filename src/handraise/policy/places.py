"""Where this user's files are, found without loading anything else: a gateway looks before it has started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFIG_NAME: Final = "handraise.toml"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The configuration file that counts."""

    path: Path
    own: bool
    """False when it was found in the working directory: it may be part of somebody else's project."""


def find_config(environment: Mapping[str, str], directory: Path) -> ConfigFile | None:
    """The file that HANDRAISE_CONFIG names, else the user's own, else the one in the working directory.

    The user's own goes first, so that a project that somebody cloned cannot replace it.
    """
    if named := environment.get("HANDRAISE_CONFIG"):
        return ConfigFile(Path(named).expanduser(), own=True)
    own = config_directory(environment) / CONFIG_NAME
    if own.is_file():
        return ConfigFile(own, own=True)
    found = directory / CONFIG_NAME
    return ConfigFile(found, own=False) if found.is_file() else None


def config_directory(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the user's configuration is."""
    windows, elsewhere = ("APPDATA", "AppData/Roaming"), ("XDG_CONFIG_HOME", ".config")
    return _directory(environment, platform, windows, elsewhere)


def data_directory(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the user's own rules, ledger and store are."""
    windows, elsewhere = ("LOCALAPPDATA", "AppData/Local"), ("XDG_DATA_HOME", ".local/share")
    return _directory(environment, platform, windows, elsewhere)


def _directory(
    environment: Mapping[str, str], platform: str, windows: tuple[str, str], elsewhere: tuple[str, str]
) -> Path:
    """The variable that may name a place and what it is otherwise, on Windows and elsewhere; macOS has one place."""
    if platform == "darwin":
        return _home(environment) / "Library/Application Support/handraise"
    return _place(environment, *(windows if platform == "win32" else elsewhere))


def _place(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """The specification of XDG: a relative path in the variable is to be ignored."""
    named = environment.get(variable, "")
    return (Path(named) if Path(named).is_absolute() else _home(environment) / otherwise) / "handraise"


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(named) if named else Path.home()
