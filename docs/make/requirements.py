"""The requirements: each with its id, its text and the tests that show it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.make.markdown import NOTICE, code
from tests.requirements import PARTS, claims_below, own_files

TESTS = Path(__file__).parents[2] / "tests"

INTRODUCTION = """\
What Handraise promises, and the tests that show it. MUST and SHOULD are the specification's own words. A is revision
2025-06-18, B is 2025-11-25, C is 2026-07-28. A test names what it shows with `@pytest.mark.shows("N1")`; a requirement
of a part that is declared done and has no test fails the test run.
"""


def requirements_page() -> str:
    """The page."""
    return "".join(_page())


def _page() -> Iterator[str]:
    shown = shown_by()
    yield f"# Requirements\n\n{NOTICE}\n{INTRODUCTION}"
    for part, requirements in PARTS.items():
        yield f"\n## {part}\n"
        for id_, text in requirements.items():
            tests = shown.get(id_, ["No test shows it yet."])
            yield f"\n### {id_}\n\n{text}\n\n" + "".join(f"- {test}\n" for test in tests)


def shown_by(tests: Path = TESTS) -> dict[str, list[str]]:
    """The tests that show each requirement, as sentences with their files."""
    found: dict[str, list[str]] = {}
    for path in own_files(tests):
        for sentence, id_ in _claims(path.read_text(encoding="utf-8")):
            line = f"{sentence} ({code(path.relative_to(tests).as_posix())})"
            if line not in found.setdefault(id_, []):
                found[id_].append(line)
    return found


def _claims(source: str) -> Iterator[tuple[str, str]]:
    """Each claim of a module with the test that makes it, or what all of the module's tests claim."""
    for node in ast.parse(source).body:
        name = getattr(node, "name", "every test of this file")
        sentence = name.removeprefix("test_").replace("_", " ")
        for _, id_ in claims_below(node):
            yield sentence, id_
