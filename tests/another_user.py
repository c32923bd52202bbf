"""Another, unprivileged user of this machine, and a directory that everybody can write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
"""The user and group of nobody. Tests run as root, here and in CI; elsewhere they cannot take another user's part."""


def as_another(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command as another user."""
    assert os.geteuid() == 0, "this test starts a process of another user: run it as root"
    return subprocess.run(
        command, capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], timeout=30
    )


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
