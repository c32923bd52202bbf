"""What the pages claim is backed: the tests that they name exist, and security claims cite a revision."""

from __future__ import annotations

import re

import pytest
from tests.docs.snippets import ROOT
from tests.requirements import REQUIREMENTS

SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROWS = [line for line in SECURITY.splitlines() if NAMED.search(line)]


@pytest.mark.shows("T1")
@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_a_test_that_a_page_names_exists(path: object) -> None:
    for file, name in NAMED.findall(path.read_text(encoding="utf-8")):  # type: ignore[attr-defined]
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {name}"


@pytest.mark.shows("T1")
def test_every_attack_names_a_requirement_and_a_test() -> None:
    assert len(ROWS) > 25
    for row in ROWS:
        found = re.search(r"\[(\w+)\]\(requirements\.md#(\w+)\)", row)
        assert found, row
        assert found[1] in REQUIREMENTS
        assert found[1].lower() == found[2]


@pytest.mark.shows("T1")
def test_a_rule_of_the_specification_is_cited_with_its_revision() -> None:
    cited = re.findall(r"\[([^\]]+)\]\(https://modelcontextprotocol\.io/specification/([\d-]+)/", SECURITY)
    assert len(cited) > 10
    assert all(words.startswith(revision) for words, revision in cited)
