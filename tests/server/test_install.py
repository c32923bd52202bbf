"""`Handraise`: its options, and installing it into a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.rounds import accepted, by_hand

from handraise import Handraise, ask, replayable
from handraise.errors import SetupError, StoreError
from handraise.stores import MemoryStore, SqliteStore


async def stop() -> str:
    return (await ask.text("Go on?")).or_stop()


def test_installing_twice_is_refused() -> None:
    server = MCPServer("twice")
    Handraise().install(server)
    with pytest.raises(SetupError, match="already"):
        Handraise().install(server)


def test_installing_into_something_else_says_what_to_give() -> None:
    with pytest.raises(SetupError, match="MCPServer, a lowlevel Server or a FastMCP"):
        Handraise().install(object())


NAN, INFINITE = float("nan"), float("inf")


WRONG: dict[str, list[Any]] = {
    "timeout": [0, -1, NAN, INFINITE, "5", True],
    "hold": [0, -1, NAN, INFINITE, None, "x"],
    "keep_awake": [0, -1, NAN, INFINITE, None, "x"],
    "retry_window": [0, -1, NAN, INFINITE, None, "60"],
    "linger": [-1, NAN, INFINITE, None, "x", False],
    "max_questions": [0, -1, None, "3", 1.5, True],
    "max_reasks": [-1, None, "3", 1.5, NAN],
    "max_parked": [0, -5, None, "a", INFINITE],
    "resume": ["reply", None, 1, []],
    "store": ["", 5, b"notes.db", "mysql://me:hush@db/x", object()],
    "public_url": ["", 5, "foo", "http://example.com", b"https://mcp.example.com"],
    "pages": [5, "pages", {}],
    "ledger": [5, 0, 1, "", b"ledger.db", [], "mysql://me:hush@db/x"],
    "person": [5, "ann", ("https://id.example", "ann")],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_an_option_that_makes_no_sense_is_refused_by_its_name(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"^{name} ") as refused:
        Handraise(**{name: value})
    assert "hush" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["store", "ledger"])
def test_a_directory_is_no_file(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {name: tmp_path}
    with pytest.raises(SetupError, match=rf"^{name} takes the path of a file.* not the directory"):
        Handraise(**options)


def test_a_file_is_not_called_as_sqlite_calls_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError, match=r"not ':memory:' \(what is named no store is kept in memory\)"):
        Handraise(store=":memory:")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keys", [[], ["short"], "k" * 40, b"k" * 40, [64], [None], 64])
def test_keys_that_are_none_are_refused_where_they_are_given(keys: Any, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="key"):
        Handraise(store=tmp_path / "store.db", keys=keys)
    assert not list(tmp_path.iterdir())


def test_an_option_that_was_removed_is_refused_with_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SetupError, match=r"node_url= .* were removed: .*sticky routing"):
        Handraise(node_url="http://10.0.0.1")  # type: ignore[arg-type]
    monkeypatch.setenv("HANDRAISE_NODE_URL", "http://10.0.0.1")
    with pytest.raises(SetupError, match="HANDRAISE_NODE_URL were removed"):
        Handraise()


def test_keys_without_a_file_to_seal_are_refused() -> None:
    with pytest.raises(SetupError, match="keys= seals"):
        Handraise(keys=[b"x" * 32])


def test_every_number_that_makes_sense_is_taken() -> None:
    Handraise(timeout=1, hold=0.5, max_questions=1, max_reasks=0, max_parked=1, retry_window=1, linger=0)


def test_pages_of_a_server_that_was_not_installed_say_what_to_do() -> None:
    with pytest.raises(SetupError, match=r"install\(server\)"):
        Handraise().pages_app(MCPServer("plain"))


async def test_a_file_that_is_no_store_is_told_when_the_server_starts(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"no database at all, but long enough to be one" * 50)
    server = Handraise(store=path).install(MCPServer("broken"))
    with pytest.raises(StoreError, match=r"store\.db"):
        async with by_hand(server):
            raise AssertionError
    path.unlink()  # `complete` of a later test looks into every store of this process


async def test_keys_that_open_nothing_of_what_waits_are_told_when_the_server_starts(tmp_path: Path) -> None:
    path, old, new = tmp_path / "store.db", "o" * 32, "n" * 32

    def started(*keys: str) -> Any:
        server = Handraise(store=path, keys=keys).install(MCPServer("sealed"))
        server.add_tool(replayable(stop))
        return by_hand(server)

    async with started(old) as rounds:
        first = await rounds.call("stop", {})
    with pytest.raises(SetupError, match="not among its keys"):
        async with started(new):
            raise AssertionError
    assert not path.with_name("store.db-wal").exists(), "who could not start has let go of the file"
    retry = {"state": first["requestState"], "responses": accepted(first, answer="yes")}
    async with started(new, old) as rounds:
        assert (await rounds.call("stop", {}, **retry))["content"][0]["text"] == "yes"
    async with started(new):
        pass


async def test_the_environment_names_a_store_for_whoever_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAISE_STORE", str(tmp_path / "all.db"))
    named = Handraise().store
    assert isinstance(named, SqliteStore)
    await named.pending()
    await named.aclose()
    assert (tmp_path / "all.db").exists()
    assert isinstance(Handraise(store=MemoryStore()).store, MemoryStore)
    monkeypatch.delenv("HANDRAISE_STORE")
    assert isinstance(Handraise().store, MemoryStore)
