"""How each client is pointed at a model and a server, and started without a person at its terminal."""

from __future__ import annotations

from pathlib import Path

from tests.clients.install import load_pins
from tests.clients.session import SERVER, Driver, Launch, Place
from tests.clients.stand_in import MODEL

PROMPT = "Please follow your script."
PINS = load_pins()


def gemini_cli(place: Place) -> Launch:
    limit = {} if place.seconds is None else {"timeout": int(place.seconds * 1000)}
    place.write(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": {SERVER: {**place.server(url_key="httpUrl"), "trust": True, **limit}},
        },
    )
    program = PINS["gemini-cli"].modules / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    return Launch(
        ["node", program, "--model", "gemini-2.5-pro", "--yolo", "--prompt", PROMPT],
        {
            "GOOGLE_GEMINI_BASE_URL": place.model,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    )


def _opencode_settings(place: Place) -> dict[str, object]:
    server: dict[str, object] = {"type": "local", "command": place.command, "enabled": True}
    if place.url:
        server = {"type": "remote", "url": place.url, "enabled": True}
    if place.seconds is not None:
        server["timeout"] = int(place.seconds * 1000)
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": f"local/{MODEL}",
        "small_model": f"local/{MODEL}",
        "provider": {
            "local": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "local",
                "options": {"baseURL": f"{place.model}/v1", "apiKey": "none"},
                "models": {MODEL: {"name": MODEL}},
            }
        },
        "mcp": {SERVER: server},
    }


def opencode(place: Place) -> Launch:
    place.write(".config/opencode/opencode.json", _opencode_settings(place))
    program = PINS["opencode"].modules / "opencode-linux-x64" / "bin" / "opencode"
    return Launch(
        [program, "run", PROMPT],
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
    )


def kilo(place: Place) -> Launch:
    place.write(".config/kilo/kilo.json", _opencode_settings(place))
    program = PINS["kilo"].modules / "@kilocode" / "cli-linux-x64" / "bin" / "kilo"
    switches = (
        "DISABLE_AUTOUPDATE",
        "DISABLE_MODELS_FETCH",
        "DISABLE_LSP_DOWNLOAD",
        "DISABLE_DEFAULT_PLUGINS",
    )
    off = {f"KILO_{name}": "1" for name in switches} | {"KILO_TELEMETRY_LEVEL": "off"}
    return Launch([program, "run", "--auto", PROMPT], off)


def qwen(place: Place) -> Launch:
    limit = {} if place.seconds is None else {"timeout": int(place.seconds * 1000)}
    place.write(
        ".qwen/settings.json",
        {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "tools": {"toolSearch": {"enabled": False}},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": {
                SERVER: {
                    **place.server(url_key="httpUrl"),
                    "trust": True,
                    "discoveryTimeoutMs": 60_000,
                    **limit,
                }
            },
        },
    )
    program = PINS["qwen-code"].modules / "@qwen-code" / "qwen-code" / "cli-entry.js"
    return Launch(
        ["node", program, "--yolo", "--prompt", PROMPT],
        {"OPENAI_BASE_URL": f"{place.model}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": MODEL},
    )


def claude_code(place: Place) -> Launch:
    kind = "http" if place.url else "stdio"
    place.write(
        ".claude.json",
        {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": ["none"], "rejected": []},
            "projects": {str(place.folder / "work"): {"hasTrustDialogAccepted": True}},
            "mcpServers": {SERVER: place.server(type=kind)},
        },
    )
    limit = {} if place.seconds is None else {"MCP_TOOL_TIMEOUT": str(int(place.seconds * 1000))}
    program = PINS["claude-code"].modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    return Launch(
        [program, "-p", PROMPT, "--allowedTools", f"mcp__{SERVER}"],
        {
            "ANTHROPIC_BASE_URL": place.model,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
            **limit,
        },
    )


def codex(place: Place) -> Launch:
    server = f'url = "{place.url}"' if place.url else f'command = "{place.command[0]}"'
    limit = "" if place.seconds is None else f"tool_timeout_sec = {place.seconds}\n"
    place.write(
        ".codex/config.toml",
        f"""model = "{MODEL}"
model_provider = "local"
check_for_update_on_startup = false
approval_policy = "on-request"
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "{place.model}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
[mcp_servers.{SERVER}]
{server}
required = true
default_tools_approval_mode = "approve"
{limit}[projects."{place.folder}/work"]
trust_level = "trusted"
""",
    )
    program = PINS["codex"].modules / "@openai" / "codex" / "bin" / "codex.js"
    return Launch(["node", program, "exec", "--skip-git-repo-check", PROMPT], {"LOCAL_KEY": "none"})


def copilot(place: Place) -> Launch:
    limit = {} if place.seconds is None else {"timeout": int(place.seconds * 1000)}
    server = {**place.server(type="http" if place.url else "local", tools=["*"]), **limit}
    place.write(".copilot/mcp-config.json", {"mcpServers": {SERVER: server}})
    place.write(".copilot/config.json", {"trusted_folders": [str(place.folder / "work")], "banner": "never"})
    program = PINS["copilot-cli"].modules / "@github" / "copilot-linux-x64" / "copilot"
    return Launch(
        [program, "-p", PROMPT, "--allow-all-tools", "--disable-builtin-mcps"],
        {
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{place.model}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": MODEL,
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
    )


def goose(place: Place) -> Launch:
    where = (
        f"type: streamable_http\n    uri: {place.url}"
        if place.url
        else f"type: stdio\n    cmd: {place.command[0]}\n    args: []"
    )
    place.write(
        ".config/goose/config.yaml",
        f"""GOOSE_PROVIDER: openai
GOOSE_MODEL: {MODEL}
GOOSE_MODE: auto
GOOSE_TELEMETRY_ENABLED: false
OPENAI_HOST: {place.model}
OPENAI_BASE_PATH: v1/chat/completions
extensions:
  {SERVER}:
    enabled: true
    name: {SERVER}
    description: asks
    timeout: {int(place.seconds or 300)}
    {where}
""",
    )
    program = PINS["goose"].modules / "@aaif" / "goose-binary-linux-x64" / "bin" / "goose"
    return Launch(
        [program, "run", "--no-session", "--text", PROMPT],
        {"GOOSE_DISABLE_KEYRING": "1", "OPENAI_API_KEY": "none", "GOOSE_TELEMETRY_OFF": "1"},
    )


def cline(place: Place) -> Launch:
    server: dict[str, object] = {
        "transport": {"type": "streamableHttp", "url": place.url}
        if place.url
        else {"type": "stdio", "command": place.command[0], "args": []}
    }
    server["timeout"] = place.seconds or 60  # it gives a server three seconds to start otherwise
    place.write(".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {SERVER: server}})
    openai = {
        "provider": "openai-compatible",
        "apiKey": "none",
        "baseUrl": f"{place.model}/v1",
        "model": MODEL,
    }
    place.write(
        ".cline/data/settings/providers.json",
        {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "providers": {
                "openai-compatible": {
                    "settings": openai,
                    "updatedAt": "2026-11-01T00:00:00.000Z",
                    "tokenSource": "manual",
                }
            },
        },
    )
    program = PINS["cline"].modules / "@cline" / "cli-linux-x64" / "bin" / "cline"
    return Launch(
        [program, "--provider", "openai-compatible", "--model", MODEL, PROMPT],
        {"DO_NOT_TRACK": "1", "CLINE_NO_AUTO_UPDATE": "1"},
    )


def continue_cn(place: Place) -> Launch:
    where = (
        f"type: streamable-http\n    url: {place.url}"
        if place.url
        else f"command: {place.command[0]}\n    args: []"
    )
    config = place.write(
        ".continue/config.yaml",
        f"""name: local
version: 1.0.0
schema: v1
models:
  - name: {MODEL}
    provider: openai
    model: {MODEL}
    apiKey: none
    apiBase: {place.model}/v1
    useResponsesApi: false
    roles: [chat]
    capabilities: [tool_use]
mcpServers:
  - name: {SERVER}
    {where}
""",
    )
    program = PINS["continue"].modules / "@continuedev" / "cli" / "dist" / "cn.js"
    return Launch(
        ["node", program, "--config", config, "--auto", "-p", PROMPT],
        {
            "CONTINUE_TELEMETRY_ENABLED": "0",
            "CONTINUE_METRICS_ENABLED": "0",
            "CONTINUE_CLI_ENABLE_TELEMETRY": "0",
        },
    )


def fast_agent(place: Place) -> Launch:
    where = f"transport: http\n      url: {place.url}" if place.url else f"command: {place.command[0]}"
    place.write(
        "work/fastagent.config.yaml",
        f"""default_model: generic.{MODEL}
generic:
  api_key: none
  base_url: {place.model}/v1
logger:
  type: none
  progress_display: false
  show_chat: false
  show_tools: false
mcp:
  servers:
    {SERVER}:
      {where}
""",
    )
    return _framework("fast-agent")(place)


def _framework(name: str) -> Driver:
    """A program of a few lines that uses a framework: tests/clients/frameworks.py."""

    def launch(place: Place) -> Launch:
        limit = [] if place.seconds is None else [str(place.seconds)]
        script = Path(__file__).parent / "frameworks.py"
        python = PINS[name].folder / "bin" / "python"
        command: list[str | Path] = [python, script, name, place.model, place.url or place.command[0], *limit]
        return Launch(
            command,
            {"PYTHONPATH": "", "DO_NOT_TRACK": "1", "MCP_USE_ANONYMIZED_TELEMETRY": "false"},
        )

    return launch


DRIVERS: dict[str, Driver] = {
    "claude-code": claude_code,
    "codex": codex,
    "copilot-cli": copilot,
    "goose": goose,
    "gemini-cli": gemini_cli,
    "qwen-code": qwen,
    "opencode": opencode,
    "kilo": kilo,
    "cline": cline,
    "continue": continue_cn,
    "fast-agent": fast_agent,
    **{
        name: _framework(name)
        for name in ("openai-agents", "pydantic-ai", "langchain", "mcp-use", "google-adk")
    },
}

LIMITED = (
    "claude-code",
    "codex",
    "copilot-cli",
    "gemini-cli",
    "qwen-code",
    "opencode",
    "openai-agents",
    "pydantic-ai",
    "google-adk",
)
"""The clients whose own limit for a call a driver can set."""
DECIDING_ALONE = ("fast-agent",)
"""Clients that declare forms, but have no terminal in their sessions here."""
