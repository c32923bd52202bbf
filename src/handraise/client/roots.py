"""The folders that a server may learn about, once the person agrees.

Only folders that exist and can be read are named. A folder that was replaced by a link is left out: the person did not
agree to the new place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from handraise.errors import SetupError
from handraise.forms import Choices, Form, Option
from handraise.questions import Accepted, Declined, FormQuestion
from handraise.urls import dump_file_uri

Folders: TypeAlias = Iterable[str | os.PathLike[str]]

FIELD = "folders"


class Roots:
    """The folders that a host shows to a server, and the person's decisions in this run.

    `allowed`: the user chose them for this server, for example on the command line. Otherwise the person is asked when
    the server wants to know.
    """

    def __init__(self, folders: Folders = (), *, allowed: bool = False) -> None:
        self._folders: tuple[Path, ...] = ()
        self._agreed: dict[Path, bool] = {}
        self._seen: tuple[Path, ...] = ()
        self.change(folders, allowed=allowed)
        self.check()

    def change(self, folders: Folders, *, allowed: bool = False) -> None:
        """Change the folders. Decisions about those that stay are kept."""
        chosen = tuple(dict.fromkeys(_required(folder) for folder in folders))
        self._folders = chosen
        self._agreed = {folder: True for folder in chosen if allowed or self._agreed.get(folder)}

    def check(self) -> bool:
        """Check which folders can be read now; True when that changed."""
        before, self._seen = self._seen, tuple(folder for folder in self._folders if _reachable(folder))
        return before != self._seen

    def undecided(self) -> tuple[Path, ...]:
        """The readable folders that the person has not decided about."""
        return tuple(each for each in self._folders if each not in self._agreed and _reachable(each))

    def decide(self, asked: Iterable[Path], answer: object) -> None:
        """Remember the person's decision for this run. Without a decision they are asked again."""
        match answer:
            case Accepted(data):
                chosen = (data or {}).get(FIELD, ())
                self._agreed |= {folder: str(folder) in chosen for folder in asked}
            case Declined():
                self._agreed |= dict.fromkeys(asked, False)

    def exposed(self) -> tuple[tuple[str, str], ...]:
        """URI and name of each readable folder that the person agreed to, for the server."""
        agreed = (folder for folder in self._folders if self._agreed.get(folder) and _reachable(folder))
        return tuple((dump_file_uri(folder), folder.name or str(folder)) for folder in agreed)


def ask_about(folders: Iterable[Path]) -> FormQuestion[Any]:
    """The question to the person: which of these folders may the server know?"""
    options = [Option(str(folder)) for folder in folders]
    field = Choices(FIELD, options, title="Folders it may know", required=False)
    return FormQuestion(
        "This server wants to know which folders it may work in. It learns where the ones you choose are, and should "
        "stay inside them. This holds until the program ends.",
        Form.by_hand(field),
    )


def _required(folder: str | os.PathLike[str]) -> Path:
    """The folder with links resolved; refused when it does not exist or cannot be read."""
    try:
        path = Path(folder).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise SetupError(f"{os.fspath(folder)} does not exist") from None
    if not path.is_dir():
        raise SetupError(f"{path} is not a folder; a root must be one")
    if not _reachable(path):
        raise SetupError(f"{path} cannot be read by you, so no server can be sent there")
    dump_file_uri(path)  # a name that no URI can carry is refused here, not when a server asks
    return path


def _reachable(path: Path) -> bool:
    """Whether this same folder exists and can be read now."""
    try:
        return path.is_dir() and path.resolve() == path and os.access(path, os.R_OK | os.X_OK)
    except OSError:
        return False
