"""The code to paste type-checks, passes the linter, and asks on every revision."""

from __future__ import annotations

import ast
import keyword
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestFormParams, ElicitResult, TextContent
from tests.design.subjects import (
    CHOOSE,
    CONFIRM,
    DEPLOY,
    MANY,
    PAGE,
    REPOSITORY,
    SEND,
    TEXT,
    TIMEZONE,
    WORTH_ASKING,
)
from tests.design.test_proposal import proposed
from tests.server.filling import AtTheBrowser
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, connect

from handraise import Handraise
from handraise.design import Proposal, ToolDescription, propose, tool_of_schema
from handraise.design.functions import tool_of_function
from handraise.lint import lint_text
from handraise.revisions import Revision

ROOT = Path(__file__).parents[2]
SAID_NO = "The person said no. Nothing was changed; do not ask again."
DISMISSED = "Nothing was decided or changed. Come back to it later if they wish."
EVERY_REVISION = pytest.mark.parametrize("revision", REVISIONS, ids=str)


@pytest.mark.shows("U6")
@pytest.mark.parametrize("subject", WORTH_ASKING, ids=lambda subject: subject.name)
def test_it_passes_the_linter(subject: ToolDescription) -> None:
    code = proposed(subject).code
    assert lint_text(code) == []
    assert lint_text(code.replace("async def", "@server.tool()\nasync def", 1)) == []


@pytest.mark.slow
@pytest.mark.shows("U6")
def test_it_type_checks_and_is_formatted(tmp_path: Path) -> None:
    for subject in WORTH_ASKING:
        (tmp_path / f"{subject.name}.py").write_text(proposed(subject).code)
    bin_ = Path(sys.executable).parent
    for command in (
        ["mypy", "--strict"],
        ["ruff", "check", "--isolated", "--no-cache"],
        ["ruff", "format", "--isolated", "--no-cache", "--check", "--line-length=100"],
    ):
        paths = [str(path) for path in sorted(tmp_path.glob("*.py"))]
        done = subprocess.run(
            [str(bin_ / command[0]), *command[1:], *paths],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr


async def played(
    subject: ToolDescription,
    revision: Revision,
    person: Any,
    arguments: dict[str, Any],
    own: dict[str, Callable[..., Any]],
) -> str:
    """Paste the code into a server, fill in what is the author's own, and call the tool."""
    module = ModuleType("pasted")
    exec(compile(proposed(subject).code, "pasted.py", "exec", dont_inherit=True), module.__dict__)
    module.__dict__.update(own)
    server = MCPServer("pasted")
    server.tool()(getattr(module, subject.name))
    Handraise().install(server)
    with anyio.fail_after(60):
        async with connect(server, revision, person) as client:
            result = await client.call_tool(subject.name, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def look_up(*_: object) -> dict[str, str]:
    return {"n1": "Tea, 2024", "n2": "Tea, 2025"}


def many(*_: object) -> dict[str, str]:
    return {str(number): f"note {number}" for number in range(47)}


def carry_out(*given: object) -> str:
    return f"Done: {', '.join(map(str, given))}"


ARGUMENTS: dict[ToolDescription, dict[str, Any]] = {
    CONFIRM: {"amount": 12.5, "account": "house"},
    MANY: {"folder": "old"},
    SEND: {"to": ["a", "b"], "text": "hi"},
    CHOOSE: {"title": "Tea"},
    TIMEZONE: {"title": "tea"},
    REPOSITORY: {"title": "broken"},
    DEPLOY: {"version": "7"},
}
ACCEPTED: dict[ToolDescription, tuple[ElicitResult, str]] = {
    CONFIRM: (accept(answer=True), "Done: 12.5, house, None"),
    MANY: (accept(answer=True), "Done: {'n1': 'Tea, 2024', 'n2': 'Tea, 2025'}, False"),
    SEND: (accept(answer=True), "Done: {'n1': 'Tea, 2024', 'n2': 'Tea, 2025'}, hi"),
    CHOOSE: (accept(answer="n2"), "Done: n2"),
    TIMEZONE: (accept(answer="Europe/Oslo"), "Done: tea, Europe/Oslo"),
    REPOSITORY: (accept(answer="n1"), "Done: broken, n1"),
    DEPLOY: (accept(answer="n2", confirm=True), "Done: 7, n2"),
}
OWN: dict[str, Callable[..., Any]] = {
    "look_up": look_up,
    "carry_out": carry_out,
    "check": lambda typed: None if "/" in typed else f"{typed} is no time zone.",
}


@pytest.mark.shows("U6", "N6")
@EVERY_REVISION
@pytest.mark.parametrize("subject", ARGUMENTS, ids=lambda subject: subject.name)
async def test_each_answer_has_its_own_end(subject: ToolDescription, revision: Revision) -> None:
    yes, done = ACCEPTED[subject]
    for answer, said in ((yes, done), (DECLINE, SAID_NO), (CANCEL, DISMISSED)):
        person = Person(answer)
        assert await played(subject, revision, person, ARGUMENTS[subject], OWN) == said
        assert len(person.asked) == 1


@EVERY_REVISION
async def test_many_are_confirmed_by_typing_the_number(revision: Revision) -> None:
    person = Person(accept(answer="yes"), accept(answer="47"))
    own: dict[str, Callable[..., Any]] = {
        "look_up": many,
        "carry_out": lambda found, _: f"{len(found)} are gone.",
    }
    said = await played(MANY, revision, person, {"folder": "old"}, own)
    assert said == "47 are gone."
    assert person.messages[0].startswith("Purge 47 notes, among them note 0, note 1, note 2?")
    assert "Type 47, or decline." in person.messages[1]


@EVERY_REVISION
async def test_what_changed_meanwhile_is_left_alone(revision: Revision) -> None:
    there = [{"n1": "Tea"}, {}]
    own: dict[str, Callable[..., Any]] = {"look_up": lambda *_: there.pop(0), "carry_out": carry_out}
    said = await played(CHOOSE, revision, Person(accept(answer="n1")), {"title": "Tea"}, own)
    assert said == "It is gone meanwhile. Nothing was changed."


@EVERY_REVISION
async def test_a_choice_that_is_not_confirmed_is_a_no_and_what_was_given_is_suggested(
    revision: Revision,
) -> None:
    person = Person(accept(answer="n2", confirm=False))
    assert await played(DEPLOY, revision, person, {"version": "7", "environment": "n1"}, OWN) == SAID_NO
    [asked] = person.asked
    assert isinstance(asked, ElicitRequestFormParams)
    suggested = asked.requested_schema["properties"]["answer"].get("default")
    assert suggested == (None if revision is Revision.JUNE_2025 else "n1"), "that revision has no suggestions"


@EVERY_REVISION
async def test_a_client_that_cannot_be_asked_is_told_what_to_do(revision: Revision) -> None:
    said = await played(TIMEZONE, revision, None, {"title": "tea"}, OWN)
    assert said == "Ask the person in the chat, and call again with `timezone`."
    assert (
        await played(TIMEZONE, revision, None, {"title": "tea", "timezone": "UTC"}, OWN) == "Done: tea, UTC"
    )


@EVERY_REVISION
async def test_a_page_is_opened_where_the_revision_has_them(revision: Revision) -> None:
    own: dict[str, Callable[..., Any]] = {
        "carry_out": lambda secret, host: f"{type(secret).__name__} for {host}"
    }
    if revision is Revision.JUNE_2025:
        said = await played(PAGE, revision, Person(), {"host": "h"}, own)
        assert said == "This client cannot open pages. Nothing was changed."
        return
    browser = AtTheBrowser()
    assert await played(PAGE, revision, browser, {"host": "h"}, own) == "Secret for h"
    assert await browser.done() == [303]
    assert await played(PAGE, revision, Person(DECLINE), {"host": "h"}, own) == SAID_NO
    assert await played(PAGE, revision, Person(CANCEL), {"host": "h"}, own) == DISMISSED


@given(
    name=st.text(max_size=30),
    arguments=st.dictionaries(
        st.text(max_size=20) | st.sampled_from([*keyword.kwlist, "environment", "2from"]),
        st.just(TEXT),
        max_size=4,
    ),
    description=st.text(max_size=200) | st.just('"""\nimport os\n"""'),
)
@settings(max_examples=60, deadline=None)
def test_a_server_cannot_write_code(name: str, arguments: dict[str, Any], description: str) -> None:
    schema = {"properties": arguments, "required": []}
    result = propose(tool_of_schema(name, description, schema, {"destructiveHint": True}))
    assert isinstance(result, Proposal)
    assert lint_text(result.code) == []
    for statement in ast.parse(result.code).body:
        if isinstance(statement, ast.ImportFrom):
            assert statement.module in ("handraise", "handraise.forms", "handraise.vault")
        else:
            assert isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)


def test_an_argument_keeps_its_default() -> None:
    async def delete_branch(branch: str, force: bool = False, tries: int = 3, why: str | None = None) -> None:
        """Delete a branch for good."""

    proposal = propose(tool_of_function(delete_branch))
    assert isinstance(proposal, Proposal)
    code = proposal.code
    assert "(branch: str, force: bool = False, tries: int = 3, why: str | None = None) -> str:" in code
    assert "def carry_out(branch: str, force: bool, tries: int, why: str | None) -> str:" in code
