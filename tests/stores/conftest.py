"""One PostgreSQL server for all tests of the session, a database of its own for each, and where nodes come from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.calls.bare_server import BareServer
from tests.postgres import PostgresServer, running_postgres
from tests.stores.cluster import Program

from handraise.stores.postgres import PostgresStore

Nodes = Callable[..., PostgresStore]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def nursery() -> Iterator[Program]:
    program = Program("tests.stores.node")
    yield program
    program.end()


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database."""
    with postgres.empty_database() as url:
        yield url


@pytest.fixture
async def node(url: str) -> AsyncIterator[Nodes]:
    """Makes nodes that share one database."""
    made = []

    def node(**options: Any) -> PostgresStore:
        usual = {"keys": [b"k" * 32], "lease": 5.0, "poll": 0.2, "patience": 10.0}
        store = PostgresStore(url, **{**usual, **options})
        made.append(store)
        return store

    yield node
    for store in made:
        await store.aclose()


@pytest.fixture
async def serve(node: Nodes) -> AsyncIterator[type[BareServer]]:
    """Makes servers, and stops them before the stores of their nodes are closed."""
    made = []

    class Stopped(BareServer):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            made.append(self)

    yield Stopped
    for server in made:
        await server.close()
