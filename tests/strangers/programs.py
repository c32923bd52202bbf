"""The programs that we did not write: where they are, and how a test runs one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = HERE / "node_modules"
EVERYTHING = [
    "node",
    str(PACKAGES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"),
    "stdio",
]
TYPESCRIPT_SERVER = ["node", str(HERE / "typescript" / "server.mjs")]
NOTES = ["python", str(ROOT / "tests" / "gateway" / "notes.py"), "stdio"]
OLD_SDKS = sorted(path.stem.removeprefix("mcp-") for path in (HERE / "old_sdk").glob("mcp-*.txt"))
"""The versions of the official SDK that have an environment of their own."""


def environment(home: str, ours: Path = Path(sys.executable).parent) -> dict[str, str]:
    """A home of its own, so that no policy, ledger or connection of the user's takes part; a short one, for sockets.

    `ours` is the folder where `handraise` and `python` are.
    """
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(ours), str(PACKAGES / ".bin"), os.environ["PATH"]]),
        "NODE_COMPILE_CACHE": str(PACKAGES / ".cache"),
        "PYTHONPATH": str(ROOT),
        "HOME": home,
        "XDG_DATA_HOME": home,
        "XDG_RUNTIME_DIR": home,
        "MCP_STORAGE_DIR": home,
    }


def through_gateway(server: list[str], *options: str) -> list[str]:
    """The command that puts our gateway in front of a server. The people of strangers answer at once."""
    return ["handraise", "gateway", "--too-fast", "0", *options, "--", *server]


def run(command: list[str], environment: dict[str, str], *, good: bool = True) -> str:
    """What a program prints; it has to end well unless told otherwise."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not good or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def typescript(
    era: str, tool: str, arguments: Any, answer: Any, server: list[str], environment: dict[str, str]
) -> Any:
    """What the TypeScript SDK's client sees when it calls a tool."""
    words = [era, tool, json.dumps(arguments), answer if answer == "none" else json.dumps(answer)]
    return json.loads(
        run(["node", str(HERE / "typescript" / "client.mjs"), *words, "--", *server], environment)
    )


def old_python(version: str) -> str:
    """The interpreter of an old SDK's environment, which `make setup` makes."""
    return str(HERE / "old_sdk" / f".venv-{version}" / "bin" / "python")


def old_client(
    version: str, tool: str, arguments: Any, answer: Any, server: list[str], environment: dict[str, str]
) -> Any:
    """What an old SDK's client sees when it calls a tool."""
    words = [tool, json.dumps(arguments), answer if answer == "none" else json.dumps(answer)]
    without_ours = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return json.loads(
        run([old_python(version), str(HERE / "old_sdk" / "client.py"), *words, *server], without_ours)
    )


def old_server(version: str) -> list[str]:
    """The command that serves an old SDK's notes."""
    return [old_python(version), "-P", str(HERE / "old_sdk" / "server.py"), "stdio"]
