"""The whole way: a client that cannot ask, a model with a shell, and a person who answers in Chromium."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import HANDRAISE
from tests.desks.web.browsing import Person, open_browser
from tests.gateway.sides import at_a_terminal, link_in, make_home, model, opened_file

pytestmark = [pytest.mark.anyio, pytest.mark.stranger, pytest.mark.slow]

KNOCK = """
import json, os, pathlib, socket, sys
for door in pathlib.Path(os.environ['XDG_RUNTIME_DIR'], 'handraise').glob('*.desk'):
    with socket.socket(socket.AF_UNIX) as visit:
        visit.connect(str(door))
        visit.sendall(json.dumps(json.loads(sys.argv[1])).encode() + b'\\n')
        print(visit.makefile().readline())
"""
SIGN_IN = """
import sys, urllib.error, urllib.request
origin = sys.argv[1].partition('/sign-in/')[0]
post = urllib.request.Request(sys.argv[1], b'', {'Origin': origin})
try:
    print(urllib.request.urlopen(post).geturl())
except urllib.error.HTTPError as refused:
    print(refused.code, refused.read().decode())
"""
ANSWER = "the blue folder"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return make_home(tmp_path)


@pytest.mark.shows("W2", "W9")
async def test_a_person_answers_at_the_desk_what_the_model_could_not(
    home: dict[str, str], tmp_path: Path
) -> None:
    inbox = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' inbox"
    errors = tmp_path / "errors.txt"
    with model(home, errors) as side:
        parked = side.call("archive", title="plans")
        found = re.search(r"ticket '([\w-]+)'", parked)
        assert found is not None, parked

        assert "needs you at a terminal" in side.shell(inbox)
        for request in ("sign in", "read", "decide"):
            knock = f"""{sys.executable} -c "{KNOCK}" '{{"do": "{request}"}}'"""
            assert "person at a terminal only" in side.shell(knock)
        assert "does not open to a program that the client started" in side.shell(
            f'script -qec "{inbox}" /dev/null'
        )
        pending = side.shell(inbox.replace("inbox", "pending") + " --json")
        question = json.loads(pending)[0]["id"]
        answer = inbox.replace("inbox", f"answer {question}") + " --decline --credential-file /dev/stdin"
        assert "not the code" in side.shell(f"echo 0000-0000 | {answer}")
        everything = f"{errors} $(find {home['XDG_RUNTIME_DIR']} {home['XDG_DATA_HOME']} -type f)"
        side.shell(
            f"cat /proc/*/environ /proc/*/cmdline; cat {everything}; ls -l /proc/*/fd; cat /proc/net/unix"
        )
        assert "sign-in/" not in side.saw

        shown = at_a_terminal([*HANDRAISE, "inbox"], home)
        assert "Opened the desk where my notes asks you" in shown
        assert "sign-in/" not in shown
        assert (
            "sign-in/" not in (tmp_path / "opened").read_text()
        )  # everybody can see the arguments of programs
        file, link = opened_file(tmp_path), link_in(tmp_path)
        refused = side.shell(f'{sys.executable} -c "{SIGN_IN}" {link}')
        assert refused.startswith("403")
        assert "does not open to a program that the client started" in refused
        async with open_browser() as browser:
            person = Person(await browser.new_page())
            await person.page.goto(file.as_uri())
            await person.page.wait_for_url(link)
            await person.press("main button")
            await person.page.locator("#inbox").wait_for()
            assert file.name not in os.listdir(file.parent)
            code = await person.page.locator(".code").text_content(timeout=5_000)
            await person.open()
            await person.type("#f0", ANSWER)
            await person.armed()
            await person.press("button[value=send]")
            await person.heading("Sent")

        assert side.call("handraise_resume", ticket=found[1]) == "archived plans"

        found = re.search(r"ticket '([\w-]+)'", side.call("archive", title="drafts"))
        assert found is not None
        (tmp_path / "code").write_text(str(code))
        assert "drafts" in answered_by_id({"answer": ANSWER}, tmp_path / "code", home)
        assert side.call("handraise_resume", ticket=found[1]) == "archived drafts"
        assert ANSWER not in side.saw
        assert str(code) not in side.saw


def answered_by_id(content: object, code: Path, home: dict[str, str]) -> str:
    """Answer the one question that waits from a shell of the person's own; how it was listed."""
    listed = subprocess.run([*HANDRAISE, "pending", "--json"], env=home, capture_output=True, check=True)
    (question,) = json.loads(listed.stdout)
    answer = ["answer", question["id"], "--accept", json.dumps(content), "--credential-file", str(code)]
    subprocess.run([*HANDRAISE, *answer], env=home, check=True)
    return listed.stdout.decode()
