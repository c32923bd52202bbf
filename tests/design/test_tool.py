"""Whatever a server calls its things, code gets names that it can use."""

from __future__ import annotations

import keyword

import pytest

from handraise.design.functions import identifier, identifiers


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("title", "title"),
        ("noteTitle", "note_title"),
        ("send-mail", "send_mail"),
        ("from", "from_"),
        ("found", "found_"),
        ("2fast", "fast"),
        ("2from", "from_"),
        ("タイトル", "value"),
        ("߀", "value"),
        ("x(): import os #", "x_import_os"),
    ],
)
def test_a_name_becomes_an_identifier(name: str, made: str) -> None:
    assert identifier(name) == made
    assert made.isidentifier()
    assert not keyword.iskeyword(made)


def test_names_that_would_be_the_same_are_told_apart() -> None:
    assert list(identifiers(["é", "ü", "title", "Title"]).values()) == ["value", "value2", "title", "title2"]
