"""Files that only their owner can read: tried as another user of the machine, with a umask that hides nothing."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handraise import disk
from handraise.gateway.people import PeopleFile
from handraise.policy import OwnRule
from handraise.policy.files import OwnRules
from handraise.stores.sealing import key_file_beside
from handraise.vault import KeyFile
from tests.another_user import NOBODY, as_another, careless_umask, shared_directory

pytestmark = pytest.mark.shows("S6")

WORDS = "Ann was asked."


@pytest.fixture
def shared() -> Iterator[Path]:
    with careless_umask(), shared_directory() as folder:
        yield folder


def append(path: Path, text: str) -> None:
    with disk.open_to_append(path) as file:
        file.write(text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("write", [disk.replace_file, append], ids=["replaced", "appended"])
def test_nobody_else_can_read_a_file_that_was_written(
    shared: Path, write: Callable[[Path, str], None]
) -> None:
    write(shared / "report", WORDS)
    assert (shared / "report").read_text() == WORDS
    assert mode(shared / "report") == 0o600
    tried = as_another("cat", str(shared / "report"))
    assert tried.returncode != 0
    assert tried.stdout == b""


@pytest.mark.parametrize("write", [disk.replace_file, append], ids=["replaced", "appended"])
def test_a_file_that_others_could_read_is_theirs_no_more(
    shared: Path, write: Callable[[Path, str], None]
) -> None:
    (shared / "report").write_text("")
    assert as_another("cat", str(shared / "report")).returncode == 0
    write(shared / "report", WORDS)
    assert as_another("cat", str(shared / "report")).returncode != 0


def test_nobody_else_can_read_a_file_while_it_is_written(shared: Path) -> None:
    with disk.replacing(shared / "report") as file:
        file.write(WORDS)
        file.flush()
        (made,) = shared.iterdir()
        assert mode(made) == 0o600
        assert as_another("cat", str(made)).stdout == b""


def test_a_link_that_another_user_made_is_replaced_and_not_followed(shared: Path) -> None:
    theirs = shared / "theirs"
    assert as_another("sh", "-c", f"umask 0; : > {theirs}; ln -s {theirs} {shared}/report").returncode == 0
    disk.replace_file(shared / "report", WORDS)
    assert not (shared / "report").is_symlink()
    assert theirs.read_text() == ""
    assert as_another("cat", str(shared / "report")).stdout == b""


def test_nothing_is_appended_through_a_link_or_to_another_users_file(shared: Path) -> None:
    theirs = shared / "theirs"
    assert as_another("sh", "-c", f"umask 0; : > {theirs}; ln -s {theirs} {shared}/trace").returncode == 0
    for path in (shared / "trace", theirs):
        with pytest.raises(OSError):
            append(path, WORDS)
    assert theirs.read_text() == ""


def test_nothing_is_written_to_another_users_pipe(shared: Path) -> None:
    theirs, own = shared / "theirs", shared / "own"
    os.mkfifo(theirs)
    os.chown(theirs, NOBODY, NOBODY)
    os.mkfifo(own)
    read: list[bytes] = []
    for pipe in (theirs, own):
        reading = threading.Thread(target=lambda pipe=pipe: read.append(pipe.read_bytes()), daemon=True)
        reading.start()
        if pipe is theirs:
            with pytest.raises(PermissionError):
                disk.open_stream(pipe)
        else:
            with disk.open_stream(pipe) as file:
                file.write(WORDS)
        reading.join(30)
    assert read == [b"", WORDS.encode()]


def test_what_fails_while_it_is_written_leaves_nothing(shared: Path) -> None:
    (shared / "report").write_text("before")
    with pytest.raises(UnicodeEncodeError):
        disk.replace_file(shared / "report", f"{WORDS} \ud800")
    assert [(path.name, path.read_text()) for path in shared.iterdir()] == [("report", "before")]


def test_a_file_that_is_there_is_not_made_anew(shared: Path) -> None:
    assert disk.create_file(shared / "key", b"one")
    assert not disk.create_file(shared / "key", b"two")
    assert (shared / "key").read_bytes() == b"one"
    assert [mode(path) for path in shared.iterdir()] == [0o600]


def test_directories_are_made_for_this_user_alone(shared: Path) -> None:
    disk.make_directory(shared / "one" / "two")
    assert mode(shared / "one") == mode(shared / "one" / "two") == 0o700


def test_keys_people_and_rules_are_for_their_owner_alone(shared: Path) -> None:
    KeyFile(shared / "vault.key").save([b"k" * 32])
    PeopleFile(shared / "people.json").add("ann")
    OwnRules(shared / "rules.json").add(OwnRule("notes", "block", made=1.0), keep=True)
    key_file_beside(shared / "store.db")
    for path in shared.iterdir():
        assert as_another("cat", str(path)).returncode != 0, path
