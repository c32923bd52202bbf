"""Who runs the tests: only root can become another user, and not every system has one."""

from __future__ import annotations

import os

import pytest

only_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another user"
)
