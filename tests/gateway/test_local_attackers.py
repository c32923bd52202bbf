"""Programs on the same computer that try to answer for the person, each as an attacker would.

The gateways here are processes. Their clients are started from a login shell, as on a person's computer.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.async_api import Browser, expect
from tests.another_user import (
    NOBODY,
    as_another_user,
    command_of_an_ordinary_user,
    only_root,
    shared_directory,
)
from tests.command import HANDRAISE, ROOT
from tests.desks.web.browsing import Person, has_passkeys, open_room
from tests.forking import fork_at_terminal
from tests.gateway.sides import at_a_terminal, link_in, make_home, model
from tests.login_shell import from_login_shell

from handraise.desks.passkeys import PasskeyFile
from handraise.desks.web.sessions import PasskeyTask
from handraise.this_user import local_person

pytestmark = [pytest.mark.slow, pytest.mark.shows("W9")]

INBOX = [*HANDRAISE, "inbox"]
INBOX_AS_TYPED = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' inbox"
DESK_CODE_AS_TYPED = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' desk code"
DESK_CODE = r"Your desk code: (\S+)"
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


GUESSES = """
from handraise.desks.control import pending, send_answer
(question,) = pending()
for _ in range(7):
    print(send_answer(question, "0000-0000", {"action": "decline"})["error"])
print("id", question.id)
"""


def test_wrong_codes_of_the_clients_shell_use_up_no_tries_of_the_person(
    home: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "guesses.py").write_text(GUESSES)
    with model(home, tmp_path / "errors") as side:
        side.call("archive", title="plans")
        guessed = side.shell(f"{sys.executable} {tmp_path}/guesses.py").split()
        assert guessed[:-2] == ["wrong_code"] * 5 + ["wait"] * 2
        answer = [*HANDRAISE, "answer", guessed[-1], "--decline"]
        said = at_a_terminal(answer, home, [("type the code", "1111-1111")])
        assert "That is not the code that the desk shows" in said, "it was looked at"


HIDDEN_CHILD = """
import ctypes, http.client, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no other program of this user sees its files any more
host, path = sys.argv[1].removeprefix("http://").split("/", 1)
desk = http.client.HTTPConnection(host, timeout=20)
headers = {"origin": f"http://{host}", "content-type": "application/x-www-form-urlencoded"}
desk.request("POST", f"/{path}", "", headers)
print("status", desk.getresponse().status)
"""


@only_root
def test_a_child_of_the_client_that_hides_its_files_cannot_sign_in() -> None:
    """Root sees every file, so here the client, the gateway and the person are an ordinary user."""
    with shared_directory() as folder:
        home = make_home(folder)
        for made in (folder, *folder.rglob("*")):
            os.chown(made, NOBODY, NOBODY)
        with model(home, folder / "errors", starter=command_of_an_ordinary_user()) as side:
            side.call("archive", title="plans")
            shown = at_a_terminal(command_of_an_ordinary_user(*INBOX), home)
            assert "Opened the desk" in shown
            opened = (folder / "opened").read_text()
            link = opened if opened.startswith("http") else link_in(folder)
            (folder / "hidden.py").write_text(HIDDEN_CHILD)
            assert "status 403" in side.shell(f"{sys.executable} {folder}/hidden.py {link}")


AT_THE_TRAY = """
import glob, http.client, re, sys, time
for _ in range(600):
    if files := glob.glob(sys.argv[1] + "/handraise/handraise-desk-*.html"):
        break
    time.sleep(0.05)
link = re.search('href="([^"]+)"', open(files[0]).read())[1]
host, path = link.removeprefix("http://").split("/", 1)
desk = http.client.HTTPConnection(host, timeout=20)
headers = {"origin": f"http://{host}", "content-type": "application/x-www-form-urlencoded"}
desk.request("POST", f"/{path}", "", headers)
print("status", desk.getresponse().status, link)
"""


def test_the_clients_shell_cannot_sign_in_at_the_tray(home: dict[str, str], tmp_path: Path) -> None:
    attacker = tmp_path / "attacker.py"
    attacker.write_text(AT_THE_TRAY)
    with model(home, tmp_path / "errors") as side:
        side.call("archive", title="plans")
        tray, _ = fork_at_terminal(lambda: os.execvpe(INBOX[0], [*INBOX, "--tray", "--port", "0"], home))
        try:
            _, status, link = side.shell(f"{sys.executable} {attacker} {tmp_path}/run").split()
            assert status == "403"
            assert post(link)[0] == 303  # the person's own browser gets in
        finally:
            os.kill(tray, signal.SIGKILL)
            os.waitpid(tray, 0)


INTO_THE_GATEWAY = """
import os, subprocess, sys
forged = b'{"jsonrpc":"2.0","id":99,"result":{"action":"accept","content":{"ok":true}}}\\n'
for process in os.listdir("/proc"):
    try:
        if not process.isdigit():
            continue
        words = open(f"/proc/{process}/cmdline").read().split("\\0")
        if words[3:4] != ["gateway"] or sys.argv[1] not in words:
            continue
        for number in (0, 1):
            os.write(os.open(f"/proc/{process}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK), forged)
            print("wrote", process, number)
    except OSError as error:
        print(type(error).__name__, process)
"""


@only_root
def test_no_program_of_an_ordinary_user_writes_into_the_gateways_own_streams() -> None:
    """Root may do everything, so that both sides are an ordinary user here."""
    with shared_directory() as folder:
        home = make_home(folder)
        for made in (folder, *folder.rglob("*")):
            os.chown(made, NOBODY, NOBODY)
        (folder / "attacker.py").write_text(INTO_THE_GATEWAY)
        store = f"{folder}/store.db"
        with model(home, folder / "errors", "--store", store, starter=command_of_an_ordinary_user()) as side:
            tried = side.shell(f"{sys.executable} {folder}/attacker.py {store}")
    assert "PermissionError" in tried
    assert "wrote" not in tried


LOOK_INTO = """
import os, sys, time
for _ in range(600):
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{process}/cmdline").read().split("\\0")
        except OSError:
            continue
        if words[3:7] == ["inbox", "--terminal", "--port", sys.argv[1]]:
            for what in ("fd", "environ"):
                try:
                    os.listdir(f"/proc/{process}/{what}") if what == "fd" else open(f"/proc/{process}/{what}").read()
                    print("saw", what)
                except OSError as error:
                    print(type(error).__name__, what)
            sys.exit()
    time.sleep(0.05)
"""


@only_root
def test_no_program_of_an_ordinary_user_looks_into_the_open_inbox() -> None:
    """A program that may look into the inbox may trace it, too, and the desk lets the inbox in."""
    with shared_directory() as folder:
        home = make_home(folder)
        for made in (folder, *folder.rglob("*")):
            os.chown(made, NOBODY, NOBODY)
        (folder / "attacker.py").write_text(LOOK_INTO)
        with model(home, folder / "errors", starter=command_of_an_ordinary_user()) as side:
            side.call("archive", title="plans")
            port = str(os.getpid() % 50_000 + 10_000)  # it tells this inbox from those of other tests
            command = command_of_an_ordinary_user(*INBOX, "--terminal", "--port", port)
            inbox, terminal = fork_at_terminal(lambda: os.execvpe(command[0], command, home))
            try:
                shown = b""
                while b"plans" not in shown:  # from now on it is at work
                    shown += os.read(terminal, 4096)
                tried = side.shell(f"{sys.executable} {folder}/attacker.py {port}")
            finally:
                os.kill(inbox, signal.SIGKILL)
                os.waitpid(inbox, 0)
    assert tried.split() == ["PermissionError", "fd", "PermissionError", "environ"]


@contextmanager
def http_gateway(home: dict[str, str], *options: str) -> Iterator[str]:
    """A gateway over HTTP that a person started in their terminal; where clients connect."""
    server = [sys.executable, "-m", "tests.gateway.few_notes"]
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
        side.call("archive", title="plans")

        # The model opens its own page; it needs the code, and nobody made one yet. So it makes one itself.
        side.shell(f'script -qec "{INBOX_AS_TYPED}" /dev/null')
        link = link_in(tmp_path)
        status, said = post(link)
        assert (status, "handraise desk code" in said) == (403, True)
        forged = re.findall(DESK_CODE, side.shell(f'script -qec "{DESK_CODE_AS_TYPED}" /dev/null'))[0]
        status, said = post(link, code=forged)
        assert (status, "handraise desk code" in said) == (403, True)
        data = tmp_path / "data"
        side.shell(f"mkdir -m 700 {data}/forged && mv {data}/handraise/desk-code.json {data}/forged")

    made = at_a_terminal([*HANDRAISE, "desk", "code"], home)
    code = re.findall(DESK_CODE, made)[0]
    with model(home, tmp_path / "errors", launcher=HIDE_PROC) as side:
        ticket = re.findall(r"ticket '([\w-]+)'", side.call("archive", title="other plans"))[0]
        side.shell(f'script -qec "{INBOX_AS_TYPED}" /dev/null')
        link = link_in(tmp_path)
        assert post(link)[0] == 200  # asks for the code
        assert post(link, code="0000-0000")[0] == 403
        # For a moment the model puts the folder in place in which its own code from before lies.
        side.shell(f"mv {data}/handraise {data}/away && mv {data}/forged {data}/handraise")
        assert post(link, code=forged)[0] == 403
        side.shell(f"mv {data}/handraise {data}/forged && mv {data}/away {data}/handraise")
        refused = at_a_terminal([*INBOX, "--terminal"], home, [("Your desk code:", "0000-0000")])
        assert "not your desk code" in refused

        typed = [("Your desk code:", code.lower()), ("Answer:", "the shelf"), ("Write send", "send")]
        shown = at_a_terminal([*INBOX, "--terminal"], home, typed)
        assert "my notes has your answer." in shown
        assert code not in shown
        assert side.call("handraise_resume", ticket=ticket) == "archived other plans"

        side.call("archive", title="drafts")
        assert "Opened the desk" in at_a_terminal(INBOX, home)
        assert post(link_in(tmp_path), code=code)[0] == 303
        assert not Path(
            (tmp_path / "opened").read_text()
        ).exists()  # a link that was used leaves no file behind


@only_root
@pytest.mark.stranger
async def test_where_proc_is_hidden_the_desk_opens_with_a_passkey(
    browser: Browser, home: dict[str, str], tmp_path: Path
) -> None:
    button = "button.passkey"
    async with open_room(
        browser, passkeys=PasskeyFile(tmp_path / "data" / "handraise" / "passkeys.json")
    ) as room:
        room.contexts.append(await browser.new_context())
        person = Person(await room.contexts[0].new_page())
        await has_passkeys(person.page)
        await person.page.goto(room.desk.sign_in_url(local_person(), PasskeyTask("add", "laptop")))
        await person.press("main button")
        await person.armed()
        await person.press(button)
        await person.heading("Your passkey works")

        with model(home, tmp_path / "errors", launcher=HIDE_PROC) as side:
            side.call("archive", title="plans")
            side.shell(
                f'script -qec "{INBOX_AS_TYPED}" /dev/null'
            )  # the model opens the page, and gets no further
            link = link_in(tmp_path)
            status, said = post(link)
            assert (status, "Open the desk with your passkey" in said) == (200, True)
            await person.page.goto(link)
            await expect(person.page.locator(button)).to_have_text("Open the desk with your passkey")
            await person.armed()
            await person.press(button)
            await expect(person.page.locator("#inbox")).to_contain_text("my notes asks")


def test_without_process_facts_a_gateway_over_http_needs_people(home: dict[str, str]) -> None:
    server = [sys.executable, "-m", "tests.gateway.few_notes"]
    command = [*HIDE_PROC, *HANDRAISE, "gateway", "--http", "127.0.0.1:0", "--", *server]
    done = subprocess.run(command, cwd=ROOT, env=home, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "handraise gateway people add" in done.stderr
    assert "Traceback" not in done.stderr
