"""`make docs` builds the site without a complaint, and a reader's browser asks nobody else for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.docs.tree import copy_tree, make

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Path:
    tree = copy_tree(tmp_path)
    make(tree, "docs TESTS=tests/docs/test_readme.py")
    return tree / "site"


class _Loaded(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "link" and known.get("rel") == "canonical":
            return
        names = ("href",) if tag == "link" else () if tag == "a" else ("src", "srcset", "data", "poster")
        self.addresses += [address for name in names if (address := known.get(name))]


def _fetched(site: Path) -> Iterator[str]:
    for page in site.rglob("*.html"):
        reader = _Loaded()
        reader.feed(page.read_text(encoding="utf-8"))
        yield from reader.addresses
    for sheet in site.rglob("*.css"):
        yield from re.findall(r"url\(['\"]?([^)'\"]+)", sheet.read_text(encoding="utf-8"))


def test_it_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    """One test for both, since building takes seconds. (A broken link fails it, unless mkdocs is told to be quiet.)"""
    assert (site / "index.html").is_file()
    outside = {address for address in _fetched(site) if re.match(r"(?i)https?:|//", address)}
    assert not outside
