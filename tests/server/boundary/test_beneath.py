"""Both ways to open beneath a folder follow no link, and give the same answers."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handraise.errors import SetupError
from handraise.server.boundary import beneath
from handraise.server.boundary.beneath import (
    FOLDER,
    Opener,
    best_opener,
    by_linking,
    by_openat2,
    by_renameat2,
    by_walking,
    rename_new,
)

OPENERS = [
    pytest.param(
        by_openat2, marks=pytest.mark.skipif(platform.system() != "Linux", reason="openat2 is Linux's")
    ),
    by_walking,
]
NAMES = ["inside", "note.md", "away", "round", "abs", "up", "gone", "loop", "inner"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A root with files, and links that lead everywhere."""
    root = tmp_path / "Notes"
    (root / "inside" / "inner").mkdir(parents=True)
    (root / "note.md").write_text("a note")
    (root / "inside" / "note.md").write_text("another note")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "note.md").write_text("not yours")
    (root / "away").symlink_to("../outside")
    (root / "abs").symlink_to(tmp_path / "outside")
    (root / "round").symlink_to("inside")
    (root / "inside" / "up").symlink_to("../../outside/note.md")
    (root / "loop").symlink_to("loop")
    return root


@pytest.fixture
def folder(tree: Path) -> Iterator[int]:
    opened = os.open(tree, FOLDER)
    yield opened
    os.close(opened)


def outcome(opener: Opener, folder: int, names: tuple[str, ...], flags: int) -> str:
    """What opening gives: the file's identity, or the kind of error."""
    try:
        opened = opener(folder, names, flags)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    try:
        return str(os.fstat(opened).st_ino)
    finally:
        os.close(opened)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_file_beneath_is_opened(opener: Opener, folder: int, tree: Path) -> None:
    assert outcome(opener, folder, ("inside", "note.md"), os.O_RDONLY) == str(
        (tree / "inside" / "note.md").stat().st_ino
    )
    assert outcome(opener, folder, (), FOLDER) == str(tree.stat().st_ino)


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    "names", [("away", "note.md"), ("abs", "note.md"), ("round", "note.md"), ("inside", "up"), ("loop",)]
)
@pytest.mark.shows("B2")
def test_no_link_is_followed_wherever_it_leads(opener: Opener, folder: int, names: tuple[str, ...]) -> None:
    assert outcome(opener, folder, names, os.O_RDONLY) == "ELOOP"


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("name", ["..", ".", "", "inside/note.md", "../outside", "a\0b"])
@pytest.mark.shows("B2")
def test_only_plain_names_are_taken(opener: Opener, folder: int, name: str) -> None:
    assert outcome(opener, folder, (name,), os.O_RDONLY) == "EINVAL"


@pytest.mark.parametrize("opener", OPENERS)
def test_a_link_is_not_written_through(opener: Opener, folder: int, tree: Path) -> None:
    (tree / "new").symlink_to("../outside/made")
    assert outcome(opener, folder, ("new",), os.O_WRONLY | os.O_CREAT) == "ELOOP"
    assert not (tree.parent / "outside" / "made").exists()


@pytest.mark.parametrize("opener", OPENERS)
def test_a_new_file_gets_the_mode_it_was_given(opener: Opener, folder: int, tree: Path) -> None:
    os.close(opener(folder, ("fresh",), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    assert (tree / "fresh").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(platform.system() != "Linux", reason="openat2 is Linux's")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(names=st.lists(st.sampled_from(NAMES), max_size=4), flags=st.sampled_from([os.O_RDONLY, FOLDER]))
def test_both_ways_give_the_same_answer(folder: int, names: list[str], flags: int) -> None:
    way = tuple(names)
    assert outcome(by_openat2, folder, way, flags) == outcome(by_walking, folder, way, flags)


@pytest.mark.parametrize("opener", OPENERS)
def test_no_descriptor_is_left_open(opener: Opener, folder: int) -> None:
    before = len(os.listdir("/dev/fd"))
    for names in [("inside", "note.md"), ("away", "note.md"), ("inside", "gone"), ("note.md", "note.md"), ()]:
        outcome(opener, folder, names, os.O_RDONLY)
    assert len(os.listdir("/dev/fd")) == before


def test_linux_lets_the_kernel_do_it_and_others_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    if platform.system() == "Linux":
        best_opener.cache_clear()
        assert best_opener() is by_openat2
    for system, machine in [("Darwin", "arm64"), ("Linux", "mips64")]:
        best_opener.cache_clear()
        monkeypatch.setattr(platform, "system", lambda system=system: system)
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert best_opener() is by_walking
    best_opener.cache_clear()


def test_a_system_that_cannot_open_beneath_a_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    best_opener.cache_clear()
    monkeypatch.delattr(os, "O_NOFOLLOW")
    with pytest.raises(SetupError, match="Linux, macOS or another Unix"):
        best_opener()


def test_where_a_sandbox_forbids_the_call_folders_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> int:
        raise PermissionError(errno.EPERM, "seccomp")

    best_opener.cache_clear()
    monkeypatch.setattr(beneath, "by_openat2", forbidden)
    assert best_opener() is by_walking
    best_opener.cache_clear()


LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="renameat2 is Linux's")
RENAMES = [pytest.param(by_renameat2, marks=LINUX), by_linking, rename_new]


@pytest.mark.parametrize("rename", RENAMES)
@pytest.mark.shows("B2")
def test_a_rename_replaces_nothing(rename: Any, folder: int, tree: Path) -> None:
    (tree / "empty").mkdir()
    for name in ("note.md", "away", "inside"):
        for new in ("empty", "inside", "note.md", "loop"):
            with pytest.raises(FileExistsError):
                rename(folder, name, folder, new)
    rename(folder, "note.md", folder, "free.md")
    assert (tree / "free.md").read_text() == "a note"
    assert not (tree / "note.md").exists()


@pytest.mark.parametrize("rename", RENAMES)
@pytest.mark.parametrize(("name", "new"), [("..", "a"), ("note.md", "../a"), ("note.md", ""), ("a/b", "c")])
def test_a_rename_takes_plain_names_only(rename: Any, folder: int, name: str, new: str) -> None:
    with pytest.raises(OSError, match="not a plain name"):
        rename(folder, name, folder, new)


def test_a_folder_is_refused_where_the_kernel_cannot_move_it_safely(
    monkeypatch: pytest.MonkeyPatch, folder: int, tree: Path
) -> None:
    def unknown(*_: object) -> None:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(beneath, "by_renameat2", unknown)
    rename_new(folder, "note.md", folder, "free.md")
    with pytest.raises(OSError, match="without overwrite=True"):
        rename_new(folder, "inside", folder, "free")
    assert (tree / "inside" / "note.md").exists()


@LINUX
@pytest.mark.slow
@pytest.mark.shows("B2")
def test_a_name_that_is_taken_in_the_same_moment_is_not_replaced(folder: int, tree: Path) -> None:
    """Another process makes and removes the folder `target` all the time, and says whenever it finds another one."""
    code = (
        "import os\n"
        "while os.getppid() == int(os.environ['RACED']):\n"
        "    try:\n"
        "        os.mkdir('target')\n"
        "    except FileExistsError:\n"
        "        continue\n"
        "    made = os.stat('target').st_ino\n"
        "    for _ in range(50):\n"
        "        if os.stat('target').st_ino != made:\n"
        "            print('replaced', flush=True)\n"
        "    os.rmdir('target')\n"
    )
    (tree / "moving").mkdir()
    raced = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RACED": str(os.getpid())},
    )
    seen, end = {True: 0, False: 0}, time.monotonic() + 20
    try:
        while min(seen.values()) < 200 and time.monotonic() < end:
            try:
                rename_new(folder, "moving", folder, "target")
            except FileExistsError:
                seen[False] += 1
            else:
                seen[True] += 1
                rename_new(folder, "target", folder, "moving")
        assert raced.poll() is None
    finally:
        raced.kill()
        told, _ = raced.communicate()
    assert told == b""
    assert min(seen.values()) >= 200, f"the race did not take place: {seen}"
