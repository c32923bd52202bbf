"""One PostgreSQL server for all tests of the session, a database of its own for each, and where nodes come from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer, running_postgres
from tests.stores.cluster import Program


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def nursery() -> Iterator[Program]:
    program = Program("tests.stores.node")
    yield program
    program.end()
