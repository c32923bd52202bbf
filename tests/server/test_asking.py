"""A question takes the arguments that it has, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handraise import ask


@pytest.mark.parametrize(
    "question",
    [
        lambda **more: ask("Which?", str, **more),
        lambda **more: ask.number("How many?", **more),
        lambda **more: ask.confirm("Sure?", **more),
        lambda **more: ask.open("Look", "https://example.com", **more),
        lambda **more: ask.secret("API key", **more),
    ],
    ids=["ask", "number", "confirm", "open", "secret"],
)
def test_an_argument_that_no_question_takes_is_refused_by_name(question: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"'integre'.*timeout"):
        question(integre=True)
