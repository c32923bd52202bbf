"""Another, unprivileged user of this computer, and a directory that everybody can write to."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - loaded early: the other user may not read Python's own files
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
"""The user and group of nobody."""

_IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

_WHY = "only root can become another user"
only_root = pytest.mark.skipif(not _IS_ROOT and not os.environ.get("CI"), reason=_WHY)


def as_another(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command as another user."""
    _require_root()
    return subprocess.run(
        command, capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], timeout=30
    )


def as_another_user(do: Callable[[], Any]) -> Any:
    """What a function gives when another user runs it, in a process of theirs. An OSError gives its name."""
    _require_root()
    result, gives = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(result)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(gives, json.dumps(_told(do)).encode())
        finally:
            os._exit(0)  # always: a child that goes on would be a second worker of this test run
    os.close(gives)
    with os.fdopen(result) as stream:
        told = json.load(stream)
    os.waitpid(child, 0)
    return told


def _told(do: Callable[[], Any]) -> Any:
    try:
        return do()
    except OSError as error:
        return type(error).__name__
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def _require_root() -> None:
    if not _IS_ROOT and not os.environ.get("CI"):
        pytest.skip(_WHY)
    assert _IS_ROOT, "CI runs these tests as root"


@contextmanager
def shared_directory() -> Iterator[Path]:
    """A directory like /tmp: everybody may make files in it, and reach those that are there."""
    folder = Path(tempfile.mkdtemp(prefix="handraise-shared-"))
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def careless_umask() -> Iterator[None]:
    """New files are for everybody, unless somebody says otherwise."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


_BECOME = """
base="$1"; shift
if [ -n "$base" ]; then
    kept=$(mktemp -d)
    mount --bind "$base" "$kept" && mount -t tmpfs -o mode=755 none "$HIDDEN" && mkdir -p "$base" &&
    mount --bind "$kept" "$base" && umount "$kept" && rmdir "$kept" || exit 125
fi
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""


def command_of_an_ordinary_user(*command: str) -> list[str]:
    """A command that runs as nobody, also where Python itself lies in a folder that only root can enter.

    Root sees everything, so some attacks work only where the person is an ordinary user. Python's files are then shown
    in a file system of the command's own.
    """
    _require_root()
    closed = next(
        (each for each in reversed(Path(sys.base_prefix).parents) if not each.stat().st_mode & 1), None
    )
    base = "" if closed is None else sys.base_prefix
    script = f'HIDDEN="{closed}"\n{_BECOME}'
    return ["unshare", "--mount", "sh", "-c", script, "-", base, *command]
