"""Another process swaps a folder with a link all the time; nothing outside is ever read or written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.server.boundary.test_beneath import OPENERS

from handraise.server.boundary.beneath import Opener
from handraise.server.boundary.files import Files
from handraise.server.boundary.rootset import adopt_folders

SECONDS = 2.5
EXPECTED = {
    errno.ENOENT: "gone",
    errno.ELOOP: "refused",
    errno.ENOTDIR: "refused",  # a link, and a folder again when it was asked what it is
}

SWAPPER = """
import os, sys
root, outside = sys.argv[1:]
os.chdir(root)
os.symlink(outside, "link")
print("ready", flush=True)
while os.getppid() == int(os.environ["RACED"]):
    os.rename("day", "aside"); os.rename("link", "day")
    os.rename("day", "link"); os.rename("aside", "day")
"""


@contextmanager
def swapped(root: Path, outside: Path) -> Iterator[None]:
    """While a process of its own puts a link in the place of `day` and takes it away again."""
    process = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(root), str(outside)],
        stdout=subprocess.PIPE,
        env={**os.environ, "RACED": str(os.getpid())},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        assert process.poll() is None, "the swapper stopped"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.shows("B2")
def test_no_swap_lets_anything_out_or_in(opener: Opener, tmp_path: Path) -> None:
    root, outside = tmp_path / "Notes", tmp_path / "outside"
    (root / "day").mkdir(parents=True)
    outside.mkdir()
    for folder, text in ((root / "day", "mine"), (outside, "not yours")):
        (folder / "note.md").write_text(text)
    files, roots = Files(opener), adopt_folders([root])
    note, draft = roots.locate("day/note.md"), roots.locate("day/draft.md")
    seen: dict[str, int] = {"mine": 0, "refused": 0, "gone": 0, "listed": 0}
    with swapped(root, outside):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for work in (
                lambda: files.read(note),
                lambda: files.write(draft, b"mine", overwrite=True),
                lambda: files.remove(draft),
                lambda: files.list(roots.locate("day")),
            ):
                try:
                    result = work()
                except OSError as error:
                    seen[EXPECTED[error.errno or 0]] += 1
                else:
                    assert result != b"not yours"
                    seen["mine" if result == b"mine" else "listed"] += 1
            assert sorted(os.listdir(outside)) == ["note.md"]
    assert (outside / "note.md").read_text() == "not yours"
    assert min(seen["mine"], seen["refused"]) > 0, f"the race did not take place: {seen}"
