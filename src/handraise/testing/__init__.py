"""For the users' own tests: the contract that every store keeps."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite("handraise.testing.stores")

from handraise.testing.stores import StoreContract

__all__ = ["StoreContract"]
