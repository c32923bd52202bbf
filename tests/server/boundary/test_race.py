"""Another process swaps a folder with a link all the time; nothing outside is ever read or written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.server.boundary.test_files import OPENERS

from handraise.server.boundary.files import Files, Opener
from handraise.server.boundary.rootset import RootPath, adopt_folders

SECONDS = 2.0
PATIENCE = 20.0
"""How much longer a slow machine may take until both sides were met."""
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
    (outside / "kept").mkdir()
    (root / "day" / "kept").mkdir()
    files, roots = Files(opener), adopt_folders([root])
    at = roots.locate
    seen: Counter[str] = Counter()
    with swapped(root, outside):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or (not _raced(seen) and time.monotonic() < end + PATIENCE):
            for work in (
                lambda: files.read(at("day/note.md")),
                lambda: files.write(at("day/draft.md"), b"mine", overwrite=True),
                lambda: files.rename(at("day/draft.md"), at("day/moved.md"), overwrite=True),
                lambda: files.rename(at("day/moved.md"), at("taken.md"), overwrite=True),
                lambda: files.remove(at("taken.md")),
                lambda: files.mkdir(at("day/made")),
                lambda: files.remove(at("day/made")),
                lambda: _walk(files, at("day")),
            ):
                seen[_tried(work)] += 1
            assert sorted(os.listdir(outside)) == ["kept", "note.md"]
            assert os.listdir(outside / "kept") == []
    assert (outside / "note.md").read_text() == "not yours"
    assert _raced(seen), f"the race did not take place: {seen}"


def _tried(work: Callable[[], object]) -> str:
    """How one attempt ended. Whatever it gives is ours."""
    try:
        result = work()
    except FileExistsError:
        return "there already"
    except OSError as error:
        return EXPECTED[error.errno or 0]
    assert result != b"not yours"
    return "done"


def _walk(files: Files, folder: RootPath) -> None:
    """Everything beneath a folder; the sizes tell whose it is."""
    for entry in files.list(folder):
        if entry.kind == "folder":
            _walk(files, folder.child(entry.name))
        elif entry.name == "note.md":
            assert entry.size == len("mine")


def _raced(seen: Counter[str]) -> bool:
    """Whether the folder was met as it should be, and as a link that was refused, more than once each."""
    return min(seen["done"], seen["refused"]) >= 5
