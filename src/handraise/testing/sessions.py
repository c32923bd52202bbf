"""The contract of a store for legacy sessions, as tests that any implementation can be put through.

    class TestMySessions(SessionsContract):
        @pytest.fixture
        async def sessions(self) -> AsyncIterator[Sessions]:
            store = MyStore(...)
            yield store.sessions
            await store.aclose()

The tests are coroutines; run them with anyio's or asyncio's plugin for pytest. Each one gets a fresh, empty table.
"""

from __future__ import annotations

from handraise.conversation.sessions import Letter, Residence, Sessions

NOW = 1_700_000_000.0
ADDRESS = "http://10.0.0.5:8000"
LETTER = Letter("l1", "one", {"body": "Grüße ✓", "headers": [["a", "b"]]}, NOW + 60.0)


class SessionsContract:
    """What every table of legacy sessions promises. Subclass it, and give it a fixture `sessions`."""

    async def test_a_session_is_found_where_it_was_entered(self, sessions: Sessions) -> None:
        await sessions.announce("one", ADDRESS, until=NOW + 15.0)
        await sessions.announce("two", None, until=NOW + 15.0)
        await sessions.enter("s1", "one", until=NOW + 60.0)
        await sessions.enter("s2", "two", until=NOW + 60.0)
        assert await sessions.find("s1", now=NOW) == Residence("one", ADDRESS)
        assert await sessions.find("s2", now=NOW) == Residence("two", None)
        for unknown in ("s3", "", "S1", "s1 ", "%", "s1\0", "Ω"):
            assert await sessions.find(unknown, now=NOW) is None

    async def test_a_session_is_nowhere_once_its_node_was_not_heard_of(self, sessions: Sessions) -> None:
        await sessions.announce("one", ADDRESS, until=NOW + 15.0)
        await sessions.enter("s1", "one", until=NOW + 600.0)
        await sessions.enter("s2", "never seen", until=NOW + 600.0)
        assert await sessions.find("s1", now=NOW + 15.0) is None
        assert await sessions.find("s2", now=NOW) is None
        await sessions.announce("one", ADDRESS, until=NOW + 30.0)
        assert await sessions.find("s1", now=NOW + 15.0) == Residence("one", ADDRESS)

    async def test_a_node_that_moved_is_found_at_its_new_address(self, sessions: Sessions) -> None:
        await sessions.announce("one", ADDRESS, until=NOW + 15.0)
        await sessions.enter("s1", "one", until=NOW + 60.0)
        await sessions.announce("one", "http://10.0.0.6:8000", until=NOW + 15.0)
        assert await sessions.find("s1", now=NOW) == Residence("one", "http://10.0.0.6:8000")

    async def test_a_session_that_is_over_is_nowhere(self, sessions: Sessions) -> None:
        await sessions.announce("one", ADDRESS, until=NOW + 900.0)
        for session in ("s1", "s2"):
            await sessions.enter(session, "one", until=NOW + 60.0)
        await sessions.leave("s1")
        await sessions.leave("never there")
        assert await sessions.find("s1", now=NOW) is None
        assert await sessions.find("s2", now=NOW + 60.0) is None
        await sessions.enter("s2", "one", until=NOW + 120.0)
        assert await sessions.find("s2", now=NOW + 60.0) is not None

    async def test_letters_wait_for_their_node_in_order_until_they_are_dropped(
        self, sessions: Sessions
    ) -> None:
        second, other = LETTER._replace(id="a2", message=[1]), LETTER._replace(id="l3", node="two")
        for letter in (LETTER, second, other, LETTER._replace(message="again")):
            await sessions.post(letter)
        assert await sessions.letters("one") == [LETTER, second]
        await sessions.drop(["l1", "never there"])
        await sessions.drop([])
        assert await sessions.letters("one") == [second]
        assert await sessions.letters("two") == [other]

    async def test_what_is_signed_here_is_known_and_nothing_else(self, sessions: Sessions) -> None:
        proof = await sessions.sign("to whom it may concern")
        assert await sessions.is_signed("to whom it may concern", proof)
        assert not await sessions.is_signed("to whom it may", proof)
        for wrong in (b"", b"x", proof[:-1], proof + b"x", bytes(len(proof))):
            assert not await sessions.is_signed("to whom it may concern", wrong)

    async def test_what_is_over_is_deleted(self, sessions: Sessions) -> None:
        await sessions.announce("one", ADDRESS, until=NOW + 15.0)
        await sessions.enter("s1", "one", until=NOW + 60.0)
        await sessions.post(LETTER)
        assert await sessions.prune(NOW) == 0
        assert await sessions.prune(NOW + 15.0) == 1
        assert await sessions.prune(NOW + 60.0) == 2
        assert await sessions.letters("one") == []
