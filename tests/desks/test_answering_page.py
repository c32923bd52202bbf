"""The page of the documentation that shows the desk as a person sees it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "answering.md"


def test_it_shows_the_desk_in_pictures_and_in_fewer_than_300_words() -> None:
    text = PAGE.read_text()
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) >= 4
    assert all((PAGE.parent / picture).is_file() for picture in pictures)
    assert len(re.sub(r"!\[[^]]*\]\([^)]*\)", "", text).split()) < 300
