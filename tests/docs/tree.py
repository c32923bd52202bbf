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


def copy_tree(folder: Path, root: Path = ROOT) -> Path:
    """Copy the tree to a folder of its own, with links to the folders that `make setup` filled in ours."""
    installed = _installed(root)
    missing = [str(made.relative_to(root)) for made in installed if not made.exists()]
    # A link to a missing folder makes `python -m venv` fail with "File exists", which says nothing of the cause.
    assert not missing, f"{', '.join(missing)} is missing: run `make setup` first"
    tree = folder / "handraise"
    shutil.copytree(root, tree, ignore=_MADE)
    for made in ("site", "bench/out"):
        shutil.rmtree(tree / made, ignore_errors=True)
    for filled, asked_for in installed.items():
        (tree / filled.relative_to(root)).symlink_to(filled)
        for file in asked_for:  # old enough, or a make in the copy would install into our folders
            os.utime(tree / file.relative_to(root), (0, 0))
    return tree


def _installed(root: Path) -> dict[Path, list[Path]]:
    """Each folder that `make setup` fills, with the files that say what it has."""
    strangers = root / "tests" / "strangers"
    old = strangers / "old_sdk"
    return {
        root / ".venv": [root / "pyproject.toml", root / "constraints.txt", strangers / "uvloop.txt"],
        strangers / "node_modules": [strangers / "package.json"],
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
