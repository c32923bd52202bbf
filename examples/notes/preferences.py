"""What the person prefers, kept in a file inside the boundary. No secret is ever in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from shelf import Shelf

FILE = ".notes.json"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The answers of the first run, and what was asked since."""

    folder: str = ""
    week_starts: str = "monday"
    timezone: str | None = None


async def load(shelf: Shelf) -> Preferences:
    """What is preferred; the defaults before the first run."""
    try:
        return Preferences(**json.loads(await shelf.boundary.read_text(await shelf.home() / FILE)))
    except (FileNotFoundError, ValueError, TypeError):
        return Preferences()


async def save(shelf: Shelf, preferences: Preferences) -> None:
    """Keep this from now on."""
    text = json.dumps(asdict(preferences), indent=2)
    await shelf.boundary.write(await shelf.home() / FILE, text)
