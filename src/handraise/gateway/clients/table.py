"""The table of known clients in `clients.toml`: their configuration files, and how they ask."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

Syntax = Literal["json", "toml", "by hand"]
Asks = Literal["forms and links", "forms", "nothing"]
_USUAL: Final = (("mcpServers",),)


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A client: its configuration file, the keys in it, and how it asks."""

    id: str
    title: str
    files: Mapping[str, str]
    """By platform, "" for all others. `~` and `%NAME%` are replaced."""
    servers: tuple[tuple[str, ...], ...] = _USUAL
    """Paths to its servers in the file; the first that exists counts."""
    syntax: Syntax = "json"
    url_key: str = "url"
    """Its key for the URL of a server over streamable HTTP."""
    command_key: str = "command"
    inner: str | None = None
    """The member of an entry that contains command and URL, if they are not in the entry itself."""
    also: tuple[str, ...] = ()
    """Other names of its file; the client reads all that exist."""
    one_list: bool = False
    """Whether command and arguments are one list."""
    asks: Asks = "nothing"
    """How it asks: as its documentation says, and in `CLIENTS` as seen when it was run."""
    as_of: str = ""
    """The day of the run, else the month when its documentation was read."""
    source: str = ""
    note: str = ""
    """A hint for the person about how it asks."""
    project_file: str = ""
    """Its file in a project's folder, which may be shared with others."""
    folders: str = ""
    """The member of its file that has servers for single folders."""

    def paths(self) -> tuple[Path, ...]:
        """This user's files that exist; the usual one if none does."""
        raw = self.files.get(sys.platform, self.files[""])
        for name in ("APPDATA", "USERPROFILE", "CODEX_HOME", "XDG_CONFIG_HOME"):
            fallback = _FALLBACKS.get(name, "~")
            raw = raw.replace(f"%{name}%", os.environ.get(name) or fallback)
        home = os.environ.get("USERPROFILE" if sys.platform == "win32" else "HOME") or str(Path.home())
        usual = Path(raw.replace("~", home, 1) if raw.startswith("~") else raw)
        candidates = (usual, *(usual.with_name(name) for name in self.also))
        return tuple(each for each in candidates if each.exists()) or (usual,)

    def in_folder(self, folder: Path) -> list[tuple[KnownClient, Path, bool]]:
        """Its servers for one folder: how to read the file, its path, and whether the file is shared."""
        found: list[tuple[KnownClient, Path, bool]] = []
        if self.folders:
            own = replace(self, servers=((self.folders, str(folder), "mcpServers"),))
            found.append((own, self.paths()[0], False))
        if self.project_file and folder / self.project_file not in self.paths():
            found.append((self, folder / self.project_file, True))
        return found


_FALLBACKS: Final = {"XDG_CONFIG_HOME": "~/.config", "CODEX_HOME": "~/.codex", "APPDATA": "~/AppData/Roaming"}
_HERE: Final = files("handraise.gateway.clients")

RUNS: Final[Mapping[str, Mapping[str, Any]]] = json.loads((_HERE / "runs.json").read_text(encoding="utf-8"))
"""Observations from runs, by client. `make clients RECORD=1` writes them."""


def _known(id: str, told: dict[str, Any]) -> KnownClient:
    """A client of the table, with the observations from its run."""
    told["servers"] = tuple(map(tuple, told.get("servers", _USUAL)))
    told["also"] = tuple(told.get("also", ()))
    if (seen := RUNS.get(id)) is not None:
        told |= {"asks": seen["asks"], "as_of": seen["date"], "note": seen["note"]}
    return KnownClient(id, **told)


CLIENTS: Final[Mapping[str, KnownClient]] = {
    id: _known(id, told)
    for id, told in tomllib.loads((_HERE / "clients.toml").read_text(encoding="utf-8")).items()
}
