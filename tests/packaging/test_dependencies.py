"""Every package that we import is a dependency that we declare: not one that comes with another package."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "handraise"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ["fastmcp", "keyring", "oauth", "passkeys", "postgres", "sql", "terminal", "web"]
WITH_ANOTHER = {
    "mcp-types": "mcp",  # beside mcp 2.x
    "fastmcp-slim": "fastmcp",
}
FOR_TESTS = {"pytest"}  # loaded by pytest itself, and by tests that have it


def imported(file: Path) -> set[str]:
    """The packages of others that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"handraise"} - FOR_TESTS


def declared() -> set[str]:
    """The packages that pyproject.toml names, with the extras."""
    lines = [*PROJECT["dependencies"]]
    for extra in EXTRAS:
        lines += PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def test_every_extra_of_users_is_looked_at() -> None:
    assert {*EXTRAS, "all", "dev"} == set(PROJECT["optional-dependencies"])


@pytest.mark.shows("N8")
def test_every_package_that_is_imported_is_declared() -> None:
    homes, names = packages_distributions(), declared()
    undeclared = {
        f"{package} in {file.relative_to(SOURCE)}"
        for file in SOURCE.rglob("*.py")
        for package in imported(file)
        if not {
            WITH_ANOTHER.get(name, name) for name in map(canonicalize_name, homes.get(package, [package]))
        }
        & names
    }
    assert not undeclared
