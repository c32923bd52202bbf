"""Whether calls wait in the gateway's store, found out without opening anything that asking needs.

Nearly always none does, and a gateway that starts fast must not load half of itself to learn that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

OWN_FILE: Final = "gateway.db"
"""As `handraise.stores.named` has it, which is loaded later."""

_Stamp: TypeAlias = tuple[int, int, int] | None


def glance_at(store: str) -> Callable[[], bool]:
    """Tells whether calls may wait in the store of this name, `Options.store`. A database is not looked at: it may."""
    if store.startswith(("postgresql://", "postgres://")):
        return lambda: True
    if store:
        return Glance(Path(store).expanduser())
    from handraise.policy.places import data_directory

    return Glance(data_directory(os.environ) / OWN_FILE)


class Glance:
    """Looks at the file, and again only after somebody wrote to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = (path, path.with_name(f"{path.name}-wal"))
        self._seen: tuple[_Stamp, ...] = (None, None)
        self._waits = False

    def __call__(self) -> bool:
        """Whether a call may wait there; True also when that cannot be found out."""
        seen = tuple(_stamp(file) for file in self._files)
        if seen != self._seen:
            self._waits = seen[0] is not None and _any_waits(self._path)
            self._seen = tuple(_stamp(file) for file in self._files)
        return self._waits


def _stamp(file: Path) -> _Stamp:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _any_waits(path: Path) -> bool:
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT 1 FROM tickets WHERE outcome IS NULL LIMIT 1").fetchone()
    except sqlite3.Error:
        return True
    return row is not None
