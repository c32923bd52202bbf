"""`handraise vault` lists, forgets and rotates, and shows no secret."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handraise.cli.app import app
from handraise.questions import Person
from handraise.stores import SqliteStore
from handraise.vault import KeyFile, Vault, default_keys
from handraise.vault.keys import new_key

ANN = Person("https://id.example", "ann", "token")
BOB = Person("https://id.example", "bob", "token")
VALUE = "ghp_3fTq9Zx0kLmN"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["vault", *arguments])


def keep(path: Path, *people: Person) -> None:
    async def work() -> None:
        store = SqliteStore(path)
        for person in people:
            await Vault(store.secrets, default_keys).keep(person, "github", {"secret": VALUE}, seconds=3600)
        await store.aclose()

    asyncio.run(work())


def find(path: Path, person: Person) -> object:
    async def work() -> object:
        store = SqliteStore(path)
        found = await Vault(store.secrets, default_keys).find(person, "github")
        await store.aclose()
        return found

    return asyncio.run(work())


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    key = KeyFile(tmp_path / "key")
    key.save([new_key()])
    monkeypatch.delenv("HANDRAISE_VAULT_KEY", raising=False)
    monkeypatch.setenv("HANDRAISE_VAULT_KEY_FILE", str(key.path))
    monkeypatch.setenv("HANDRAISE_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


@pytest.mark.shows("S5")
def test_list_says_what_is_kept_and_never_what_it_is(store: Path) -> None:
    keep(store, ANN, BOB)
    shown = run("list")
    assert shown.exit_code == 0
    assert 'github  ["token","https://id.example","ann"]  since' in shown.stdout
    assert VALUE not in shown.stdout
    (only,) = json.loads(run("list", "--owner", BOB.key, "--json").stdout)
    assert (only["service"], only["owner"]) == ("github", BOB.key)


def rows(store: Path, column: str) -> list[bytes]:
    with closing(sqlite3.connect(store)) as db:
        return [value for (value,) in db.execute(f"SELECT {column} FROM secrets ORDER BY owner")]


def written(store: Path) -> bytes:
    """Everything that the store has on the disk."""
    return b"".join(file.read_bytes() for file in store.parent.iterdir() if file.name.startswith(store.name))


@contextmanager
def read_by_another(store: Path) -> Iterator[None]:
    """Another connection reads, and sees the store as it was."""
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM secrets").fetchone()
        yield


@pytest.mark.shows("G4b")
def test_a_secret_that_another_connection_keeps_on_the_disk_is_not_called_gone(store: Path) -> None:
    keep(store, ANN)
    (sealed,) = rows(store, "sealed")
    with read_by_another(store):
        told = run("forget", "github")
        assert told.exit_code == 3
        assert f"{store}-wal" in told.stderr
        assert "handraise vault forget github" in told.stderr
        assert sealed in written(store)
        again = run("forget", "github")
        assert again.exit_code == 3
        assert "run this again, with the same options: handraise vault forget github" in again.stderr
    gone = run("forget", "github")
    assert (gone.exit_code, gone.stderr) == (1, "Nothing is kept for github.\n")
    assert sealed not in written(store)


@pytest.mark.shows("G4b")
def test_keys_that_the_old_key_wraps_are_not_called_gone_while_they_are_on_the_disk(store: Path) -> None:
    """Keys are changed because somebody may have the old one."""
    keep(store, ANN, BOB)
    wrapped = rows(store, "wrapped")
    with read_by_another(store):
        told = run("rotate")
        assert (told.exit_code, told.stdout) == (3, "Wrapped anew: 2.\n")
        assert "handraise vault rotate --keep-keys" in told.stderr
        assert all(key in written(store) for key in wrapped)
    assert run("rotate", "--keep-keys").exit_code == 0
    assert not any(key in written(store) for key in wrapped)


def test_an_empty_vault_says_so(store: Path) -> None:
    keep(store, ANN)
    run("forget", "github")
    assert run("list").stdout == "The vault is empty.\n"
    assert run("list", "--json").stdout == "[]\n"


def test_forget_needs_to_know_whose_when_several_have_one(store: Path) -> None:
    keep(store, ANN, BOB)
    unclear = run("forget", "github")
    assert unclear.exit_code == 2
    assert "--owner" in unclear.stderr
    assert run("forget", "github", "--owner", ANN.key).stdout == "Forgotten: github.\n"
    assert run("forget", "github").stdout == "Forgotten: github.\n"
    gone = run("forget", "github")
    assert (gone.exit_code, gone.stderr) == (1, "Nothing is kept for github.\n")


@pytest.mark.shows("L11")
def test_rotate_makes_a_new_key_and_the_secrets_stay(store: Path) -> None:
    keep(store, ANN, BOB)
    key = KeyFile(store.with_name("key"))
    before = key.load()
    assert run("rotate").stdout == "Wrapped anew: 2.\n"
    after = key.load()
    assert len(after) == 1
    assert after != before
    assert find(store, ANN) == {"secret": VALUE}


def test_keys_in_a_variable_are_rotated_in_two_steps(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = new_key().hex(), run("new-key").stdout.strip()
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", old)
    keep(store, ANN)
    refused = run("rotate")
    assert (refused.exit_code, "--keep-keys" in refused.stderr) == (2, True)
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", f"{new} {old}")
    assert run("rotate", "--keep-keys").stdout == "Wrapped anew: 1.\n"
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", new)
    assert find(store, ANN) == {"secret": VALUE}


def test_a_new_key_file_is_private_and_never_in_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "new"
    assert "HANDRAISE_VAULT_KEY_FILE" in run("new-key", "--file", str(path)).stdout
    assert path.stat().st_mode & 0o777 == 0o600
    written = path.read_bytes()
    assert run("new-key", "--file", str(path)).exit_code == 2
    assert path.read_bytes() == written


def test_a_key_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    refused = run("new-key", "--file", str(tmp_path / "none" / "key"))
    assert refused.exit_code == 2
    assert "cannot be written: No such file or directory" in " ".join(refused.stderr.split())


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    missing = run("list", "--store", str(tmp_path / "none.db"))
    assert missing.exit_code == 2
    assert "there is no store" in missing.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_rotate_says_what_to_do(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(store, ANN)
    monkeypatch.setenv("HANDRAISE_VAULT_KEY_FILE", str(store.with_name("missing")))
    refused = run("rotate")
    assert refused.exit_code == 2
    assert "cannot be read" in refused.stderr
