"""What is done with files stays inside, whichever way they are opened."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handraise.server.boundary.beneath import best_opener, by_walking
from handraise.server.boundary.files import Files, OpenMode
from handraise.server.boundary.rootset import RootPath, RootSet, adopt_folders


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
