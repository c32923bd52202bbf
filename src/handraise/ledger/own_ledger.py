"""The user's own ledger: where it is, how their configuration wants it kept, and where its checkpoints go."""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from handraise.calls.rounds import digest
from handraise.policy import Settings
from handraise.policy.places import data_directory, database_of

if TYPE_CHECKING:
    from handraise.ledger.ledger import Ledger


logger = logging.getLogger(__name__)

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """Append to a file: on another disk, in a folder that is synchronised, or one that can only be appended to."""

    path: Path

    async def send(self, note: str) -> None:
        def append() -> None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(f"{note}\n")
                out.flush()
                os.fsync(out.fileno())

        await asyncio.to_thread(append)


@dataclass(frozen=True, slots=True)
class CheckpointCommand:
    """Feed to a command on its standard input, without a shell: a mail, a ticket, an object store."""

    command: tuple[str, ...]

    async def send(self, note: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(_TIMEOUT):
                await process.communicate(note.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise OSError(f"the command ended with status {process.returncode}")


CheckpointCopy: TypeAlias = CheckpointFile | CheckpointCommand


async def send_copies(note: str, checkpoint_copies: tuple[CheckpointCopy, ...]) -> list[str]:
    """Send a checkpoint to every place. Return the problems. A place that fails keeps nobody from asking people."""
    problems = []
    for place in checkpoint_copies:
        try:
            await place.send(note)
        except (OSError, TimeoutError) as error:
            name = str(place.path) if isinstance(place, CheckpointFile) else place.command[0]
            problems.append(f"a checkpoint did not reach {name}: {str(error) or type(error).__name__}")
            logger.warning(problems[-1])
    return problems


LEDGER_FILE = "ledger.db"


def ledger_place(environment: Mapping[str, str] | None = None) -> Path | str:
    """The database or the file that HANDRAISE_LEDGER names, else the file in the user's data directory."""
    known = os.environ if environment is None else environment
    named = known.get("HANDRAISE_LEDGER", "")
    if database_of(named):
        return named
    return Path(named).expanduser() if named else data_directory(known) / LEDGER_FILE


def own_ledger(settings: Settings, environment: Mapping[str, str] | None = None) -> Ledger | None:
    """The ledger of this user's desks and commands; None when their configuration switched it off."""
    from handraise.ledger.ledger import Ledger

    wanted = settings.ledger
    if wanted.unsafe_no_ledger:
        warnings.warn(
            "unsafe_no_ledger is on: nothing is recorded of what is asked and decided", stacklevel=2
        )
        return None
    return Ledger.at(ledger_place(environment), keeping=wanted.keep, elsewhere=checkpoint_copies(settings))


def checkpoint_copies(settings: Settings) -> tuple[CheckpointCopy, ...]:
    """Where else checkpoints go."""
    wanted = settings.ledger
    found: list[CheckpointCopy] = []
    if wanted.checkpoint_file:
        found.append(CheckpointFile(Path(wanted.checkpoint_file).expanduser()))
    if wanted.checkpoint_command:
        found.append(CheckpointCommand(wanted.checkpoint_command))
    return tuple(found)


def policy_version(settings: Settings) -> str:
    """A name for these settings: the same as long as nothing in them changes."""
    return digest(repr(settings))[:12]
