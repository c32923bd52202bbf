"""Secrets are kept encrypted, for one person, under keys that can be changed, and show themselves to nobody."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from pydantic_core import to_json

from handraise.errors import SetupError, StoreError
from handraise.questions import Person
from handraise.stores import MemoryStore, SqliteStore
from handraise.vault import EphemeralKeys, KeyFile, SealedSecret, Secret, SecretTable, Vault
from handraise.vault.keys import new_key

ANN = Person("https://issuer.example", "ann", "token")
BOB = Person("https://issuer.example", "bob", "token")
NOBODY = Person("", "session", "anonymous")
VALUE = "ghp_3fTq9ZsecretPART"


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "sqlite"])
async def table(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SecretTable]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")
    yield store.secrets
    await store.aclose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vault(table: SecretTable, clock: Clock) -> Vault:
    return Vault(table, EphemeralKeys, clock=clock)


@pytest.mark.shows("L11")
async def test_what_a_person_entered_is_found_again_for_them_and_nobody_else(vault: Vault) -> None:
    await vault.keep(ANN, "github", {"key": VALUE})
    assert await vault.find(ANN, "github") == {"key": VALUE}
    assert await vault.find(BOB, "github") is None
    assert await vault.find(ANN, "gitlab") is None


@pytest.mark.shows("L11")
async def test_nothing_is_kept_for_somebody_who_would_not_be_known_again(vault: Vault) -> None:
    with pytest.raises(StoreError):
        await vault.keep(NOBODY, "github", {"key": VALUE})
    assert await vault.find(NOBODY, "github") is None


async def test_keeping_again_replaces_and_forgetting_forgets(vault: Vault) -> None:
    await vault.keep(ANN, "github", {"key": "old"})
    await vault.keep(ANN, "github", {"key": "new"})
    assert await vault.find(ANN, "github") == {"key": "new"}
    assert [(kept.owner, kept.service) for kept in await vault.list(ANN)] == [(ANN.key, "github")]
    assert await vault.list(BOB) == []
    assert await vault.forget(ANN, "github")
    assert not await vault.forget(ANN, "github")
    assert await vault.find(ANN, "github") is None


async def test_what_expired_is_not_given_and_goes(vault: Vault, clock: Clock, table: SecretTable) -> None:
    await vault.keep(ANN, "github", {"key": VALUE}, seconds=60)
    clock.now += 59
    assert await vault.find(ANN, "github") is not None
    clock.now += 1
    assert await vault.find(ANN, "github") is None
    assert await table.all() == []


async def test_pruning_a_store_takes_expired_secrets_along(tmp_path: Path) -> None:
    for store in (MemoryStore(), SqliteStore(tmp_path / "store.db")):
        clock = Clock()
        vault = Vault(store.secrets, EphemeralKeys, clock=clock)
        await vault.keep(ANN, "short", {"key": VALUE}, seconds=1)
        await vault.keep(ANN, "long", {"key": VALUE})
        assert await store.prune(clock.now + 2) == 1
        assert [kept.service for kept in await vault.list()] == ["long"]
        await store.aclose()


@pytest.mark.shows("L11")
async def test_a_row_that_was_moved_swapped_or_changed_opens_for_nobody(
    vault: Vault, table: SecretTable
) -> None:
    await vault.keep(ANN, "github", {"key": VALUE})
    await vault.keep(BOB, "github", {"key": "bob's"})
    ann, bob = await table.all()
    forged: list[SealedSecret] = [
        ann._replace(owner=BOB.key),
        ann._replace(service="gitlab"),
        ann._replace(row="another row"),
        ann._replace(sealed=bob.sealed),
        ann._replace(wrapped=bob.wrapped),
        ann._replace(wrapped=bob.wrapped, sealed=bob.sealed),
        ann._replace(sealed=ann.sealed[:-1] + bytes([ann.sealed[-1] ^ 1])),
        ann._replace(wrapped=ann.wrapped[:-1] + bytes([ann.wrapped[-1] ^ 1])),
        ann._replace(wrapped=b"none" + ann.wrapped[4:]),
        ann._replace(sealed=b""),
        ann._replace(kept_at=ann.kept_at + 1),
        ann._replace(until=1_700_003_600.0),
    ]
    for row in forged:
        for own in (ann, bob):
            await table.remove(own.owner, own.service)
        await table.put(row)
        with pytest.raises(StoreError) as caught:
            await vault.find(BOB if row.owner == BOB.key else ANN, row.service)
        assert VALUE not in str(caught.value)
        await table.remove(row.owner, row.service)
    await table.put(ann)
    assert await vault.find(ANN, "github") == {"key": VALUE}


@pytest.mark.shows("L11")
@pytest.mark.parametrize("until", [None, 1_700_009_999.0])
async def test_an_expired_secret_is_not_revived_by_a_changed_expiry(
    vault: Vault, clock: Clock, table: SecretTable, until: float | None
) -> None:
    await vault.keep(ANN, "github", {"key": VALUE}, seconds=60)
    (row,) = await table.all()
    await table.put(row._replace(until=until))
    clock.now += 61
    with pytest.raises(StoreError, match="changed"):
        await vault.find(ANN, "github")


@pytest.mark.shows("L11")
async def test_one_issuer_gets_nothing_by_a_subject_that_looks_like_anothers_port(vault: Vault) -> None:
    await vault.keep(Person("https://id.example.com:8443", "ann", "token"), "github", {"key": VALUE})
    assert await vault.find(Person("https://id.example.com", "8443:ann", "token"), "github") is None


class Confused:
    """A table that gives back another's row."""

    def __init__(self, table: SecretTable) -> None:
        self._table = table

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        return (await self._table.all())[0]


@pytest.mark.shows("L11")
async def test_a_store_that_mixes_up_owners_gets_nobody_a_secret(table: SecretTable) -> None:
    keys = EphemeralKeys()
    await Vault(table, lambda: keys).keep(ANN, "github", {"key": VALUE})
    confused = Vault(Confused(table), lambda: keys)  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        await confused.find(BOB, "github")


@pytest.mark.shows("L11", "S5")
async def test_no_secret_is_readable_in_the_store_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    vault = Vault(store.secrets, EphemeralKeys)
    await vault.keep(ANN, "github", {"key": VALUE})
    written = _all_bytes(tmp_path)
    assert b"github" in written
    assert VALUE.encode() not in written
    await store.aclose()


def _all_bytes(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in directory.iterdir())


@pytest.mark.shows("L11")
async def test_rotation_wraps_anew_leaves_the_contents_and_drops_the_old_key(
    table: SecretTable, tmp_path: Path
) -> None:
    file = KeyFile(tmp_path / "key")
    file.save([new_key()])
    (old,) = file.load()
    vault, other_process = Vault(table, lambda: file), Vault(table, lambda: KeyFile(file.path))
    await vault.keep(ANN, "github", {"key": VALUE})
    await vault.keep(BOB, "github", {"key": "bob's"})
    assert await other_process.find(BOB, "github") == {"key": "bob's"}
    before = await table.all()
    assert await vault.rotate() == 2
    after = await table.all()
    assert [row.sealed for row in after] == [row.sealed for row in before]
    assert all(new.wrapped != was.wrapped for new, was in zip(after, before, strict=True))
    assert old not in file.load()
    await other_process.keep(BOB, "gitlab", {"key": "later"})
    assert await vault.find(ANN, "github") == {"key": VALUE}
    assert await other_process.find(ANN, "github") == {"key": VALUE}
    assert await vault.find(BOB, "gitlab") == {"key": "later"}
    with pytest.raises(StoreError):
        await Vault(table, lambda: _Old(old)).find(ANN, "github")


class _Old(EphemeralKeys):
    def __init__(self, key: bytes) -> None:
        self._keys = (key,)


@pytest.mark.shows("L11")
async def test_without_a_key_nothing_is_kept(table: SecretTable, tmp_path: Path) -> None:
    vault = Vault(table, lambda: KeyFile(tmp_path / "missing"))
    with pytest.raises(SetupError):
        await vault.keep(ANN, "github", {"key": VALUE})
    assert await table.all() == []


@pytest.mark.shows("S5")
def test_no_text_made_of_a_secret_says_what_it_is() -> None:
    secret = Secret(VALUE)
    for text in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{secret:s}",
        "%s %r" % (secret, secret),  # noqa: UP031
        repr([secret]),
        repr({"key": secret}),
        str(ValueError(secret)),
        to_json({"key": secret}, fallback=str).decode(),
        logging.makeLogRecord({"msg": "%s", "args": (secret,)}).getMessage(),
    ):
        assert "secret" not in text
        assert "•••" in text
    assert secret.reveal() == VALUE


@pytest.mark.shows("S5")
def test_a_secret_is_never_written_down() -> None:
    secret = Secret(VALUE)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(secret, protocol)
    with pytest.raises(TypeError):
        json.dumps({"key": secret})
    with pytest.raises(TypeError):
        hash(secret)
    with pytest.raises(TypeError):
        secret.__getstate__()
    assert not hasattr(secret, "__dict__")


def test_a_copy_is_the_same_secret_and_comparing_works() -> None:
    @dataclass
    class Account:
        user: str
        password: Secret

    secret = Secret(VALUE)
    assert copy.deepcopy(secret) is secret
    assert asdict(Account("ann", secret))["password"] is secret
    assert secret == Secret(VALUE)
    assert secret != Secret("other")
    assert secret != VALUE
