"""Answers as values: told apart by what they are, never by whether they are true."""

from __future__ import annotations

import pytest

from handraise import Accepted, Cancelled, Declined, Fallback
from handraise.errors import UsageError


@pytest.mark.shows("O1")
@pytest.mark.parametrize(
    "answer",
    [Accepted(True), Accepted(False), Declined(), Declined(by="answer"), Cancelled(), Fallback(True)],
)
def test_an_answer_is_neither_true_nor_false(answer: object) -> None:
    """If it were, `if await ask.confirm("Delete it?")` would delete it after a decline."""
    with pytest.raises(UsageError, match=r"^(Accepted|Declined|Cancelled|Fallback) is neither .*or_stop"):
        bool(answer)


def test_answers_are_compared_and_matched() -> None:
    assert Accepted(1) == Accepted(1)
    assert Declined() != Cancelled()  # type: ignore[comparison-overlap]
    assert [Declined(), Cancelled()].index(Cancelled()) == 1
    match Accepted("tea"):
        case Accepted(what):
            assert what == "tea"
