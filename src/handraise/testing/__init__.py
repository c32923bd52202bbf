"""For users' own tests: scripted people, clients on every revision, and the contracts of stores.

pytest finds the fixture `every_revision` by itself."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import pytest

    pytest.register_assert_rewrite(
        "handraise.testing.stores", "handraise.testing.part_contracts", "handraise.testing.ledgers"
    )

from handraise.testing.ledgers import LedgerContract
from handraise.testing.part_contracts import SecretsContract, TicketsContract
from handraise.testing.people import ScriptedPerson, assert_nothing_runs_before_consent, connect
from handraise.testing.stores import StoreContract

__all__ = [
    "LedgerContract",
    "ScriptedPerson",
    "SecretsContract",
    "StoreContract",
    "TicketsContract",
    "assert_nothing_runs_before_consent",
    "connect",
]
