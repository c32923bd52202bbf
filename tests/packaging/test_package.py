"""What `pip install handraise` and `import handraise` bring, and what they leave out."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import handraise

ROOT = Path(__file__).parents[2]
HEAVY = {
    "mcp",
    "mcp_types",
    "pydantic",
    "starlette",
    "uvicorn",
    "anyio",
    "textual",
    "rich",
    "typer",
    "fastmcp",
}
LIGHT = {
    "ada-url",
    "anyio",
    "cryptography",
    "httpx2",
    "mcp",
    "opentelemetry-api",
    "publicsuffixlist",
    "pydantic",
    "pydantic-core",
    "pyjwt",
    "regex",
    "starlette",
    "typer",
    "typing-extensions",
    "uvicorn",
}
"""Handraise imports these itself. mcp 2.x brings most of them, and mcp 1.x does not."""


def _loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running the code."""
    report = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_handraise_loads_nothing_heavy() -> None:
    assert not _loaded_by("import handraise") & HEAVY


@pytest.mark.parametrize("name", handraise.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(handraise, name) is not None
    assert name in dir(handraise)


def test_a_name_that_is_not_there_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(handraise, "no_such_name")  # noqa: B009


def test_the_base_install_is_light() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=\[; ]", line)[0] for line in project["dependencies"]}
    assert names <= LIGHT


def test_type_checkers_are_told_that_the_package_is_typed() -> None:
    assert importlib.resources.files("handraise").joinpath("py.typed").is_file()


def test_the_version_is_the_one_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert importlib.metadata.version("handraise") == project["version"]
