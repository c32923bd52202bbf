"""The documentation of the rules is what the rules say."""

from __future__ import annotations

from tests.lint.reference import HEADING, PAGE, reference


def test_the_reference_in_the_documentation_is_up_to_date() -> None:
    _, heading, section = PAGE.read_text(encoding="utf-8").partition(HEADING)
    assert heading + section == reference(), "write it anew: python -m tests.lint.reference"
