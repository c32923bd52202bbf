"""A gateway seen from outside: real processes, pipes and HTTP, and the bytes that a test writes.

Nothing here knows how the gateway is built. The server is a script that reads as leniently as any server may.
"""

from __future__ import annotations

import http.server
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.command import HANDRAISE, ROOT

PATIENCE = 30
CLIENT = {"name": "c", "version": "1"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}
"""What a client of 2026-07-28 says with each request."""
GUARDED = '[guards.payments]\ntools = ["pay"]\nhint = "any"\nmessage = "This pays."\n'
"""The tool `pay` runs only after a yes."""

SERVER = r"""
import io, json, sys

sys.set_int_max_str_digits(0)
sys.setrecursionlimit(20_000)
book = open(sys.argv[1], "a", encoding="utf-8")
ERA, REPLIES = sys.argv[2], json.loads(sys.argv[3])


def note(*words):
    print(*words, file=book, flush=True)


def say(message):
    print(message if isinstance(message, str) else json.dumps(message), flush=True)


def folded(value):
    # Some servers read member names in any case; the last one counts.
    if isinstance(value, dict):
        return {name.casefold(): folded(each) for name, each in value.items()}
    return value


def take(message):
    if isinstance(message, list):
        for each in message:
            take(each)
        return
    if not isinstance(message, dict):
        return
    message = folded(message)
    method, id = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if isinstance(params, list):
        params = {"name": params[0]}
    if method == "tools/call":
        note("ran", params.get("name"))
    if method is None:
        said = message.get("error", message.get("result"))
        note("answered", id, json.dumps(said))
    if method == "initialize" and ERA == "legacy":
        info = {"name": "s", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "server/discover" and ERA == "modern":
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method in ("initialize", "server/discover"):
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
        return
    elif (key := f"{method} {params.get('name')}") in REPLIES or (key := method) in REPLIES:
        for reply in REPLIES[key]:
            text = reply if isinstance(reply, str) else json.dumps(reply)
            say(text.replace('"ID"', json.dumps(id)).replace("LONG", "x" * 2**24))
            note("said", key)
        return
    else:
        result = {"resultType": "complete", "content": []}
    if method is not None and "id" in message:
        say({"jsonrpc": "2.0", "id": id, "result": result})


for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"):  # as the SDK reads: a carriage return ends a line
    note("line", ascii(line))
    try:
        take(json.loads(line))
    except ValueError:
        pass
"""


class Place:
    """A user's own folders, and the book in which the server writes what it got and what it ran."""

    def __init__(self, folder: Path, settings: str = GUARDED, *, programs: Path | None = None) -> None:
        """`programs` is a folder with a `handraise` that starts at once. Its gateway has another process id."""
        self._handraise = HANDRAISE if programs is None else [str(programs / "handraise")]
        self._book = folder / "book"
        self._book.touch()
        (folder / "handraise.toml").write_text(settings)
        for name in ("run", "data", "home"):
            (folder / name).mkdir(mode=0o700)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HANDRAISE_CONFIG": str(folder / "handraise.toml"),
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_DATA_HOME": str(folder / "data"),
        }

    def server(self, era: str = "legacy", replies: dict[str, list[Any]] | None = None) -> list[str]:
        """The command of the server. `replies` is what it says to a method, or to "tools/call NAME".

        There "ID" stands for the request's id, and LONG for 16 MiB of text.
        """
        return [sys.executable, "-IS", "-c", SERVER, str(self._book), era, json.dumps(replies or {})]

    def noted(self, kind: str) -> list[str]:
        """What the server wrote down: `ran`, `answered`, `said`, or each `line` that it read."""
        lines = self._book.read_text().splitlines()
        return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] == kind]

    def recorded(self, kind: str) -> list[Any]:
        """The events of one kind in the ledger, once there are any; none after a while."""
        show = [*self._handraise, "ledger", "show", "--kind", kind, "--limit", "10000", "--json"]
        for _ in range(5):
            done = subprocess.run(show, env=self.environment, capture_output=True, text=True, check=False)
            if done.stdout:
                break
        return [json.loads(line) for line in done.stdout.splitlines()]

    @contextmanager
    def gateway(self, *options: str, server: list[str] | None = None) -> Iterator[Client]:
        """A gateway at two pipes. Nobody is at its desk unless the options say so."""
        desk = [] if "--desk" in options else ["--desk", "none"]
        command = [
            *self._handraise,
            "gateway",
            "--name",
            "till",
            *desk,
            *options,
            *([] if server is None else ["--", *server]),
        ]
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            client = Client(process)
            try:
                yield client
            finally:
                client.end()

    @contextmanager
    def over_http(self, server: list[str], *, url: str | None = None) -> Iterator[str]:
        """A gateway for clients over HTTP, in front of a command or a URL; its URL."""
        behind = ["--", *server] if url is None else ["--url", url]
        command = [*self._handraise, "gateway", "--desk", "none", "--http", "127.0.0.1:0", *behind]
        with subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stderr is not None
                process.stderr.readline()
                at = process.stderr.readline().split()[-1]
                threading.Thread(target=process.stderr.read, daemon=True).start()  # else a full pipe stops it
                yield at
            finally:
                process.kill()


class Client:
    """The client's end of the pipes, and all that came out of the gateway."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.errors: list[bytes] = []
        self.lines: list[bytes] = []
        self._coming: queue.Queue[bytes | None] = queue.Queue()
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._listen, args=(process.stdout,), daemon=True),
            threading.Thread(target=self.errors.extend, args=(process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def end(self) -> None:
        """End the gateway, and read what it said to its end."""
        self.process.kill()
        for reader in self._readers:
            reader.join(PATIENCE)

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._coming.put(line)
        self._coming.put(None)

    def begin(self, *, modern: bool = False, capabilities: dict[str, Any] | None = None) -> Any:
        """Get to know the server; what it says of itself."""
        if modern:
            return self.ask("hello", "server/discover", {"_meta": MODERN})
        able = MODERN["io.modelcontextprotocol/clientCapabilities"] if capabilities is None else capabilities
        hello = {"protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": CLIENT}
        said = self.ask("hello", "initialize", hello)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return said

    def ask(self, id: Any, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request; its response, when it comes."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return self.answer(id)

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())

    def write(self, raw: bytes) -> None:
        """Write bytes and a line feed."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def next(self) -> Any:
        """The next message, when it comes."""
        line = self._coming.get(timeout=PATIENCE)
        assert line is not None, b"".join(self.errors).decode()
        self.lines.append(line)
        return json.loads(line)

    def answer(self, id: Any) -> Any:
        """The response to a request. What comes before it is in `lines`."""
        while True:
            said = self.next()
            if said.get("id") == id and "method" not in said:
                return said

    def settle(self, *, modern: bool = False) -> None:
        """Wait until all that was written before is through: the server reads one line after the other."""
        marker = f"marker-{len(self.lines)}"
        self.ask(marker, "vendor/marker", {"_meta": MODERN} if modern else {})

    def until(self, condition: Callable[[], object], *, modern: bool = False) -> None:
        """Keep the server busy until something is true."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            self.settle(modern=modern)

    @property
    def methods(self) -> list[Any]:
        """The methods of all that came."""
        return [json.loads(line).get("method") for line in self.lines]


@contextmanager
def http_server(replies: dict[str, tuple[str, bytes]]) -> Iterator[str]:
    """A server of 2025-11-25 at a URL, which answers some methods with a content type and bytes; its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            kind, body = replies.get(message.get("method"), ("application/json", b""))
            if message.get("method") == "initialize":
                info = {"name": "s", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            elif not body and "id" in message:
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}).encode()
            body = body.replace(b'"ID"', json.dumps(message.get("id")).encode()).replace(
                b"LONG", b"x" * 2**24
            )
            self.send_response(200 if body else 202)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
