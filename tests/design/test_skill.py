"""The skill for coding assistants agrees with the designer, and its code passes the linter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from tests.design.subjects import CHOOSE
from tests.design.test_decide import ASKS, REFUSED
from tests.design.test_proposal import proposed

from handraise.design.decide import ProposalKind, Why
from handraise.lint import RULES, lint_text

ROOT = Path(__file__).parents[2]
SKILL = (ROOT / "skills/elicitation-form-designer/SKILL.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", SKILL, flags=re.DOTALL)
ROWS = re.findall(r"^\| (.+?) \| (?:do not ask: )?(\w+) \| .+ \|$", SKILL, flags=re.MULTILINE)


def test_it_says_what_it_is_for() -> None:
    front = SKILL.split("---\n")[1]
    assert front.startswith("name: elicitation-form-designer\ndescription: ")
    assert "Use when" in front


@pytest.mark.parametrize("snippet", SNIPPETS, ids=["choose", "context"])
def test_its_code_passes_the_linter(snippet: str) -> None:
    assert lint_text(snippet) == []
    assert lint_text(snippet.replace("async def", "@server.tool()\nasync def", 1)) == []


def test_its_first_example_is_what_the_designer_writes() -> None:
    assert proposed(CHOOSE).code.startswith(SNIPPETS[0].replace("Delete a note.", "Delete notes."))


@pytest.mark.shows("U6")
def test_its_table_has_every_verdict_of_the_designer_in_its_order() -> None:
    verdicts = [verdict for _, verdict in ROWS if verdict != "verdict"]
    assert set(verdicts) == {*get_args(ProposalKind), *get_args(Why)}
    covered = {kind for _, kind in ASKS.values()} | {why for _, why in REFUSED.values()}
    assert covered == set(verdicts)
    order = ["page", "loop", "asks_already", "read_only"]
    order += ["confirm_many", "choose_one", "choose_and_confirm", "confirm"]
    assert verdicts[: len(order)] == order


def test_the_page_has_the_same_rows() -> None:
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8").partition("| the tool | verdict |")[2]
    assert page.count("\n| ") == len([row for row in ROWS if row[1] != "verdict"])


def test_it_branches_and_limits_as_the_designer_does() -> None:
    proposal = proposed(CHOOSE)
    assert all(f"| {branch.outcome} |" in SKILL for branch in proposal.branches)
    assert proposal.rate in " ".join(SKILL.split())


def test_every_rule_that_it_names_exists() -> None:
    assert set(re.findall(r"HR\d{3}", SKILL)) <= RULES.keys()
