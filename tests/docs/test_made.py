"""The pages that are made from code are current, and leave nothing out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib import import_module

import pytest
from docs.make.configuration import VARIABLES, option_meanings, variables_in_source
from docs.make.errors import NEXT, error_classes, outline
from docs.make.names import (
    ELSEWHERE,
    PARTS,
    SECTIONS,
    WITHOUT_EXAMPLE,
    example_of,
    resolve,
    source_of,
    words_for,
)
from docs.make.pages import PAGES, ROOT
from docs.make.wire import constant
from tests.docs.snippets import pages
from tests.packaging.test_api import MODULES

import handraise
from handraise import Handraise, ask
from handraise.errors import HandraiseError

pytestmark = pytest.mark.slow

NAMES = [name for _, names in SECTIONS.values() for name in names] + list(ELSEWHERE)


@pytest.mark.shows("T1")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_makes_of_it(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), f"{name} is not current: run `python -m docs.make`"


def test_every_error_says_what_to_do() -> None:
    assert [kind.__name__ for kind in error_classes()] == list(NEXT)


def test_the_tree_of_errors_is_drawn_as_the_classes_stand() -> None:
    depths = {kind: len(kind.__mro__) for kind in error_classes()}
    drawn = [(line.index("-") // 4, line.partition("`")[2].partition("`")[0]) for line in outline()]
    top = depths[HandraiseError]
    assert drawn == [(depth - top, kind.__name__) for kind, depth in depths.items()]


def test_every_variable_is_described() -> None:
    assert variables_in_source() == set(VARIABLES)


def test_every_option_of_handraise_is_described() -> None:
    assert list(inspect.signature(Handraise).parameters) == list(option_meanings())


def test_every_public_name_has_a_place() -> None:
    own = {f"ask.{name}" for name in dir(ask) if not name.startswith("_")}
    assert set(NAMES) == set(handraise.__all__) | own


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is_for(name: str) -> None:
    assert words_for(name, resolve(name))


@pytest.mark.parametrize("part", PARTS)
def test_every_public_name_of_a_part_says_what_it_is_for(part: str) -> None:
    module = import_module(f"handraise.{part}")
    silent = [name for name in module.__all__ if not words_for(name, getattr(module, name), module)]
    assert not silent


@pytest.mark.parametrize("title", SECTIONS)
def test_an_example_shows_every_name_of_its_section(title: str) -> None:
    example, names = SECTIONS[title]
    assert not _unseen(names, source_of(example))


def test_every_module_that_users_import_from_is_a_part() -> None:
    assert {module.removeprefix("handraise.") for module in MODULES} - {"handraise"} <= PARTS.keys()


@pytest.mark.parametrize("part", PARTS)
def test_an_example_shows_every_name_of_a_part(part: str) -> None:
    own = {f"docs/{page}" for page in PARTS[part]}
    seen = "".join(
        block.text
        for page in pages()
        for block in page.blocks
        if page.name in own and block.language == "python" and page.runs(block)
    )
    if part not in WITHOUT_EXAMPLE:
        seen += source_of(example_of(part))
    assert not _unseen(import_module(f"handraise.{part}").__all__, seen)


def _unseen(names: Iterable[str], source: str) -> list[str]:
    return [name for name in names if not re.search(rf"\b{re.escape(name)}\b", source)]


def test_what_is_random_in_a_trace_gets_a_name_that_stays() -> None:
    ids = ["q_" + digit * 24 for digit in "abab"]
    assert constant("\n".join(f"    0.000 s {id_}" for id_ in ids)) == "q_1\nq_2\nq_1\nq_2\n"


def test_an_error_made_elsewhere_is_not_in_the_reference() -> None:
    assert all(kind.__module__ == HandraiseError.__module__ for kind in error_classes())
