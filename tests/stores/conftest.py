"""One PostgreSQL server for all tests of the session, and a database of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server
