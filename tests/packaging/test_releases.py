"""The releases that `make releases` runs are the ones that pip and `install` accept."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from handraise.sdk.releases import SUPPORTED, problem_with

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "releases").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def listed() -> list[str]:
    """The names that the Makefile's list has."""
    found = re.search(r"^RELEASES \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1].split()


def accepted(package: str) -> SpecifierSet:
    """The versions of a package that pyproject.toml accepts."""
    extras = PROJECT["optional-dependencies"].values()
    wanted = [Requirement(line) for part in (PROJECT["dependencies"], *extras) for line in part]
    [found] = [each.specifier for each in wanted if each.name == package]
    return found


def versions(file: Path) -> dict[str, str]:
    """Each package of a release with its version."""
    return dict(line.split("==") for line in file.read_text().split())


def test_every_release_in_the_list_has_a_file() -> None:
    assert set(listed()) <= {file.stem for file in FILES}


@pytest.mark.shows("N8")
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_a_release_is_tested_exactly_when_pip_and_install_accept_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, is_tested = versions(file), file.stem in listed()
    fits = all(release in accepted(package) for package, release in named.items() if package in SUPPORTED)
    monkeypatch.setattr(importlib.metadata, "version", lambda package: named[package])
    problems = [problem_with(package) for package in SUPPORTED if package in named]
    assert fits is is_tested is not any(problems)
