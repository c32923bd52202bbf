"""For the users' own tests: the contracts that every store keeps."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite(
        "handraise.testing.stores", "handraise.testing.ledgers", "handraise.testing.vaults"
    )

from handraise.testing.ledgers import LedgerContract
from handraise.testing.stores import StoreContract
from handraise.testing.vaults import SecretsContract

__all__ = ["LedgerContract", "SecretsContract", "StoreContract"]
