"""The documentation of the rules is what the rules say."""

from __future__ import annotations

import re

from tests.lint.reference import FOLDER, PAGE, reference

from handraise.lint import RULES


def test_the_reference_in_the_documentation_is_up_to_date() -> None:
    written = {path: path.read_text(encoding="utf-8") for path in (PAGE, *FOLDER.glob("*.md"))}
    assert written == reference(), "write it anew: python -m tests.lint.reference"


def test_every_rule_is_on_one_page() -> None:
    pages = "".join(text for path, text in reference().items() if path != PAGE)
    assert sorted(re.findall(r"(?m)^## (HR\d+)$", pages)) == sorted(RULES)
