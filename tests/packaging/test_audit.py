"""A known vulnerability fails the check of dependencies; a list that cannot be reached does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from tests.packaging.audit import main
from tests.server.peers import free_port

pytestmark = [pytest.mark.slow, pytest.mark.stranger]


class Osv(BaseHTTPRequestHandler):
    """A list of vulnerabilities with one entry, for uvicorn."""

    def do_POST(self) -> None:
        asked: Any = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = {}
        if asked["package"]["name"] == "uvicorn" and self.path == "/one":
            ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999.1"}]}]
            package = {"name": "uvicorn", "ecosystem": "PyPI"}
            entry = {"id": "PYSEC-1", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z"}
            affected = [{"package": package, "ranges": ranges, "versions": [asked["version"]]}]
            found = {"vulns": [{**entry, "summary": "Bad.", "affected": affected}]}
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Osv) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_known_vulnerability_is_named_and_fails(osv: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--osv-url", f"{osv}/one") == 1
    assert "PYSEC-1; fixed in 999.1." in capsys.readouterr().out


def test_without_any_the_check_passes_and_says_nothing(osv: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--osv-url", f"{osv}/none") == 0
    assert capsys.readouterr().out == ""


def test_a_list_that_cannot_be_reached_is_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--osv-url", f"http://127.0.0.1:{free_port()}/") == 0
    assert "cannot be reached; the dependencies were not checked" in capsys.readouterr().out


def test_anything_else_that_goes_wrong_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--no-such-option") != 0
    assert "no-such-option" in capsys.readouterr().out
