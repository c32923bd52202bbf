"""A configuration file of each client, in the way in which its documentation writes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """A file, and which of its servers are understood."""

    client: str
    text: str
    rewritten: tuple[str, ...]
    left: tuple[str, ...] = ()


MCP_SERVERS = """{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/home/ann/Notes & more"
      ],
      "env": { "DEBUG": "1" }
    },
    "bare": { "command": "/opt/notes server" },
    "odd": { "settings": { "x": 1.50 } },
    "remote": { "type": "http", "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer s3cr3t" } },
    "events": { "type": "sse", "url": "https://mcp.example.com/sse" }
  },
  "é": "ü\\u00fc"
}
"""

VS_CODE = """{
  // what the team uses
  "inputs": [{ "id": "key", "type": "promptString", "password": true }],
  "servers": {
    "github": {
      "type": "stdio",
      "command": "docker", // needs Docker
      "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": { "TOKEN": "${input:key}" },
    },
    /* hosted */
    "docs": { "type": "http", "url": "https://docs.example.com/mcp" },
  },
}
"""

CODEX = """model = "gpt-5"  # the newest
notify = [
  "a",
  "[mcp_servers.fake]",
]

[mcp_servers.context7]
command = "npx" # a runner
args = [
    "-y",
    "@upstash/context7-mcp", # the package
]
startup_timeout_sec = 20

[mcp_servers.context7.env]
LOCAL = "1"

[mcp_servers."with space"]
  command = 'C:\\tools\\notes.exe'

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"

[profiles.fast]
command = "not a server"
"""

GEMINI = """{
  "theme": "Default",
  "mcpServers": {
    "python": { "command": "python", "args": ["-m", "server"], "cwd": "./tools", "trust": false },
    "web": { "httpUrl": "https://web.example.com/mcp" },
    "old": { "url": "https://old.example.com/sse" }
  }
}
"""

ZED = """// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "local": {
      "source": "custom",
      "enabled": true,
      "command": "uv",
      "args": ["run", "main.py"],
      "env": {}
    },
    "extension": { "settings": {} },
    "nested": { "command": { "path": "x", "args": [] } },
  },
}
"""

OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "everything": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "enabled": true,
      "environment": { "A": "b" },
    },
    "jira": { "type": "remote", "url": "https://jira.example.com/mcp" },
  },
}
"""

OPENCODE_2 = """{
  "mcp": {
    "timeout": 5,
    "servers": {
      "one": { "type": "local", "command": ["npx", "-y", "x"] }
    }
  }
}
"""

GOOSE = """# mine
GOOSE_PROVIDER: openai
extensions:
  developer:
    type: builtin
    enabled: true
    name: developer

  notes:
    enabled: true
    type: stdio
    cmd: npx
    args:
    - -y
    - notes server
    - 'it''s #1'
    envs:
      KEY: {deep: [1]}
    timeout: 300
  web:
    type: streamable_http
    uri: https://web.example.com/mcp
  folded:
    type: stdio
    cmd: >-
      npx
      -y
slash_commands: []
"""

CLINE = """{
  "mcpServers": {
    "notes": {
      "transport": { "type": "stdio", "command": "npx", "args": ["-y", "notes-server"] },
      "disabled": false
    },
    "flat": {"command": "npx"},
    "web": {"transport": {"type": "streamableHttp", "url": "https://web.example.com/mcp"}}
  }
}
"""

CONTINUE = """name: mine
version: 1.0.0
mcpServers:
  - name: notes
    command: npx
    args:
      - -y
      - notes server
  - command: uvx
    name: 'two'
    args: ["x"]
    env:
      KEY: {deep: [1]}
  - name: web
    type: streamable-http
    url: https://web.example.com/mcp
  - name: folded
    command: >-
      npx
models: []
"""

SAMPLES = [
    Sample("copilot-cli", MCP_SERVERS, ("files", "bare"), ("odd", "remote", "events")),
    Sample("cline", CLINE, ("notes", "flat"), ("web",)),
    Sample("kilo", OPENCODE, ("everything",), ("jira",)),
    Sample("qwen-code", GEMINI, ("python",), ("web", "old")),
    Sample("claude-desktop", MCP_SERVERS, ("files", "bare"), ("odd", "remote", "events")),
    Sample("claude-code", MCP_SERVERS, ("files", "bare"), ("odd", "remote", "events")),
    Sample("cursor", MCP_SERVERS, ("files", "bare"), ("odd", "remote", "events")),
    Sample("windsurf", MCP_SERVERS, ("files", "bare"), ("odd", "remote", "events")),
    Sample("vscode", VS_CODE, ("github",), ("docs",)),
    Sample("codex", CODEX, ("context7", "with space"), ("figma",)),
    Sample("gemini-cli", GEMINI, ("python",), ("web", "old")),
    Sample("zed", ZED, ("local",), ("extension", "nested")),
    Sample("opencode", OPENCODE, ("everything",), ("jira",)),
    Sample("opencode", OPENCODE_2, ("one",)),
]
