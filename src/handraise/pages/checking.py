"""The author's own check of what was entered, while the person is still there to correct it."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, Final

logger = logging.getLogger(__name__)

_PATIENCE: Final = 20.0
_WRONG: Final = "This was not taken. Look whether all of it was copied."
_NOT_NOW: Final = "It could not be checked just now. Try again in a moment."


async def find_problem(check: Callable[[Any], Any] | None, value: Any) -> str | None:
    """Why the author's function does not take a value: its sentence, False, or a ValueError. None when it does.

    What else goes wrong is logged by its kind only: an error's text may repeat the secret.
    """
    if check is None:
        return None
    try:
        async with asyncio.timeout(_PATIENCE):
            verdict = check(value)
            if inspect.isawaitable(verdict):
                verdict = await verdict
    except ValueError as error:
        return str(error) or _WRONG
    except Exception as error:  # noqa: BLE001 - the author's code; the person gets a sentence
        logger.warning("a check of what was entered on a page failed: %s", type(error).__name__)
        return _NOT_NOW
    if verdict is None or verdict is True:
        return None
    return verdict if isinstance(verdict, str) else _WRONG
