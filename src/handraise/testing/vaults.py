"""The contract of a vault's table, as tests that any implementation can be put through.

    class TestMySecrets(SecretsContract):
        @pytest.fixture
        async def table(self) -> AsyncIterator[SecretTable]:
            store = MyStore(...)
            yield store.secrets
            await store.aclose()

The tests are coroutines; run them with anyio's or asyncio's plugin for pytest. Each one gets a fresh, empty table.
"""

from __future__ import annotations

from handraise.vault.records import SealedSecret, SecretTable

ANN, BOB = '["token","https://issuer","ann"]', '["token","https://issuer","bob"]'
HERS = SealedSecret("row 1", ANN, "github", b"\x00wrapped\xff", b"\x00sealed\xff", 1_700_000_000.25, None)
HIS = HERS._replace(row="row 2", owner=BOB, until=1_700_003_600.5)


class SecretsContract:
    """What every vault's table promises. Subclass it, and give it a fixture `table`."""

    async def test_a_secret_is_found_as_it_was_put_by_its_owner_and_service(self, table: SecretTable) -> None:
        await table.put(HERS)
        await table.put(HIS)
        assert await table.find(ANN, "github") == HERS
        assert await table.find(BOB, "github") == HIS
        assert await table.find(ANN, "gitlab") is None
        assert await table.find("", "github") is None

    async def test_another_one_takes_the_place_of_what_was_there(self, table: SecretTable) -> None:
        await table.put(HERS)
        newer = HERS._replace(row="row 3", sealed=b"newer", until=5.0)
        await table.put(newer)
        assert await table.all() == [newer]

    async def test_everything_is_listed_by_owner_and_service(self, table: SecretTable) -> None:
        other = HERS._replace(row="row 4", service="aws")
        for secret in (HIS, HERS, other):
            await table.put(secret)
        assert await table.all() == [other, HERS, HIS]
        assert await table.all(BOB) == [HIS]
        assert await table.all("nobody") == []

    async def test_removing_removes_one_once(self, table: SecretTable) -> None:
        await table.put(HERS)
        await table.put(HIS)
        assert await table.remove(ANN, "github")
        assert not await table.remove(ANN, "github")
        assert await table.all() == [HIS]

    async def test_purging_leaves_what_is_kept_and_tells_what_is_left_of_the_rest(
        self, table: SecretTable
    ) -> None:
        await table.put(HERS)
        await table.put(HIS)
        await table.remove(ANN, "github")
        left = await table.purge()
        assert left is None or (left.where and not left.again)
        assert await table.all() == [HIS]

    async def test_a_row_is_wrapped_anew_only_while_it_is_as_it_was_seen(self, table: SecretTable) -> None:
        await table.put(HERS)
        assert await table.rewrap(HERS.row, was=HERS.wrapped, wrapped=b"new")
        assert not await table.rewrap(HERS.row, was=HERS.wrapped, wrapped=b"late")
        assert not await table.rewrap("no row", was=b"new", wrapped=b"late")
        assert await table.find(ANN, "github") == HERS._replace(wrapped=b"new")
