"""What a document shows of a person at a terminal happens as it shows it: somebody types, or looks at a browser."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.docs.named import named_commands
from tests.docs.shell import Shell, free_port
from tests.docs.snippets import Block, blocks_run_by, commands, pages
from tests.docs.stage import CLIENT, SERVER
from tests.ledger.examples import ABOUT, a_trail
from tests.login_shell import from_login_shell
from tests.server.filling import SECRET, fill

from handraise.ledger import Ledger

pytestmark = [pytest.mark.xdist_group("documents"), pytest.mark.slow]

PAGES = {page.name: page for page in pages()}
LINES = [("Answer:", "Ada"), ("Write send", "send")]
VARIES = {
    r"\b[0-9a-f]{16}\b": "ID",
    r"code(:| to answer with is)? [0-9A-Z]{4}-[0-9A-Z]{4}": r"code\1 CODE",
    r"\d\d-\d\d \d\d:\d\d:\d\d": "WHEN",
    r"\d+\.\d…": "TIME…",
    r"(?m) +$": "",
}
"""What is another each time: ids, codes, times. Blanks at the ends of lines are not looked at."""


def looks_like(shown: str, expected: str) -> bool:
    """Whether a screen has this on it. `…` stands for anything within a line."""
    for pattern, name in VARIES.items():
        shown, expected = re.sub(pattern, name, shown), re.sub(pattern, name, expected)
    found = ".*".join(map(re.escape, expected.strip().split("…")))
    return re.search(found, shown) is not None


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what no event tells of: something that another process does to a file or a port."""
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends, "it does not come"
        time.sleep(0.02)


def only(blocks: list[Block]) -> list[tuple[str, str]]:
    """The commands of the blocks, each with what it shows."""
    return [each for block in blocks for each in commands(block)]


@pytest.mark.shows("T1")
def test_the_desk_in_lines_looks_as_the_tutorial_shows_it(shell: Shell) -> None:
    [(command, expected)] = only(blocks_run_by("test_the_desk_in_lines_looks_as_the_tutorial_shows_it"))
    shell.add_files(PAGES["docs/tutorial.md"].files)
    with shell.at_a_terminal(command) as terminal:
        for prompt, words in [("Answer:", "2"), ("Write send", "send")]:
            terminal.wait_for(prompt)
            terminal.type(words)
        assert terminal.end() == 0
    assert looks_like(terminal.shown, expected), terminal.shown


def test_a_password_is_typed_into_the_page_that_the_desk_opens(shell: Shell) -> None:
    [(command, _)] = only(blocks_run_by("test_a_password_is_typed_into_the_page_that_the_desk_opens"))
    shell.add_files(PAGES["docs/tutorial.md"].files)
    with shell.at_a_terminal(command) as terminal:
        terminal.wait_for("Write open")
        terminal.type("open")
        opened = shell.folder / "opened"
        wait_until(opened.exists)
        link = opened.read_text().strip()
        assert asyncio.run(fill(link, {"do": "enter", "s0": SECRET})) == 303
        assert terminal.end() == 0
    assert terminal.shown.endswith("Signed in with Secret(•••): 2 orders.\n")
    assert SECRET not in terminal.shown


@pytest.mark.parametrize(
    "command", [command for command, _ in only(blocks_run_by("test_a_small_client_has_a_desk"))]
)
def test_a_small_client_has_a_desk(shell: Shell, command: str) -> None:
    shell.add_files({"greeter.py": SERVER, "notes.py": SERVER, "Notes/Plan.md": "# Plan\n"})
    with shell.at_a_terminal(command) as terminal:
        for prompt, words in LINES if " greet " in command else []:
            terminal.wait_for(prompt)
            terminal.type(words)
        assert terminal.end() == 0
    assert terminal.shown.endswith("Hello Ada\n" if " greet " in command else "Notes\n"), terminal.shown


def test_a_note_is_deleted_after_a_yes(shell: Shell) -> None:
    [(command, _)] = only(blocks_run_by("test_a_note_is_deleted_after_a_yes"))
    shell.add_files({"Notes/Plan.md": "# Plan\n"})
    with shell.at_a_terminal(command) as terminal:
        terminal.wait_for("Write yes or no:")
        terminal.type("yes")
        assert terminal.end() == 0
    assert not (shell.folder / "Notes/Plan.md").exists()


PARKED = """
from dataclasses import dataclass
from handraise import Handraise, ask
from mcp.server.mcpserver import MCPServer

server = Handraise().install(MCPServer("notes"))

@dataclass
class Note:
    title: str

@server.tool()
async def delete_note(title: str) -> str:
    return f"Deleted {(await ask.text('Several notes match. Which one?')).or_stop()}."

@server.tool()
async def greet() -> str:
    return " ".join([(await ask("Which note?", Note)).action for _ in range(3)])

if __name__ == "__main__":
    server.run()
"""


def test_a_parked_question_is_answered_from_another_terminal(shell: Shell) -> None:
    asking, answering = only(blocks_run_by("test_a_parked_question_is_answered_from_another_terminal"))
    shell.add_files({"notes.py": PARKED})
    [shown] = re.findall(r"answer ([0-9a-f]{16})", answering[0])
    with shell.at_a_terminal(asking[0]) as first:
        id_, code = parked(first.wait_for("--cancel"))
        with shell.at_a_terminal(answering[0].replace(shown, id_)) as second:
            second.wait_for("the desk shows:")
            second.type(code)
            assert second.end() == 0
        assert first.end() == 0
    assert looks_like(first.shown, asking[1]), first.shown
    assert looks_like(second.shown, answering[1]), second.shown
    assert first.shown.endswith("Deleted hello.\n")


def parked(shown: str) -> tuple[str, str]:
    """The id under which a question waits, and the code of its desk."""
    [*_, id_] = re.findall(r"handraise answer ([0-9a-f]{16})", shown)
    return id_, re.findall(r"code to answer with is ([\w-]+)", shown)[0]


def test_the_examples_for_answering_by_id_work(shell: Shell) -> None:
    examples = dict.fromkeys(named_commands(PAGES["docs/reference/commands.md"]))
    [asking] = [each for each in examples if "--desk parked" in each]
    answers = sorted(
        each for each in examples if "answer 5f0c2a91d3b74e68" in each
    )  # a decline wants quiet: last
    shell.add_files({"server.py": PARKED})
    with shell.at_a_terminal(asking) as first:
        shown = ""
        taken: set[str] = set()
        while len(taken) < len(answers):
            shown += first.wait_for("--cancel")
            id_, code = parked(shown)
            if id_ in taken:
                continue
            shell.add_files({"code.txt": code})
            with shell.at_a_terminal(answers[len(taken)].replace("5f0c2a91d3b74e68", id_)) as second:
                if "--credential-file" not in answers[len(taken)]:
                    second.wait_for("the desk shows:")
                    second.type(code)
                assert second.end() == 0, second.shown
            taken.add(id_)
        assert first.end() == 0
    assert first.shown.splitlines()[-1] == "accept cancel decline"


async def _asked_and_answered(path: Path) -> None:
    ledger = Ledger.at(path)
    trail = a_trail(ledger, 1, about=ABOUT)
    for record in (trail.asked(), trail.shown(), trail.decided("accept", "human", content={"which": "a"})):
        await ledger.record(record)
    await ledger.aclose()


def test_a_ledger_is_shown_and_what_was_removed_is_found(shell: Shell) -> None:
    told = only(blocks_run_by("test_a_ledger_is_shown_and_what_was_removed_is_found"))
    show, verify = sorted(told)  # by their commands: they stand on two pages
    path = shell.folder / ".local" / "share" / "handraise" / "ledger.db"
    asyncio.run(_asked_and_answered(path))
    shown = shell.run(show[0]).stdout
    assert looks_like(shown, show[1]), shown
    (shell.folder / "mail").mkdir()
    assert shell.run("handraise ledger checkpoint > mail/checkpoint.txt").returncode == 0
    assert shell.run(verify[0]).returncode == 0
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM events WHERE number = 3")
    found = shell.run(verify[0])
    assert (found.returncode, found.stdout) == (1, verify[1])


def test_a_desk_code_is_shown_once_at_the_terminal(shell: Shell) -> None:
    [(command, expected)] = only(blocks_run_by("test_a_desk_code_is_shown_once_at_the_terminal"))
    with shell.at_a_terminal(command) as terminal:
        assert terminal.end() == 0
    assert looks_like(terminal.shown, expected), terminal.shown


def test_the_gateway_is_put_in_front_of_a_client(shell: Shell) -> None:
    [(command, expected)] = only(blocks_run_by("test_the_gateway_is_put_in_front_of_a_client"))
    shell.add_files({".cursor/mcp.json": str(CLIENT).replace("'", '"')})
    shown = shell.run(command).stdout.replace(str(shell.folder), "/home/ann")
    assert re.sub(r"/\S*/handraise gateway", "/home/ann/.local/bin/handraise gateway", shown) == expected


def test_the_inbox_opens_the_desk_and_the_call_goes_on(shell: Shell, programs: Path) -> None:
    shown = only(blocks_run_by("test_the_inbox_opens_the_desk_and_the_call_goes_on"))
    [(client, ordered)] = [each for each in shown if "gateway" in each[0]]
    [of_notes, of_tea] = [each for each in shown if "gateway" not in each[0]]
    assert of_notes[1].replace("notes", "tea") == of_tea[1]
    shell.add_files(PAGES["docs/tutorial.md"].files)
    # The real programs: those that are forked for speed would all be children of one process of the test's.
    path = shell.environment["PATH"].replace(f"{programs}{os.pathsep}", "")
    environment = {**shell.environment, "PATH": path}
    with from_login_shell(["sh", "-c", client], environment, shell.folder) as waiting:
        wait_until(lambda: "tea" in shell.run("handraise pending").stdout)
        with shell.at_a_terminal(of_tea[0]) as terminal:
            assert terminal.end() == 0, terminal.shown
        assert terminal.shown == of_tea[1]
        assert "http://127.0.0.1:" in Path((shell.folder / "opened").read_text().strip()).read_text()
        with shell.at_a_terminal("handraise inbox --terminal") as terminal:
            terminal.wait_for("Answer:")
            terminal.type("2")
            terminal.wait_for("Write send")
            terminal.type("send")
            assert terminal.end() == 0
        assert waiting.stdout.read() == ordered


@contextmanager
def serving(shell: Shell, command: str, port: int) -> Iterator[None]:
    """A gateway over HTTP that takes connections."""
    with subprocess.Popen(
        f"exec {command}", shell=True, cwd=shell.folder, env=shell.environment, stdin=subprocess.DEVNULL
    ) as gateway:
        try:
            wait_until(lambda: _answers(port))
            yield
        finally:
            gateway.terminate()
            assert gateway.wait(20) is not None


def _answers(port: int) -> bool:
    with socket.socket() as visitor:
        return visitor.connect_ex(("127.0.0.1", port)) == 0


def test_a_gateway_serves_people_over_http(shell: Shell) -> None:
    add, serve, link = only(blocks_run_by("test_a_gateway_serves_people_over_http"))
    examples = named_commands(PAGES["docs/reference/commands.md"])
    others = [each for each in dict.fromkeys(examples) if each.startswith("handraise gateway --http")]
    shell.add_files({"server.py": SERVER, "servers.json": str(CLIENT).replace("'", '"')})
    shell.add_program("npx", "exec python server.py")
    token = shell.run(add[0]).stdout
    assert token not in (shell.folder / "people.json").read_text()
    for command in (serve[0], *others):
        port = free_port()
        with serving(shell, command.replace("8765", str(port)), port):
            pass
    made = shell.run(link[0])
    assert made.stdout.startswith("https://gateway.example.com/enter/"), made.stderr
