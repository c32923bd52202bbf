"""Programs on the same computer that try to answer for the person, each as an attacker would.

The gateways here are processes. Their clients are started from a login shell, as on a person's computer.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from tests.another_user import as_another_user, only_root
from tests.gateway.sides import at_a_terminal, link_in, make_home, model
from tests.gateway.test_stdio import HANDRAISE, ROOT
from tests.login_shell import from_login_shell

from handraise.desks.desk_code import desk_code_file, new_desk_code

pytestmark = [pytest.mark.slow, pytest.mark.shows("W9")]

INBOX = [*HANDRAISE, "inbox"]
INBOX_AS_TYPED = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' inbox"
LAUNCHER = ("sh", "-c", '"$@"; true', "-")
"""A shell that stays between the client and the gateway."""
HIDE_PROC = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-")
HTTP_CLIENT = """
import json, sys, urllib.request
session = {}
for line in sys.stdin:
    asked = json.loads(line)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", **session}
    post = urllib.request.Request(asked["url"], json.dumps(asked["body"]).encode(), headers)
    with urllib.request.urlopen(post) as reply:
        if "mcp-session-id" in reply.headers:
            session["mcp-session-id"] = reply.headers["mcp-session-id"]
        print(json.dumps(reply.read().decode()), flush=True)
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return make_home(tmp_path)


def post(link: str, **values: str) -> tuple[int, str]:
    """Post to a page, as its own form does; the status, and where it leads or what it says."""
    parts = urlsplit(link)
    headers = {"origin": f"http://{parts.netloc}", "content-type": "application/x-www-form-urlencoded"}
    with closing(http.client.HTTPConnection(parts.netloc, timeout=20)) as connection:
        connection.request("POST", parts.path, urlencode(values), headers)
        response = connection.getresponse()
        return response.status, response.getheader("location") or response.read().decode()


@only_root
def test_another_user_who_sees_the_browsers_arguments_cannot_sign_in(
    home: dict[str, str], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    with model(home, tmp_path / "errors") as side:
        side.call("archive", title="plans")
        assert "Opened the desk" in at_a_terminal(INBOX, home)
        argument = (tmp_path / "opened").read_text()
        assert "http" not in argument
        assert as_another_user(lambda: Path(argument).read_text()) == "PermissionError"

        link = link_in(tmp_path)  # and if they had it all the same
        status, said = as_another_user(lambda: post(link))
        assert (status, "belongs to another user" in said) == (403, True)
        assert post(link)[0] == 303  # it was not used up


def test_a_sibling_shell_behind_a_launcher_cannot_answer(home: dict[str, str], tmp_path: Path) -> None:
    with model(home, tmp_path / "errors", launcher=LAUNCHER) as side:
        side.call("archive", title="plans")
        for words in (INBOX_AS_TYPED, f"{INBOX_AS_TYPED} --terminal"):
            refused = side.shell(f'script -qec "{words}" /dev/null')
            assert "does not open to a program that the client started" in refused
            assert "Open a terminal that the client did not" in refused  # what to do instead
        assert "Opened the desk" in at_a_terminal(INBOX, home)


@contextmanager
def http_gateway(home: dict[str, str], *options: str) -> Iterator[str]:
    """A gateway over HTTP that a person started in their terminal; where clients connect."""
    server = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
    command = [*HANDRAISE, "gateway", "--hold", "1", "--http", "127.0.0.1:0", *options, "--", *server]
    with subprocess.Popen(command, cwd=ROOT, env=home, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield [process.stderr.readline() for _ in range(4)][1].split()[-1]
        finally:
            process.terminate()


@only_root
@pytest.mark.shows("W7")
def test_a_gateway_over_http_serves_no_other_user_and_keeps_its_clients_from_the_desk(
    home: dict[str, str],
) -> None:
    def ask(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def post_as_client(url: str) -> int:
        parts = urlsplit(url)
        with closing(http.client.HTTPConnection(parts.netloc, timeout=20)) as connection:
            connection.request("POST", parts.path, json.dumps(ask("initialize", **HELLO)))
            return connection.getresponse().status

    with (
        http_gateway(home) as url,
        from_login_shell([sys.executable, "-c", HTTP_CLIENT], home, ROOT) as client,
    ):

        def call(method: str, **params: Any) -> str:
            client.stdin.write(json.dumps({"url": url, "body": ask(method, **params)}) + "\n")
            client.stdin.flush()
            return str(json.loads(client.stdout.readline()))

        assert as_another_user(lambda: post_as_client(url)) == 403
        assert "serverInfo" in call("initialize", **HELLO)
        assert "ticket" in call("tools/call", name="archive", arguments={"title": "plans"})
        assert "Opened the desk" in at_a_terminal(INBOX, home)
        assert post_as_client(url) == 200  # now this process is a client, too
        refused = at_a_terminal([*INBOX, "--terminal"], home)
        assert "does not open to a program that the client started" in refused


@only_root
def test_where_proc_is_hidden_the_desk_opens_with_the_desk_code_only(
    home: dict[str, str], tmp_path: Path
) -> None:
    with model(home, tmp_path / "errors", launcher=HIDE_PROC) as side:
        ticket = re.findall(r"ticket '([\w-]+)'", side.call("archive", title="plans"))[0]

        # The model opens its own page; it needs the code, and nobody made one yet.
        side.shell(f'script -qec "{INBOX_AS_TYPED}" /dev/null')
        link = link_in(tmp_path)
        status, said = post(link)
        assert (status, "handraise desk code" in said) == (403, True)

        code = new_desk_code(desk_code_file(home))
        assert post(link)[0] == 200  # asks for the code
        assert post(link, code="0000-0000")[0] == 403
        refused = at_a_terminal([*INBOX, "--terminal"], home, [("Your desk code:", "0000-0000")])
        assert "not your desk code" in refused

        typed = [("Your desk code:", code.lower()), ("Answer:", "the shelf"), ("Write send", "send")]
        shown = at_a_terminal([*INBOX, "--terminal"], home, typed)
        assert "my notes has your answer." in shown
        assert code not in shown
        assert side.call("handraise_resume", ticket=ticket) == "archived plans"

        side.call("archive", title="drafts")
        assert "Opened the desk" in at_a_terminal(INBOX, home)
        assert post(link_in(tmp_path), code=code)[0] == 303
        assert not Path(
            (tmp_path / "opened").read_text()
        ).exists()  # a link that was used leaves no file behind


def test_without_process_facts_a_gateway_over_http_needs_people(home: dict[str, str]) -> None:
    server = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
    command = [*HIDE_PROC, *HANDRAISE, "gateway", "--http", "127.0.0.1:0", "--", *server]
    done = subprocess.run(command, cwd=ROOT, env=home, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "handraise gateway people add" in done.stderr
    assert "Traceback" not in done.stderr
