"""A second place for checkpoints: whoever can change the ledger should not be able to change them."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

logger = logging.getLogger(__name__)

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class ToFile:
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
class ToCommand:
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


Elsewhere: TypeAlias = ToFile | ToCommand


async def send(note: str, places: tuple[Elsewhere, ...]) -> list[str]:
    """Send a checkpoint to every place; what went wrong. A place that fails keeps nobody from asking people."""
    problems = []
    for place in places:
        try:
            await place.send(note)
        except (OSError, TimeoutError) as error:
            name = str(place.path) if isinstance(place, ToFile) else place.command[0]
            problems.append(f"a checkpoint did not reach {name}: {str(error) or type(error).__name__}")
            logger.warning(problems[-1])
    return problems
