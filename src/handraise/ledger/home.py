"""The user's own ledger: where it is, and how their configuration wants it kept."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from handraise.conversation.digest import digest
from handraise.ledger.elsewhere import Elsewhere, ToCommand, ToFile
from handraise.policy import Settings
from handraise.policy.places import data_directory
from handraise.stores.named import is_postgres

if TYPE_CHECKING:
    from handraise.ledger.ledger import Ledger

FILE = "ledger.db"


def ledger_path(environment: Mapping[str, str] | None = None) -> Path:
    """The file that HANDRAISE_LEDGER names, else the one in the user's data directory."""
    known = os.environ if environment is None else environment
    if named := known.get("HANDRAISE_LEDGER"):
        return Path(named).expanduser()
    return data_directory(known) / FILE


def ledger_place(environment: Mapping[str, str] | None = None) -> Path | str:
    """The database that HANDRAISE_LEDGER names, else the file."""
    known = os.environ if environment is None else environment
    named = known.get("HANDRAISE_LEDGER", "")
    return named if is_postgres(named) else ledger_path(known)


def own_ledger(settings: Settings, environment: Mapping[str, str] | None = None) -> Ledger | None:
    """The ledger of this user's desks and commands; None when their configuration switched it off."""
    from handraise.ledger.ledger import Ledger

    wanted = settings.ledger
    if wanted.unsafe_no_ledger:
        warnings.warn(
            "unsafe_no_ledger is on: nothing is recorded of what is asked and decided", stacklevel=2
        )
        return None
    return Ledger.at(ledger_place(environment), keeping=wanted.keep, elsewhere=places(settings))


def places(settings: Settings) -> tuple[Elsewhere, ...]:
    """Where else checkpoints go."""
    wanted = settings.ledger
    found: list[Elsewhere] = []
    if wanted.checkpoint_file:
        found.append(ToFile(Path(wanted.checkpoint_file).expanduser()))
    if wanted.checkpoint_command:
        found.append(ToCommand(wanted.checkpoint_command))
    return tuple(found)


def policy_version(settings: Settings) -> str:
    """A name for these settings: the same as long as nothing in them changes."""
    return digest(repr(settings))[:12]
