"""The packages that users install, and a fresh environment with them: made once for all workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first worker fills and that the others wait for."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (done := folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist, and the wheel that was built from it."""

    def build(folder: Path) -> None:
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)

    return made_once(tmp_path_factory, "dist", build)


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    [wheel] = built.glob("*.whl")
    return wheel
