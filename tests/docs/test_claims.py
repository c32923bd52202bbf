"""What the page about security claims is backed: by tests that exist, and by pages of the specification."""

from __future__ import annotations

import re

import pytest
from docs.make.requirements import shown_by
from tests.docs.snippets import ROOT

pytestmark = pytest.mark.shows("T1")

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
CLAIMS = re.findall(r"\[(\w+)\]\(requirements\.md#(\w+)\) ([^|]+?) \|$", PAGE, flags=re.MULTILINE)


def test_every_attack_names_a_requirement_and_a_test_that_shows_it() -> None:
    shown = {id_: {line.partition(" (")[0] for line in lines} for id_, lines in shown_by().items()}
    assert len(CLAIMS) > 25
    wrong = [
        (id_, sentence)
        for id_, anchor, sentence in CLAIMS
        if anchor != id_.lower() or sentence not in shown.get(id_, ())
    ]
    assert not wrong


def test_a_rule_of_the_specification_is_cited_with_its_revision() -> None:
    cited = re.findall(r"\[([^\]]+)\]\(https://modelcontextprotocol\.io/specification/([\d-]+)/", PAGE)
    assert len(cited) > 10
    assert all(words.startswith(revision) for words, revision in cited)
