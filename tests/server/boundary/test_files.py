"""Both ways to open beneath a folder follow no link and give the same answers; files stay inside."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handraise.errors import SetupError
from handraise.server.boundary import files as files_module
from handraise.server.boundary.files import (
    FOLDER,
    Files,
    Opener,
    OpenMode,
    best_opener,
    by_linking,
    by_openat2,
    by_renameat2,
    by_walking,
    rename_new,
)
from handraise.server.boundary.rootset import RootPath, RootSet, adopt_folders

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
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(NAMES), max_size=4), flags=st.sampled_from([os.O_RDONLY, FOLDER]))
def test_both_ways_give_the_same_answer(folder: int, names: list[str], flags: int) -> None:
    way = tuple(names)
    assert outcome(by_openat2, folder, way, flags) == outcome(by_walking, folder, way, flags)


@pytest.mark.parametrize("opener", OPENERS)
def test_no_descriptor_is_left_open_by_an_opener(opener: Opener, folder: int) -> None:
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
    monkeypatch.setattr(files_module, "by_openat2", forbidden)
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

    monkeypatch.setattr(files_module, "by_renameat2", unknown)
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


@pytest.fixture(params=[best_opener, lambda: by_walking], ids=["best", "walk"])
def files(request: pytest.FixtureRequest) -> Files:
    return Files(request.param())


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[RootSet]:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "outside").mkdir()
    yield adopt_folders([tmp_path / "Notes"])
    assert [p.name for p in (tmp_path / "Notes").rglob("*.part")] == []


def refused(error: pytest.ExceptionInfo[OSError]) -> str:
    return errno.errorcode[error.value.errno or 0]


def test_a_file_is_written_read_listed_moved_and_removed(files: Files, roots: RootSet) -> None:
    files.mkdir(roots.locate("2026"))
    files.write(roots.locate("2026/a.md"), b"one", overwrite=False)
    files.write(roots.locate("2026/a.md"), b"two", overwrite=True)
    assert files.read(roots.locate("2026/a.md")) == b"two"
    assert [(e.name, e.kind, e.size) for e in files.list(roots.locate("2026"))] == [("a.md", "file", 3)]
    files.rename(roots.locate("2026/a.md"), roots.locate("b.md"), overwrite=False)
    assert files.stat(roots.locate("b.md")).size == 3
    assert [e.name for e in files.list(roots.locate("."))] == ["2026", "b.md"]
    files.remove(roots.locate("b.md"))
    files.remove(roots.locate("2026"))
    assert files.list(roots.locate(".")) == ()
    assert files.stat(roots.locate(".")).kind == "folder"


def test_nothing_is_overwritten_unasked(files: Files, roots: RootSet) -> None:
    a, b = roots.locate("a.md"), roots.locate("b.md")
    files.write(a, b"a", overwrite=False)
    files.write(b, b"b", overwrite=False)
    with pytest.raises(FileExistsError):
        files.write(a, b"x", overwrite=False)
    with pytest.raises(FileExistsError):
        files.rename(a, b, overwrite=False)
    assert (files.read(a), files.read(b)) == (b"a", b"b")
    files.rename(a, b, overwrite=True)
    assert files.read(b) == b"a"


@pytest.mark.shows("B2")
@pytest.mark.parametrize("what", ["file", "folder", "full folder", "link"])
@pytest.mark.parametrize("there", ["file", "empty folder", "full folder", "link", "broken link"])
def test_a_rename_without_overwriting_replaces_nothing(
    files: Files, roots: RootSet, tmp_path: Path, what: str, there: str
) -> None:
    for name, kind in (("moved", what), ("taken", there)):
        path = tmp_path / "Notes" / name
        if "folder" in kind:
            path.mkdir()
        if kind == "full folder":
            (path / "inner").touch()
        elif kind == "file":
            path.write_text(name)
        elif "link" in kind:
            path.symlink_to("nowhere" if kind == "broken link" else "..")
    before = {path.name: path.lstat().st_ino for path in (tmp_path / "Notes").iterdir()}
    with pytest.raises(FileExistsError):
        files.rename(roots.locate("moved"), roots.locate("taken"), overwrite=False)
    assert {path.name: path.lstat().st_ino for path in (tmp_path / "Notes").iterdir()} == before
    files.rename(roots.locate("moved"), roots.locate("free"), overwrite=False)
    assert (tmp_path / "Notes" / "free").lstat().st_ino == before["moved"]


def test_a_rewritten_file_keeps_its_mode(files: Files, roots: RootSet, tmp_path: Path) -> None:
    note = tmp_path / "Notes" / "a.md"
    note.write_text("private")
    note.chmod(0o600)
    files.write(roots.locate("a.md"), b"still private", overwrite=True)
    assert note.stat().st_mode & 0o777 == 0o600


@pytest.mark.shows("B2")
def test_a_link_is_seen_and_removed_and_never_used(files: Files, roots: RootSet, tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.md"
    secret.write_text("not yours")
    (tmp_path / "Notes" / "link.md").symlink_to(secret)
    (tmp_path / "Notes" / "away").symlink_to(tmp_path / "outside")
    link, through = roots.locate("link.md"), roots.locate("away/secret.md")
    assert files.stat(link).kind == "link"
    for place in (link, through):
        uses: list[Callable[[RootPath], object]] = [
            files.read,
            lambda p: files.write(p, b"x", overwrite=True),
            lambda p: files.open(p, "w"),
            lambda p: files.open(p, "a"),
        ]
        for work in uses:
            with pytest.raises(OSError) as error:
                work(place)
            assert refused(error) == "ELOOP"
    others: list[Callable[[RootPath], object]] = [
        files.stat,
        files.remove,
        files.mkdir,
        lambda p: files.rename(p, link, overwrite=True),
        lambda p: files.rename(link, p, overwrite=True),
    ]
    for work in others:
        with pytest.raises(OSError) as error:
            work(through)
        assert refused(error) == "ELOOP"
    with pytest.raises(OSError) as error:
        files.list(roots.locate("away"))
    assert refused(error) == "ELOOP"
    files.remove(link)
    assert secret.read_text() == "not yours"
    assert os.listdir(tmp_path / "outside") == ["secret.md"]


@pytest.mark.shows("B2")
def test_hard_links_are_refused_by_option(files: Files, roots: RootSet, tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.md"
    secret.write_text("not yours")
    os.link(secret, tmp_path / "Notes" / "twin.md")
    twin = roots.locate("twin.md")
    assert files.read(twin) == b"not yours"
    strict = Files(files.opener, refuse_hard_links=True)
    for work in (
        lambda: strict.read(twin),
        lambda: strict.write(twin, b"x", overwrite=True),
        lambda: strict.open(twin, "w"),
    ):
        with pytest.raises(OSError) as error:
            work()
        assert refused(error) == "EMLINK"
    assert secret.read_text() == "not yours"


@pytest.mark.shows("B2")
def test_a_root_that_became_a_link_is_a_root_no_longer(files: Files, roots: RootSet, tmp_path: Path) -> None:
    (tmp_path / "outside" / "a.md").write_text("not yours")
    (tmp_path / "Notes").rename(tmp_path / "moved")
    (tmp_path / "Notes").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError) as error:
        files.read(roots.locate("a.md"))
    assert refused(error) == "ELOOP"


@pytest.mark.shows("B4")
def test_the_root_itself_is_left_alone(files: Files, roots: RootSet) -> None:
    root, other = roots.locate("."), roots.locate("other")
    changes: list[Callable[[], None]] = [
        lambda: files.remove(root),
        lambda: files.rename(root, other, overwrite=True),
        lambda: files.rename(other, root, overwrite=True),
        lambda: files.mkdir(root),
        lambda: files.write(root, b"", overwrite=True),
    ]
    for work in changes:
        with pytest.raises((PermissionError, FileNotFoundError)):
            work()


def test_only_regular_files_are_opened_and_a_pipe_does_not_block(
    files: Files, roots: RootSet, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "Notes" / "pipe")
    assert files.stat(roots.locate("pipe")).kind == "other"
    modes: list[OpenMode] = ["r", "r+"]
    for mode in modes:
        with pytest.raises(OSError) as error:
            files.open(roots.locate("pipe"), mode)
        assert refused(error) == "EINVAL"
    with pytest.raises(IsADirectoryError):
        files.read(roots.locate("."))


def test_no_descriptor_is_left_open(files: Files, roots: RootSet) -> None:
    before = len(os.listdir("/dev/fd"))
    files.write(roots.locate("a.md"), b"a", overwrite=True)
    files.read(roots.locate("a.md"))
    files.list(roots.locate("."))
    with pytest.raises(FileNotFoundError):
        files.remove(roots.locate("gone/gone.md"))
    with pytest.raises(FileNotFoundError):
        files.open(roots.locate("gone"), "r+")
    with pytest.raises(IsADirectoryError):
        files.read(roots.locate("."))
    assert len(os.listdir("/dev/fd")) == before
