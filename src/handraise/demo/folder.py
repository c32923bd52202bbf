"""A folder of notes to play in, and what lies beside it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_NOTES: Final = {
    "Shopping list.md": (2026, "# Shopping list\n\n- tea\n- paper\n"),
    "2024/meeting.md": (2024, "# Meeting\n\nWe decided to write things down.\n"),
    "2025/meeting.md": (2025, "# Meeting\n\nWe could not find what we wrote down.\n"),
    "2026/meeting.md": (2026, "# Meeting\n\nWe bought a shelf.\n"),
    "Diary.md": (2026, "# Diary\n\nNothing that a machine should decide about.\n"),
}


def make_notes(place: Path) -> Path:
    """Notes in a new folder, beside another one whose name only looks alike; the folder of the notes."""
    notes = place.resolve() / "Notes"
    for name, (year, text) in _NOTES.items():
        path = notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        changed = datetime(year, 6, 1, tzinfo=UTC).timestamp()
        os.utime(path, (changed, changed))
    (place / "Notes-evil").mkdir()
    return notes
