"""Somebody else on the same computer: code that runs as another, unprivileged user."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - the other user may not read Python's own files
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

NOBODY = 65534

only_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another user"
)


def as_another_user(do: Callable[[], Any], user: int = NOBODY) -> Any:
    """What a function gives when another user runs it, in a process of theirs. An OSError gives its name."""
    result, gives = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(result)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        try:
            told = do()
        except OSError as error:
            told = type(error).__name__
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(gives, json.dumps(told).encode())
        os._exit(0)
    os.close(gives)
    with os.fdopen(result) as stream:
        told = json.load(stream)
    os.waitpid(child, 0)
    return told
