"""Every command of the README and the documentation runs: where it stands, on a stage, or in a test named for it.

A command that a page shows at a prompt is run by `test_snippets`, or by the test that its block names. One that
stands in a sentence, in a client's configuration or among the examples of `--help` runs here, in a home where all of
it is there that it speaks of. A new one runs like that and has to succeed, or has to be put into a table below.
"""

from __future__ import annotations

import re
import shlex
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from docs.make.commands import command_tree
from tests.docs.named import named_commands
from tests.docs.snippets import ROOT, idle_commands, pages
from tests.docs.stage import Stage, set_up

TREE = dict(command_tree())
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
STATUS = {
    "handraise answer ID": 2,
    "handraise call --desk script:answers.json": 2,
    "handraise call --trace": 2,
    "handraise gateway --desk always": 2,
    "handraise call create_issue": 1,
    "handraise check answer '{": 1,
    "handraise check url https://github.com@evil": 1,
    "handraise lint src/": 1,
    "handraise lint .": 1,
    "handraise policy why question.json": 1,
    "handraise policy why '{": 1,
}
"""How commands end that begin like this and find something, or that only name an option and say what else they need."""

DONE = [("Answer:", "Ada"), ("Write send", "send")]
TYPED = {
    "handraise call greet '{": DONE,
    "handraise call greet --trace": DONE,
    "handraise call create_issue": [("Write open", "!cancel")],
    "handraise call greet --desk web": [("sign-in", "\x03")],
    "handraise demo --desk web": [("model calls", "\x03")],
    "handraise gateway install --client cl": [("[y/N]", "y")],
    "handraise inbox --terminal --all": [("Questions appear", "\x03")],
    "handraise inbox --tray": [("Your tray opens", "\x03")],
    "handraise ledger show --follow": [("asked", "\x03")],
}
"""What is waited for and typed in a terminal, by how the command begins. The third control character ends a command."""

ELSEWHERE = {
    "handraise answer 5f": "test_a_parked_question_is_answered_from_another_terminal",
    "handraise call greet --desk parked": "test_a_parked_question_is_answered_from_another_terminal",
    "handraise demo": "test_without_a_terminal_a_scripted_person_takes_the_tour",
    "make demo": "test_without_a_terminal_a_scripted_person_takes_the_tour",
    "handraise desk passkey add": "test_passkeys_are_added_listed_and_removed",
    "handraise desk passkey remove": "test_passkeys_are_added_listed_and_removed",
    "handraise gateway --http": "test_a_gateway_serves_people_over_http",
    "handraise store migrate --store postgresql:": "test_the_examples_of_the_help_work_with_a_database",
    "handraise store prune --store postgresql:": "test_the_examples_of_the_help_work_with_a_database",
    "handraise store status --store postgresql:": "test_the_examples_of_the_help_work_with_a_database",
    "make bench": "test_a_part_runs_to_its_end",
    "make check": "test_a_target_does_what_the_readme_says",
    "make clients": "test_what_is_made_or_installed_exists",
    "make lexicons": "test_what_is_made_or_installed_exists",
    "make test": "test_a_target_does_what_the_readme_says",
    "python -m bench": "test_a_part_runs_to_its_end",
    "npm install --global": "test_mcpdo_is_brought_by_what_the_page_says_to_install",
    "npx @modelcontextprotocol/inspector": "test_the_web_page_of_the_inspector_starts",
    "pip install": "test_what_the_documents_say_to_install_is_installed",
}
"""The tests that run commands which begin like this."""

COMMANDS = list(dict.fromkeys(command for page in pages() for command in named_commands(page)))


def fitting(table: Mapping[str, object], command: str) -> str | None:
    """The longest entry of a table with which a command begins."""
    return max((begin for begin in table if command.startswith(begin)), key=len, default=None)


def staged() -> Iterator[str]:
    """The commands that run here."""
    for command in COMMANDS:
        if fitting({**ELSEWHERE, **TYPED}, command) not in ELSEWHERE:
            yield command


@pytest.fixture(scope="module")
def stage(programs: Path) -> Iterator[Stage]:
    with (
        tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder,
        set_up(Path(folder), programs) as stage,
    ):
        yield stage


@pytest.mark.slow
@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize("command", list(staged()))
def test_a_command_that_a_page_names_runs(stage: Stage, command: str) -> None:
    real = stage.real(command)
    stage.prepare(command)
    if (typed := fitting(TYPED, command)) is not None:
        with stage.at_a_terminal(real) as terminal:
            for prompt, words in TYPED[typed]:
                terminal.wait_for(prompt)
                terminal.type(words)
            status, told = terminal.end(), terminal.shown
    else:
        done = stage.run(real)
        status, told = done.returncode, done.stdout + done.stderr
    assert status in _ends(command), told
    assert "Traceback" not in told


def _ends(command: str) -> set[int]:
    """The status with which a command may end; one that is only named may lack what it needs, and says so."""
    if command in TREE:
        return {0, 1, 2}
    typed = fitting(TYPED, command)
    if typed is not None and TYPED[typed][-1][1] == "\x03":
        return {0, 130}
    return {STATUS.get(fitting(STATUS, command) or "", 0)}


def test_no_command_of_a_page_is_left_out() -> None:
    assert not [command for page in pages() for command in idle_commands(page)]


def test_the_tests_that_run_commands_are_there() -> None:
    named = {
        block.mark["test"] for page in pages() for block in page.blocks if block.mark and block.mark["test"]
    }
    written = set()
    tests = ROOT / "tests"
    for path in [*tests.glob("*/test_*.py"), *tests.glob("*/*/test_*.py")]:
        written |= set(re.findall(r"(?m)^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8")))
    assert named | set(ELSEWHERE.values()) <= written


@pytest.mark.parametrize("table", [STATUS, TYPED, ELSEWHERE])
def test_a_table_has_nothing_that_no_page_names(table: Mapping[str, object]) -> None:
    used = {fitting(table, command) for command in COMMANDS}
    assert not table.keys() - used


def problem_with(command: str) -> str | None:
    """Why a command that is not run here cannot be right."""
    words = shlex.split(command, comments=True)
    match words:
        case ["make", target, *_]:
            return None if target in TARGETS else f"the Makefile has no {target}"
        case ["pip", "install", *what]:
            extras = {extra for each in what for extra in re.findall(r"handraise\[([\w,]+)\]", each)}
            unknown = {name for extra in extras for name in extra.split(",")} - EXTRAS.keys()
            return f"there is no extra {unknown}" if unknown else None
    return None


@pytest.mark.parametrize("command", [command for command in COMMANDS if command[:4] in {"make", "pip "}])
def test_what_is_made_or_installed_exists(command: str) -> None:
    assert problem_with(command) is None


@pytest.mark.parametrize("command", ["make fly", "pip install 'handraise[fly]'"])
def test_what_does_not_exist_is_found(command: str) -> None:
    assert problem_with(command) is not None
