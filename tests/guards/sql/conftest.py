"""One PostgreSQL for all tests of statements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server
