"""A copy of the whole tree, for targets that write to where they are while other tests read it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.docs.snippets import ROOT

_MADE = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "__pycache__", ".*_cache", ".hypothesis", "dist"
)
_STRANGERS = ROOT / "tests" / "strangers"


def copy_tree(folder: Path) -> Path:
    """The tree in a folder of its own, with what `make setup` installed in ours."""
    tree = folder / "handraise"
    shutil.copytree(ROOT, tree, ignore=_MADE)
    for made in ("site", "bench/out"):
        shutil.rmtree(tree / made, ignore_errors=True)
    for installed, asked_for in _installed().items():
        (tree / installed.relative_to(ROOT)).symlink_to(installed)
        for file in asked_for:
            os.utime(
                tree / file.relative_to(ROOT), (0, 0)
            )  # no change of theirs makes a copy install into ours
    return tree


def _installed() -> dict[Path, list[Path]]:
    """Each folder that `make setup` fills, with the files that say what it has."""
    old = _STRANGERS / "old_sdk"
    return {
        ROOT / ".venv": [ROOT / "pyproject.toml", ROOT / "constraints.txt", _STRANGERS / "uvloop.txt"],
        _STRANGERS / "node_modules": [_STRANGERS / "package.json"],
        **{old / f".venv-{file.stem.removeprefix('mcp-')}": [file] for file in old.glob("mcp-*.txt")},
    }


def make(tree: Path, words: str) -> str:
    """What a `make` in the copy tells. It has to succeed, and knows nothing of whoever runs these tests."""
    around = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PYTEST_", "TESTS", "PARTS", "QUICK"))
    }
    ours = {"PYTHONPATH": str(tree / "src"), "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")}
    done = subprocess.run(
        f"make {words}",
        shell=True,
        cwd=tree,
        env=around | ours,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
