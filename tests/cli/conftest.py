"""`handraise` as it is typed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing

ROOT = Path(__file__).parents[2]
Handraise = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="package", autouse=True)
def commands_built_once() -> Iterator[None]:
    """The tree of commands is built once: typer's runner builds it for every command that it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def handraise(programs: Path) -> Handraise:
    """Run a command to its end."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["handraise", *words]
        return subprocess.run(
            command, cwd=ROOT, env=around(programs), capture_output=True, text=True, timeout=60
        )

    return run


def around(programs: Path) -> dict[str, str]:
    """The environment of now, in which `handraise` and `python` start at once."""
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
