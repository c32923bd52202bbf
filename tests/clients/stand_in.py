"""A stand-in for a client's model: an HTTP server on loopback that follows a script of tool calls.

It speaks the interfaces of OpenAI (chat completions and responses), Anthropic and Gemini, streamed and plain. Each
request carries the whole conversation, so that the next call follows from the tool results in it. A result with a
ticket is followed by `handraise_resume`, or by the very same call where the client does not offer that tool.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "stand-in"
RESUME = "handraise_resume"
MOST_TRIES = 40
_TICKET = re.compile(r"with the ticket \W*?([\w-]{8,})")


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call, and what its result must hold before the model goes on without calling again."""

    tool: str
    topic: str
    until: str = ""
    """The same call is made again until its result holds this, as after a client's own timeout."""
    tries: int = 4

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call."""
        return {"topic": self.topic}

    @property
    def effect(self) -> str:
        """The line that the server writes down when the question was answered."""
        return f"{self.tool.removeprefix('ask_')} {self.topic}"


@dataclass(frozen=True, slots=True)
class Made:
    """One call that the model made, and its result."""

    step: Step
    tool: str
    arguments: dict[str, Any]
    result: str


def ticket_in(result: str) -> str | None:
    """The ticket of a call that waits."""
    found = _TICKET.search(result)
    return found[1] if found else None


def follow(
    script: Sequence[Step], results: Sequence[str], *, can_resume: bool
) -> tuple[list[Made], Step | None, tuple[str, dict[str, Any]] | None]:
    """What was called so far with which result; then the step and the call that come next, None at the end."""
    made: list[Made] = []
    left = iter(results)
    for step in script:
        tool, arguments = step.tool, step.arguments
        for attempt in range(MOST_TRIES):
            result = next(left, None)
            if result is None:
                return made, step, (tool, arguments)
            made.append(Made(step, tool, arguments, result))
            if ticket := ticket_in(result):
                if can_resume:
                    tool, arguments = RESUME, {"ticket": ticket}
            elif step.until and step.until not in result and attempt + 1 < step.tries:
                tool, arguments = step.tool, step.arguments
            else:
                break
    return made, None, None


@dataclass
class Conversation:
    """What a request says: the tools, and the results of tool calls in their order."""

    tools: dict[str, str | None]
    """The names of tools, each with its namespace."""
    results: list[str]

    def find(self, tool: str) -> tuple[str, str | None] | None:
        """The client's own name for a tool, and its namespace: clients put the server's name in front."""
        for name, namespace in self.tools.items():
            if re.search(rf"(^|[^a-z]){tool}$", name):
                return name, namespace
        return None


@dataclass
class StandIn:
    """The model of one client's run."""

    script: Sequence[Step]
    url: str = ""
    results: list[str] = field(default_factory=list)
    can_resume: bool = False
    elsewhere: list[str] = field(default_factory=list)
    """Addresses that the client wanted to reach; it was refused."""
    called: threading.Event = field(default_factory=threading.Event)
    """Set when the model has made its first call."""
    too_early: threading.Event = field(default_factory=threading.Event)
    """Set when the client asked the model before it had the server's tools."""
    finished: threading.Event = field(default_factory=threading.Event)

    def made(self) -> list[Made]:
        """The calls so far."""
        return follow(self.script, self.results, can_resume=self.can_resume)[0]

    def went_on(self, topic: str) -> bool:
        """Whether the model got a result of the call with this topic that leaves the question open.

        `too late`: four of them, after which the server of a brief question has given up.
        """
        said = [each.result for each in self.made() if each.step.topic == topic]
        if topic == "too late":
            return len(said) >= 4
        return bool(said) and (topic == "timer" or ticket_in(said[-1]) is not None)

    def reply(self, said: Conversation) -> tuple[str, str | None, dict[str, Any], str] | str:
        """The next tool call (name, namespace, arguments, id), or what the model says to the user."""
        if said.find(self.script[0].tool) is None:
            if said.tools:  # without any, it is the client that wants a title for the session
                self.too_early.set()
            return "Done."
        self.called.set()
        self.can_resume = said.find(RESUME) is not None
        if len(said.results) >= len(self.results):
            self.results = said.results
        _, _, call = follow(self.script, said.results, can_resume=self.can_resume)
        found = said.find(call[0]) if call else None
        if call is None or found is None:
            self.finished.set()
            return "The last tool said: " + (said.results[-1] if said.results else "nothing")
        return (*found, call[1], f"call_{len(said.results)}")


@contextmanager
def stand_in(script: Sequence[Step]) -> Iterator[StandIn]:
    """A model that follows a script."""
    model = StandIn(script)

    class Handler(_Handler):
        stand_in = model

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield model
        finally:
            server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that ends in the middle of a request is no error here."""


class _Handler(BaseHTTPRequestHandler):
    stand_in: StandIn
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("http"):
            self._refuse(path)
        elif path.endswith("/models"):
            entry = {
                "id": MODEL,
                "object": "model",
                "created": 1,
                "owned_by": "us",
                "context_length": 200_000,
            }
            self._send({"object": "list", "data": [entry], "models": []})
        else:
            self._send({}, 404)

    def do_CONNECT(self) -> None:
        self._refuse(self.path)

    def _refuse(self, where: str) -> None:
        """The client takes us for its proxy: that is how it is kept from the network, and how that is seen."""
        self.stand_in.elsewhere.append(where)
        self.close_connection = True
        self._send({}, 403)

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path.startswith("http"):
            self._refuse(path)
            return
        streamed = bool(body.get("stream"))
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": 100})
            return
        if path.endswith(":countTokens"):
            self._send({"totalTokens": 100})
            return
        for end, (read, say) in _INTERFACES.items():
            if end in path:
                reply = self.stand_in.reply(read(body))
                events = say(reply)
                if streamed or "streamGenerateContent" in path:
                    self._stream(events[:-1])
                else:
                    self._send(events[-1][1])
                return
        self._send({}, 404)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, answer: Any, status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: _Events) -> None:
        lines = [(f"event: {name}\n" if name else "") + f"data: {_text(data)}\n\n" for name, data in events]
        body = "".join(lines).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


_Reply = tuple[str, str | None, dict[str, Any], str] | str
_Events = list[tuple[str, Any]]
"""The events of a stream by name; the last one is the same answer as one object."""


def _text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data)


def _plain(content: Any) -> str:
    """The text in a tool's result, whichever way a client wraps it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_plain(each) for each in content)
    if isinstance(content, dict):
        inner = content.get("text", content.get("content", content.get("output")))
        return json.dumps(content, ensure_ascii=False) if inner is None else _plain(inner)
    return str(content)


def _read_chat(body: dict[str, Any]) -> Conversation:
    tools: dict[str, str | None] = {each["function"]["name"]: None for each in body.get("tools") or ()}
    said = [each for each in body["messages"] if each.get("role") == "tool"]
    return Conversation(tools, [_plain(each.get("content")) for each in said])


def _say_chat(reply: _Reply) -> _Events:
    head = {"id": "chat", "created": 1, "model": MODEL}
    if isinstance(reply, str):
        message: dict[str, Any] = {"role": "assistant", "content": reply}
        end = "stop"
    else:
        name, _, arguments, id = reply
        function = {"name": name, "arguments": json.dumps(arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}],
        }
        end = "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunk = {**head, "object": "chat.completion.chunk"}
    whole = {**head, "object": "chat.completion", "usage": usage}
    return [
        ("", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}),
        ("", "[DONE]"),
        ("", {**whole, "choices": [{"index": 0, "message": message, "finish_reason": end}]}),
    ]


def _read_responses(body: dict[str, Any]) -> Conversation:
    tools: dict[str, str | None] = {}
    for each in body.get("tools") or ():
        if each.get("type") == "namespace":
            tools |= {inner["name"]: each["name"] for inner in each["tools"]}
        elif "name" in each:
            tools[each["name"]] = None
    said = [
        each
        for each in body["input"]
        if isinstance(each, dict) and each.get("type") == "function_call_output"
    ]
    return Conversation(tools, [_plain(each.get("output")) for each in said])


def _say_responses(reply: _Reply) -> _Events:
    if isinstance(reply, str):
        content = [{"type": "output_text", "text": reply, "annotations": []}]
        item: dict[str, Any] = {"type": "message", "id": "m", "role": "assistant", "content": content}
    else:
        name, namespace, arguments, id = reply
        item = {"type": "function_call", "id": f"f{id}", "call_id": id, "name": name}
        item |= {"arguments": json.dumps(arguments), **({"namespace": namespace} if namespace else {})}
    item["status"] = "completed"
    usage: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": "r", "object": "response", "created_at": 1, "model": MODEL, "parallel_tool_calls": False}
    head |= {"tool_choice": "auto", "tools": [], "error": None}
    begun = {**head, "status": "in_progress", "output": []}
    whole = {**head, "status": "completed", "output": [item], "usage": usage}
    index = {"output_index": 0}
    return [
        ("response.created", {"type": "response.created", "response": begun}),
        ("response.output_item.added", {"type": "response.output_item.added", **index, "item": item}),
        ("response.output_item.done", {"type": "response.output_item.done", **index, "item": item}),
        ("response.completed", {"type": "response.completed", "response": whole}),
        ("", whole),
    ]


def _read_anthropic(body: dict[str, Any]) -> Conversation:
    tools: dict[str, str | None] = {each["name"]: None for each in body.get("tools") or () if "name" in each}
    parts = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    return Conversation(tools, [_plain(part.get("content", "")) for part in parts])


def _say_anthropic(reply: _Reply) -> _Events:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None}
    if isinstance(reply, str):
        block: dict[str, Any] = {"type": "text", "text": reply}
        empty: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": reply}
        end = "end_turn"
    else:
        name, _, arguments, id = reply
        block = {"type": "tool_use", "id": f"toolu_{id}", "name": name, "input": arguments}
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        end = "tool_use"
    begun: dict[str, Any] = {**head, "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    whole = {**head, "content": [block], "stop_reason": end, "usage": usage}
    return [*((event["type"], event) for event in events), ("", whole)]


def _read_gemini(body: dict[str, Any]) -> Conversation:
    declared = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    parts = [part for message in body["contents"] for part in message.get("parts") or ()]
    said = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    return Conversation({each["name"]: None for each in declared}, [_plain(each) for each in said])


def _say_gemini(reply: _Reply) -> _Events:
    if isinstance(reply, str):
        part: dict[str, Any] = {"text": reply}
    else:
        name, _, arguments, id = reply
        part = {"functionCall": {"name": name, "args": arguments, "id": id}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    return [("", whole), ("", whole)]


_INTERFACES = {
    "/chat/completions": (_read_chat, _say_chat),
    "/responses": (_read_responses, _say_responses),
    "/messages": (_read_anthropic, _say_anthropic),
    "enerateContent": (_read_gemini, _say_gemini),
}
