"""Outsiders who make a gateway work for them: a remote server, an issuer, a crowd. Processes and sockets only."""

from __future__ import annotations

import base64
import http.client
import http.server
import json
import queue
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from tests.command import HANDRAISE, ROOT
from tests.gateway.outside import Place
from tests.gateway.sides import at_a_terminal, link_in, make_home, model

pytestmark = [pytest.mark.slow, pytest.mark.shows("W8")]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
}
KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, settings="")


class Site(http.server.ThreadingHTTPServer):
    """A site that answers by path, and remembers what it was asked for."""

    daemon_threads = True

    def __init__(self, host: str) -> None:
        self.asked: list[str] = []
        self.pages: dict[str, Any] = {}
        self.challenge = ""
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                site.asked.append(f"{self.command} {self.path}")
                found = site.pages.get(self.path)
                body = json.dumps(found or {}).encode()
                self.send_response(401 if site.challenge else 404 if found is None else 200)
                if site.challenge:
                    self.send_header("www-authenticate", site.challenge)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None: ...

        super().__init__((host, 0), Handler)
        self.url = f"http://{host}:{self.server_port}"


@contextmanager
def site(host: str = "127.0.0.1") -> Iterator[Site]:
    with Site(host) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield serving
        finally:
            serving.shutdown()


def test_a_remote_server_has_the_gateway_ask_nothing_of_this_computer(place: Place) -> None:
    """127.0.0.2 stands for a remote server: it is none of the names of this computer."""
    with site("127.0.0.2") as remote, site() as inside:
        metadata = f"{inside.url}/.well-known/oauth-protected-resource/mcp"
        remote.challenge = f'Bearer resource_metadata="{metadata}"'
        inside.pages = {
            "/.well-known/oauth-protected-resource/mcp": {
                "resource": f"{remote.url}/mcp",
                "authorization_servers": [inside.url],
            },
            "/.well-known/oauth-authorization-server": {
                "issuer": inside.url,
                "authorization_endpoint": f"{inside.url}/authorize",
                "token_endpoint": f"{inside.url}/token",
                "registration_endpoint": f"{inside.url}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            },
        }
        with place.gateway(
            "--url", f"{remote.url}/mcp", "--hold", "1", "--desk", "auto", "--no-notify"
        ) as client:
            client.send(HELLO)
            with suppress(queue.Empty):  # a gateway that is taken in asks its person to connect, and waits
                assert "error" in client.next()
        assert remote.asked
        assert inside.asked == []


def token(issuer: str, audience: str) -> str:
    """A token that the key of this test signed."""
    now = int(time.time())
    claims = {"iss": issuer, "sub": "ann", "aud": audience, "exp": now + 600, "iat": now}
    parts = [json.dumps(each).encode() for each in ({"alg": "ES256", "kid": "one", "typ": "at+jwt"}, claims)]
    signed = b".".join(_in_base64(each) for each in parts)
    one, two = decode_dss_signature(KEY.sign(signed, ec.ECDSA(SHA256())))
    return b".".join([signed, _in_base64(one.to_bytes(32) + two.to_bytes(32))]).decode()


def _in_base64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def call(url: str, message: Any, **headers: str) -> tuple[int, dict[str, str]]:
    """Post a message as a client over HTTP does; the status and the headers of the reply."""
    host, path = url.removeprefix("http://").split("/", 1)
    told = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    with closing(http.client.HTTPConnection(host, timeout=20)) as connection:
        connection.request("POST", f"/{path}", json.dumps(message), told)
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}


@contextmanager
def shared(place: Place, *options: str) -> Iterator[str]:
    """A gateway over HTTP that tells people apart; where clients connect."""
    command = [*HANDRAISE, "gateway", "--http", "127.0.0.1:0", *options, "--", *place.server()]
    with subprocess.Popen(
        command, cwd=ROOT, env=place.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"127\.0\.0\.1:\d+", line):
                    break
            assert found is not None
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield f"http://{found[0]}/mcp"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("marks", "status"), [({"use": "sig"}, 200), ({"use": "enc"}, 401)], ids=["sig", "enc"]
)
def test_a_key_for_encryption_opens_no_gateway(place: Place, marks: dict[str, str], status: int) -> None:
    point = KEY.public_key().public_numbers()
    published = {"kty": "EC", "crv": "P-256", "kid": "one", **marks} | {
        name: _in_base64(value.to_bytes(32)).decode() for name, value in (("x", point.x), ("y", point.y))
    }
    with site() as issuer:
        document = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"}
        issuer.pages = {
            "/.well-known/oauth-authorization-server": document,
            "/.well-known/openid-configuration": document,
            "/keys": {"keys": [published]},
        }
        public = "https://gateway.example"
        options = (
            "--desk",
            "none",
            "--issuer",
            issuer.url,
            "--public-url",
            public,
            "--unsafe-network",
            "127.0.0.0/8",
        )
        with shared(place, *options) as url:
            bearer = f"Bearer {token(issuer.url, f'{public}/mcp')}"
            assert call(url, HELLO, authorization=bearer, host="gateway.example")[0] == status
        assert "GET /keys" in issuer.asked


@pytest.mark.shows("W7")
def test_one_token_does_not_start_servers_without_end(place: Place, tmp_path: Path) -> None:
    people = str(tmp_path / "people.json")
    added = subprocess.run(
        [*HANDRAISE, "gateway", "people", "add", "ann", "--file", people],
        env=place.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    given = re.findall(r"^\s*(?:Bearer )?([\w.-]{24,})\s*$", added.stdout + added.stderr, re.MULTILINE)
    assert given, added
    options = ("--desk", "none", "--people", people, "--public-url", "https://gateway.example")
    with shared(place, *options) as url:
        for _ in range(30):
            call(url, HELLO, authorization=f"Bearer {given[0]}", host="gateway.example")
        assert servers_of(place) <= 16


def servers_of(place: Place) -> int:
    """How many processes run that server."""
    wanted = place.server()[4].encode()
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        found += b"-IS" in words and wanted in words
    return found


@pytest.mark.shows("W7")
def test_half_open_connections_do_not_take_the_desk_away(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1024), hard))
    home = make_home(tmp_path)
    with ExitStack() as crowd, model(home, tmp_path / "errors") as side:
        side.call("archive", title="plans")
        assert "Opened the desk" in at_a_terminal([*HANDRAISE, "inbox"], home)
        opened = (tmp_path / "opened").read_text()
        host, path = (opened if opened.startswith("http") else link_in(tmp_path)).split("//")[1].split("/", 1)
        name, port = host.split(":")
        for _ in range(210):
            visit = crowd.enter_context(socket.create_connection((name, int(port)), timeout=10))
            visit.sendall(b"GET / HTTP/1.1\r\nHost: ")
        with closing(http.client.HTTPConnection(host, timeout=10)) as connection:
            connection.request("GET", f"/{path}")
            assert connection.getresponse().status == 200


ASKS_AND_ASKS = r"""
import json, sys
form = {"type": "object", "properties": {"password": {"type": "string"}}}
asked = {"jsonrpc": "2.0", "method": "elicitation/create", "params": {"message": "Hm?", "requestedSchema": form}}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"name": "s", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif message.get("method") == "tools/call":
        for number in range(300):
            print(json.dumps({**asked, "id": number}), flush=True)
            sys.stdin.readline()
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}), flush=True)
"""


@pytest.mark.shows("G7")
def test_refused_questions_do_not_fill_the_ledger(place: Place) -> None:
    with place.gateway(server=[sys.executable, "-c", ASKS_AND_ASKS]) as client:
        client.begin()
        client.ask(5, "tools/call", {"name": "look", "arguments": {}})
    assert 0 < len(place.recorded("refused")) < 60
