"""The requirements: each with its id, its first sentence and the folders of the tests that show it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.make.markdown import NOTICE, table
from tests.requirements import PARTS, claims_below, own_files

TESTS = Path(__file__).parents[2] / "tests"

INTRODUCTION = """\
Look up a promise of Handraise, and the tests that show it. Each line is the first sentence of a requirement.
`tests/requirements.py` has the whole text, in short notes for contributors. MUST and SHOULD are the specification's own
words. A is revision 2025-06-18, B is 2025-11-25, C is 2026-07-28.

The last column names the folders of `tests/` with tests for the requirement. To see them, search for its id: a test
says `@pytest.mark.shows("N1")`. A requirement without a test fails the test run.
"""


def requirements_page() -> str:
    """The page."""
    return "".join(_page())


def _page() -> Iterator[str]:
    shown = shown_by()
    yield f"# Requirements\n\n{NOTICE}\n{INTRODUCTION}"
    for part, requirements in PARTS.items():
        yield f"\n## {part}\n\n"
        yield table(
            ("id", "requirement", "shown in"),
            (
                (f'<a id="{id_.lower()}"></a>{id_}', _first_sentence(text), _folders(shown.get(id_, ())))
                for id_, text in requirements.items()
            ),
        )


def _folders(tests: Iterable[tuple[str, str]]) -> str:
    """Where the tests are. Their number would change with every test that is added."""
    return ", ".join(sorted({file.partition("/")[0] for file, _ in tests}))


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", text, maxsplit=1)[0]


def shown_by(tests: Path = TESTS) -> dict[str, set[tuple[str, str]]]:
    """The tests that show each requirement, each by its file and its name."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in own_files(tests):
        for test, id_ in _claims(path.read_text(encoding="utf-8")):
            found.setdefault(id_, set()).add((path.relative_to(tests).as_posix(), test))
    return found


def _claims(source: str) -> Iterator[tuple[str, str]]:
    """Each claim of a module with the test that makes it. What the module itself claims, all of its tests do."""
    body = ast.parse(source).body
    tests = [node for node in body if getattr(node, "name", "").startswith(("test_", "Test"))]
    for node in body:
        for _, id_ in claims_below(node):
            named = [node] if node in tests else tests
            yield from ((getattr(each, "name", ""), id_) for each in named)
