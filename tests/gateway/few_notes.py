"""The notes server's tools `archive` and `rename` without an SDK, which takes a second to load.

    python -m tests.gateway.few_notes

It speaks 2025-11-25 over standard input and output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "notes", "version": "7"},
}
Tool = Generator[str, dict[str, Any], str]
"""Yields what it asks, is sent the answers, and returns its text."""


def archive(title: str) -> Tool:
    """Ask once, and keep the answer from the model."""
    answer = yield f"Where shall {title} go?"
    return f"archived {title}" if answer["action"] == "accept" else f"kept: {answer['action']}"


def rename(title: str) -> Tool:
    """Ask twice."""
    new = (yield f"New name of {title}?")["content"]["answer"]
    why = (yield f"Why {new}?")["content"]["answer"]
    return f"{title} is {new} because {why}"


TOOLS: dict[str, Callable[[str], Tool]] = {"archive": archive, "rename": rename}


def serve(messages: Iterator[dict[str, Any]]) -> None:
    """Answer one message after the other."""
    waiting: dict[str, tuple[Any, Tool]] = {}
    for message in messages:
        match message.get("method"):
            case "initialize":
                say(id=message["id"], result=ABOUT)
            case "tools/list":
                listed = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
                say(id=message["id"], result={"tools": listed})
            case "tools/call":
                tool = TOOLS[message["params"]["name"]](message["params"]["arguments"]["title"])
                go_on(waiting, message["id"], tool, None)
            case None:
                go_on(waiting, *waiting.pop(message["id"]), message["result"])
            case _ if "id" in message:
                say(id=message["id"], error={"code": -32601, "message": "Method not found"})


def go_on(waiting: dict[str, tuple[Any, Tool]], call: Any, tool: Tool, answer: Any) -> None:
    """Give a tool its answer, and say what it asks next or how it ended."""
    try:
        question = tool.send(answer)
    except StopIteration as end:
        say(id=call, result={"content": [{"type": "text", "text": end.value}]})
        return
    waiting[f"ask {call}"] = (call, tool)
    fields = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    say(
        id=f"ask {call}", method="elicitation/create", params={"message": question, "requestedSchema": fields}
    )


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    serve(json.loads(line) for line in sys.stdin)
