"""A model's side, as a program of its own: a client that cannot ask its person, and a shell.

    python -m tests.gateway.model COMMAND…

Each line of its input is JSON, `{"tool": …, "arguments": …}` or `{"shell": …}`; each line of its output what it saw.
It speaks the protocol by itself: to load an SDK takes longer than most tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "model", "version": "1"}}


class Client:
    """Asks the server one thing after the other."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._write, self._read = server.stdin, server.stdout
        self._last = 0

    def begin(self) -> None:
        self._ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return "".join(block["text"] for block in result["content"])

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while (said := json.loads(self._read.readline())).get("id") != self._last:
            pass
        return said["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self._write.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._write.flush()


def shell(words: str) -> str:
    """What the model's shell says."""
    done = subprocess.run(
        words,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return done.stdout.decode(errors="replace")


def main(command: list[str]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        client = Client(server)
        client.begin()
        for line in sys.stdin:
            asked = json.loads(line)
            seen = (
                shell(asked["shell"]) if "shell" in asked else client.call(asked["tool"], asked["arguments"])
            )
            print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
