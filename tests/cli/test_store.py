"""`handraise store`: what a store holds, and bringing its tables up to date."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, running_postgres
from typer.testing import CliRunner, Result

from handraise.cli.app import app
from handraise.stores import SqliteStore
from handraise.testing.part_contracts import a_round

KEY = "k" * 32


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


def handraise(*args: str, key: str = KEY) -> Result:
    return CliRunner().invoke(app, ["store", *args], env={"HANDRAISE_STORE_KEYS": key})


def test_status_tells_what_waits_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def fill() -> None:
        store = SqliteStore(path, keys=[KEY])
        await store.open_round(a_round())
        await store.aclose()

    asyncio.run(fill())
    assert "Questions that wait: 1\n" in handraise("status", "--store", str(path)).output
    told = json.loads(handraise("status", "--store", str(path), "--json").output)
    assert told == {"pending": 1, "events": 0, "placed": 0}
    assert handraise("prune", "--store", str(path)).output == "Records deleted: 1\n"


@pytest.mark.parametrize("command", ["status", "prune"])
def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path, command: str) -> None:
    path = tmp_path / "mistyped.db"
    looked = handraise(command, "--store", str(path))
    assert (looked.exit_code, path.exists()) == (1, False)
    assert "handraise store migrate" in looked.output
    assert handraise("migrate", "--store", str(path)).exit_code == 0
    assert handraise(command, "--store", str(path)).exit_code == 0


@pytest.mark.stranger
@pytest.mark.shows("X1")
def test_a_database_is_made_once_and_told_about(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    for _ in range(2):
        assert handraise("migrate", "--store", url).output == "The store is up to date.\n"
    assert "Nodes that live: 0\n" in handraise("status", "--store", url).output
    assert handraise("prune", "--store", url).output == "Records deleted: 0\n"


def test_a_database_without_keys_is_an_error_that_says_what_to_do() -> None:
    result = handraise("status", "--store", "postgresql://nowhere.invalid/x", key="")
    assert result.exit_code == 1
    assert "HANDRAISE_STORE_KEYS" in result.output


@pytest.mark.parametrize("command", ["status", "migrate", "prune"])
def test_the_help_of_every_command_teaches_by_example(command: str) -> None:
    told = handraise(command, "--help").output
    assert f"handraise store {command} --store" in told


def test_the_environment_and_the_file_name_a_store_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handraise.toml").write_text(f'[store]\nurl = "{tmp_path}/file.db"')
    monkeypatch.setenv("HANDRAISE_CONFIG", str(tmp_path / "handraise.toml"))
    assert handraise("migrate").exit_code == 0
    assert (tmp_path / "file.db").exists()
    monkeypatch.setenv("HANDRAISE_STORE", str(tmp_path / "variable.db"))
    assert handraise("migrate").exit_code == 0
    assert (tmp_path / "variable.db").exists()
    assert not (tmp_path / "flag.db").exists()
    assert handraise("migrate", "--store", str(tmp_path / "flag.db")).exit_code == 0
    assert (tmp_path / "flag.db").exists()


def test_without_any_store_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    result = handraise("status")
    assert result.exit_code == 1
    assert "name one with --store" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.stranger
def test_the_examples_of_the_help_work_with_a_database(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    commands = ("migrate", "status", "prune")
    examples = [
        line.split()[2:]
        for command in commands
        for line in handraise(command, "--help").stdout.splitlines()
        if "postgresql://db.internal" in line and line.split()[0] == "handraise"
    ]
    assert len(examples) == len(commands)
    for example in examples:
        done = handraise(*(url if word.startswith("postgresql:") else word for word in example))
        assert done.exit_code == 0, done.output
