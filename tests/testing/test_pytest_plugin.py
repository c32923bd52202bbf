"""A project that has Handraise installed finds the fixture by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def _pytest(folder: Path, source: str) -> str:
    """What pytest prints for a project with this one test file."""
    (folder / "test_own.py").write_text(source)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        str(folder),
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout


def test_the_fixture_runs_a_test_once_on_each_revision(tmp_path: Path) -> None:
    printed = _pytest(tmp_path, "def test_own(every_revision): print(every_revision)\n")
    assert "3 passed" in printed, printed
    for revision in ("2025-06-18", "2025-11-25", "2026-07-28"):
        assert f"test_own[{revision}] PASSED" in printed


def test_the_tests_of_the_documentation_pass(tmp_path: Path) -> None:
    source = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    printed = _pytest(tmp_path, source)
    assert "4 passed" in printed, printed


def test_the_plugin_loads_nothing_heavy() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import handraise.pytest_plugin, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"mcp", "pydantic", "starlette"} & set(loaded)
