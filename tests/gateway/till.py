"""A server in a few lines that asks once and writes down what it did, so that it can be seen how often.

    python -m tests.gateway.till FILE modern|forgetful|legacy

It remembers nothing itself: a modern one finds everything in the `requestState` that it gave away, whichever process
brings it back, and nothing at all if a byte of it changed. It says that it can; a forgetful one does not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FORM = {
    "message": "How much?",
    "requestedSchema": {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
    },
}
STATE = 'pay é\u2028\\u0041 "+/=" \U0001f4b6'
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}}
    for name in ("pay", "pay_and_stay_silent", "ask_and_end")
]
ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": "till", "version": "1"}}


class Till:
    """Serves one line after the other."""

    def __init__(self, book: Path, *, modern: bool, keeps: bool) -> None:
        self._book = book
        self._keeps = keeps
        self._modern = modern
        self._asked: dict[str, Any] = {}

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self._pay(self._asked.pop(message["id"]), message["result"])
            elif "id" in message:
                self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        match message["method"], self._modern:
            case "initialize", False:
                self._answer(message, {"protocolVersion": "2025-11-25", **ABOUT})
            case "server/discover", True:
                keeps: dict[str, Any] = {"experimental": {"handraise/resumes": {}}} if self._keeps else {}
                offers = {"tools": {}, **keeps}
                told = {**ABOUT, "capabilities": offers}
                self._answer(message, {"supportedVersions": ["2026-07-28"], **told})
            case "tools/list", _:
                kept = {"ttlMs": 0, "cacheScope": "private"} if self._modern else {}
                self._answer(message, {"tools": TOOLS, **kept})
            case "tools/call", _:
                self._call(message)
            case _:
                error = {"code": -32601, "message": "Method not found"}
                _say({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _call(self, message: dict[str, Any]) -> None:
        given = message["params"].get("inputResponses")
        if given is not None:
            assert message["params"]["requestState"] == STATE
            self._pay(message, given["q"])
            return
        self._note("looked")
        if self._modern:
            wanted = {"q": {"method": "elicitation/create", "params": FORM}}
            _say(
                _result(
                    message, {"resultType": "input_required", "inputRequests": wanted, "requestState": STATE}
                )
            )
        else:
            self._asked["ask"] = message
            _say({"jsonrpc": "2.0", "id": "ask", "method": "elicitation/create", "params": FORM})
        if message["params"]["name"] == "ask_and_end":
            sys.exit(7)

    def _pay(self, message: dict[str, Any], answer: dict[str, Any]) -> None:
        self._note(f"paid {answer['content']['answer']}")
        if message["params"]["name"] == "pay":
            self._answer(message, {"content": [{"type": "text", "text": "paid"}]})

    def _answer(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        _say(_result(message, {**({"resultType": "complete"} if self._modern else {}), **result}))

    def _note(self, what: str) -> None:
        with self._book.open("a") as book:
            book.write(f"{what}\n")


def _result(message: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    Till(Path(sys.argv[1]), modern=sys.argv[2] != "legacy", keeps=sys.argv[2] == "modern").serve()
