"""The targets that the README names do what it says: really, and in a copy of the tree on few tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.snippets import blocks_run_by, commands
from tests.docs.tree import copy_tree, make

pytestmark = pytest.mark.slow

ELSEWHERE = {"make demo": "tests/demo/test_tour.py", "make docs": "tests/docs/test_site.py"}
NAMED = {
    command.partition("#")[0].strip()
    for block in blocks_run_by("test_a_target_does_what_the_readme_says")
    for command, _ in commands(block)
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tree(tmp_path_factory.mktemp("tree"))


@pytest.mark.parametrize("command", sorted(NAMED - ELSEWHERE.keys()))
def test_a_target_does_what_the_readme_says(tree: Path, command: str) -> None:
    """Shown by `make --dry-run`: style, types and tests themselves have just run."""
    told = make(tree, f"--dry-run {command.removeprefix('make ')} TESTS=tests/test_questions.py")
    for done in (".venv/bin/ruff check", ".venv/bin/mypy", "-m pytest"):
        assert done in told


def test_a_target_fails_when_a_test_does(tree: Path) -> None:
    (tree / "tests" / "test_failing.py").write_text("def test_it() -> None:\n    assert False\n")
    with pytest.raises(AssertionError, match="1 failed"):
        make(tree, "inner TESTS=tests/test_failing.py")


def test_the_help_names_every_target_of_the_readme(tree: Path) -> None:
    told = make(tree, "help")
    assert all(f"  {command} " in told for command in NAMED)
    assert max(map(len, told.splitlines())) <= 80


def test_a_tree_that_was_not_set_up_is_not_copied_and_the_error_says_what_to_run(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / ".venv").mkdir(parents=True)
    with pytest.raises(AssertionError, match="node_modules is missing: run `make setup` first"):
        copy_tree(tmp_path / "copy", bare)
