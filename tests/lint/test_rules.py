"""The rules as a table: each teaches with code that it fires on, and code that is right."""

from __future__ import annotations

import pytest

from handraise.lint import RULES, LintRule, lint_text
from handraise.lint.rules import UNREADABLE, answers, how_to_ask, when_to_ask

EVERY = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@EVERY
def test_the_wrong_code_breaks_this_rule_and_no_other(rule: LintRule) -> None:
    assert {finding.code for finding in lint_text(rule.wrong)} == {rule.code}


@EVERY
def test_the_right_code_breaks_no_rule(rule: LintRule) -> None:
    assert lint_text(rule.right) == []


@EVERY
def test_what_it_says_are_sentences(rule: LintRule) -> None:
    for text in (rule.sentence, rule.why, rule.fix):
        assert text.endswith("."), text
    assert rule.sentence.count(".") - rule.sentence.count("ctx.") - rule.sentence.count("session.") == 1


def test_every_check_has_its_words() -> None:
    checks = answers.CHECKS.keys() | how_to_ask.CHECKS.keys() | when_to_ask.CHECKS.keys()
    assert RULES.keys() == checks | {UNREADABLE}


def test_codes_are_in_order() -> None:
    assert list(RULES) == sorted(RULES)
