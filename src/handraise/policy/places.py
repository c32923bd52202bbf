"""Where this user's files and databases are.

It loads nothing else, since a gateway looks here before it has started.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFIG_NAME: Final = "handraise.toml"


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """A kind of database that holds a store."""

    name: str
    schemes: tuple[str, ...]
    """The schemes of its URLs; messages use the first one."""
    module: str
    store: str
    """The store's class in the module. `stores.named_store` imports it when it is needed: its driver is an extra."""


DATABASES: Final = (
    DatabaseKind("PostgreSQL", ("postgresql", "postgres"), "handraise.stores.postgres", "PostgresStore"),
)
"""A new kind of store is one line here."""
DATABASE_URLS: Final = " or ".join(f"{kind.schemes[0]}://…" for kind in DATABASES)
"""The URLs of databases, as messages name them."""


def database_of(where: str | os.PathLike[str]) -> DatabaseKind | None:
    """The database that a URL names; None for anything else, like the path of a file."""
    scheme, is_url, _ = where.partition("://") if isinstance(where, str) else ("", "", "")
    return next((kind for kind in DATABASES if is_url and scheme in kind.schemes), None)


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
    """A user directory: from a variable, else the default of the system."""
    if platform == "darwin":
        return _home(environment) / "Library/Application Support/handraise"
    return _place(environment, *(windows if platform == "win32" else elsewhere))


def _place(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """The directory from a variable. A relative path is ignored, as XDG demands."""
    named = environment.get(variable, "")
    return (Path(named) if Path(named).is_absolute() else _home(environment) / otherwise) / "handraise"


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(named) if named else Path.home()
