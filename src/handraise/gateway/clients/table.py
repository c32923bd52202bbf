"""The table of known clients: their configuration files, and how they ask."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

Syntax = Literal["json", "toml", "by hand"]
Asks = Literal["forms and links", "forms", "nothing"]


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A client: its configuration file, the keys in it, and how it asks."""

    id: str
    title: str
    files: Mapping[str, str]
    """By platform, "" for all others. `~` and `%NAME%` are replaced."""
    servers: tuple[tuple[str, ...], ...]
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
_MCP_SERVERS: Final = (("mcpServers",),)


def _in_user_data(folder: str, file: str) -> dict[str, str]:
    return {
        "darwin": f"~/Library/Application Support/{folder}/{file}",
        "win32": f"%APPDATA%/{folder}/{file}",
        "": f"%XDG_CONFIG_HOME%/{folder}/{file}",
    }


RUNS: Final[Mapping[str, Mapping[str, Any]]] = json.loads(
    (files("handraise.gateway.clients") / "runs.json").read_text(encoding="utf-8")
)
"""Observations from runs, by client. `make clients RECORD=1` writes them."""


def _as_seen(client: KnownClient) -> KnownClient:
    """A client with the observations from its run."""
    seen = RUNS.get(client.id)
    if seen is None:
        return client
    return replace(client, asks=seen["asks"], as_of=seen["date"], note=seen["note"])


CLIENTS: Final[Mapping[str, KnownClient]] = {
    client.id: _as_seen(client)
    for client in (
        KnownClient(
            "claude-desktop",
            "Claude Desktop",
            _in_user_data("Claude", "claude_desktop_config.json"),
            _MCP_SERVERS,
            as_of="2026-11",
            source="https://modelcontextprotocol.io/clients",
            note="It gives a call about 60 seconds.",
        ),
        KnownClient(
            "claude-code",
            "Claude Code",
            {"": "~/.claude.json"},
            _MCP_SERVERS,
            source="https://code.claude.com/docs/en/mcp",
            project_file=".mcp.json",
            folders="projects",
        ),
        KnownClient(
            "cursor",
            "Cursor",
            {"": "~/.cursor/mcp.json"},
            _MCP_SERVERS,
            asks="forms",
            as_of="2026-11",
            source="https://cursor.com/docs/context/mcp",
            project_file=".cursor/mcp.json",
        ),
        KnownClient(
            "vscode",
            "VS Code",
            _in_user_data("Code", "User/mcp.json"),
            (("servers",),),
            asks="forms and links",
            as_of="2026-11",
            source="https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
            note='Its "Cancel" is sent as a decline, and "None" on an optional yes-or-no as no.',
            project_file=".vscode/mcp.json",
        ),
        KnownClient(
            "codex",
            "Codex",
            {"": "%CODEX_HOME%/config.toml"},
            (("mcp_servers",),),
            syntax="toml",
            source="https://developers.openai.com/codex/mcp",
        ),
        KnownClient(
            "gemini-cli",
            "Gemini CLI",
            {"": "~/.gemini/settings.json"},
            _MCP_SERVERS,
            url_key="httpUrl",
            source="https://geminicli.com/docs/tools/mcp-server",
            project_file=".gemini/settings.json",
        ),
        KnownClient(
            "zed",
            "Zed",
            {"win32": "%APPDATA%/Zed/settings.json", "": "~/.config/zed/settings.json"},
            (("context_servers",),),
            as_of="2026-11",
            source="https://zed.dev/docs/ai/mcp",
        ),
        KnownClient(
            "windsurf",
            "Windsurf",
            {"": "~/.codeium/windsurf/mcp_config.json"},
            _MCP_SERVERS,
            url_key="serverUrl",
            as_of="2026-11",
            source="https://docs.windsurf.com/windsurf/cascade/mcp",
        ),
        KnownClient(
            "opencode",
            "opencode",
            {"": "%XDG_CONFIG_HOME%/opencode/opencode.json"},
            (("mcp", "servers"), ("mcp",)),
            one_list=True,
            also=("opencode.jsonc", "config.json"),
            source="https://opencode.ai/docs/mcp-servers",
        ),
        KnownClient(
            "goose",
            "goose",
            {"win32": "%APPDATA%/Block/goose/config/config.yaml", "": "~/.config/goose/config.yaml"},
            (("extensions",),),
            syntax="by hand",
            command_key="cmd",
            url_key="uri",
            source="https://block.github.io/goose/docs/guides/config-files",
        ),
        KnownClient(
            "copilot-cli",
            "Copilot CLI",
            {"": "~/.copilot/mcp-config.json"},
            _MCP_SERVERS,
            source="https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
        ),
        KnownClient(
            "qwen-code",
            "Qwen Code",
            {"": "~/.qwen/settings.json"},
            _MCP_SERVERS,
            url_key="httpUrl",
            source="https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
            project_file=".qwen/settings.json",
        ),
        KnownClient(
            "cline",
            "Cline CLI",
            {"": "~/.cline/data/settings/cline_mcp_settings.json"},
            _MCP_SERVERS,
            inner="transport",
            source="https://docs.cline.bot/mcp/configuring-mcp-servers",
        ),
        KnownClient(
            "kilo",
            "Kilo",
            {"": "%XDG_CONFIG_HOME%/kilo/kilo.json"},
            (("mcp",),),
            one_list=True,
            also=("kilo.jsonc", "opencode.json", "opencode.jsonc", "config.json"),
            source="https://kilo.ai/docs/automate/mcp/using-in-kilo-code",
        ),
        KnownClient(
            "continue",
            "Continue",
            {"": "~/.continue/config.yaml"},
            _MCP_SERVERS,
            syntax="by hand",
            source="https://docs.continue.dev/customize/deep-dives/mcp",
        ),
    )
}
