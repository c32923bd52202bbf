"""`handraise` as it is typed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Handraise = Callable[..., subprocess.CompletedProcess[str]]


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
