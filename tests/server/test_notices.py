"""Completion notices of 2025-11-25: every client that was asked is told, and nobody is remembered for longer."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any
from unittest import mock

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import CANCEL, DECLINE, Person, connect, text_of

from handraise import Expired, Failed, Handraise, SqliteStore, UrlQuestion, ask, complete
from handraise.revisions import Revision
from handraise.server.calls import Call, current_call
from handraise.server.runtime import RUNTIMES
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"
NOVEMBER = Revision.NOVEMBER_2025
ACCEPT = types.ElicitResult(action="accept")


class Bank:
    """A server with links, and what it remembers of them."""

    def __init__(self, **options: Any) -> None:
        self.server = Handraise(**options).install(MCPServer("bank"))
        self.calls: list[weakref.ref[Call]] = []
        self.server.add_tool(self.link)
        self.server.add_tool(self.files)

    async def link(self, flow: str | None = None, wait: bool = True, timeout: float = 30) -> str:
        self.calls.append(weakref.ref(current_call()))
        try:
            return (await ask.open("Allow access.", URL, flow, wait=wait, timeout=timeout)).action
        except (Expired, Failed) as nobody:
            return type(nobody).__name__

    async def files(self, flow: str) -> str:
        self.calls.append(weakref.ref(current_call()))
        await ask.require(UrlQuestion("Permission, please.", URL, flow), timeout=30)
        return "files"

    def waiting(self) -> list[str]:
        """The flows of which somebody is to be told."""
        gc.collect()
        return RUNTIMES[self.server._lowlevel_server].flows._notices.flows()

    def kept(self) -> int:
        """How many calls are kept."""
        gc.collect()
        return sum(call() is not None for call in self.calls)


class Ear:
    """What a client hears of finished links."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            self.heard.put_nowait(message.params.elicitation_id)

    async def next(self) -> str:
        async with asyncio.timeout(10):
            return await self.heard.get()


async def require(client: Any, flow: str) -> None:
    with pytest.raises(MCPError) as needed:
        await client.call_tool("files", {"flow": flow})
    assert needed.value.code == -32042


@pytest.mark.shows("L2")
async def test_every_client_of_a_person_that_was_given_the_same_link_is_told_once() -> None:
    bank, ear, other, asked = Bank(), Ear(), Ear(), asyncio.Barrier(3)

    async def consent(_params: Any) -> types.ElicitResult:
        await asked.wait()
        return ACCEPT

    async with (
        connect(bank.server, NOVEMBER, Person(consent), message_handler=ear) as client,
        connect(bank.server, NOVEMBER, Person(consent), message_handler=other) as another,
    ):
        for each in (client, client, another):
            await require(each, "required")
        await complete("required", person=local_person())
        assert [await ear.next(), await other.next()] == ["required"] * 2
        calls = [
            asyncio.ensure_future(each.call_tool("link", {"flow": "open"})) for each in (client, another)
        ]
        await asked.wait()
        await complete("open", person=local_person())
        assert [text_of(result) for result in await asyncio.gather(*calls)] == ["accept"] * 2
        assert [await ear.next(), await other.next()] == ["open"] * 2
        assert ear.heard.empty()
        assert other.heard.empty()
    assert bank.waiting() == []


@pytest.mark.shows("C9", "L2")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (DECLINE, "decline"),
        (CANCEL, "cancel"),
        (ACCEPT, "Expired"),
        (types.ErrorData(code=-1, message="no"), "Failed"),
    ],
)
async def test_nothing_is_left_of_a_link_that_was_not_finished(answer: Any, told: str) -> None:
    bank = Bank()
    async with connect(bank.server, NOVEMBER, Person(answer)) as client:
        assert text_of(await client.call_tool("link", {"timeout": 0.2 if told == "Expired" else 30})) == told
        assert bank.waiting() == []
    assert bank.kept() == 0


@pytest.mark.shows("C9", "L2")
async def test_who_is_to_be_told_later_is_remembered_without_the_call_and_until_they_go() -> None:
    bank, ear = Bank(), Ear()
    async with connect(bank.server, NOVEMBER, Person(ACCEPT), message_handler=ear) as client:
        assert text_of(await client.call_tool("link", {"flow": "opened", "wait": False})) == "accept"
        await require(client, "required")
        assert bank.waiting() == ["opened", "required"]
        assert bank.kept() <= 1, "the last one may still be on its way out"
        await complete("opened", person=local_person())
        assert await ear.next() == "opened"
        assert bank.waiting() == ["required"]
    assert bank.waiting() == []
    assert bank.kept() == 0


@pytest.mark.shows("L1", "L2")
async def test_a_link_that_was_finished_before_the_consent_is_told_of_after_it() -> None:
    bank, ear = Bank(), Ear()

    async def finish(_params: Any) -> types.ElicitResult:
        await complete("early", person=local_person())
        assert ear.heard.empty()
        return ACCEPT

    async with connect(bank.server, NOVEMBER, Person(finish), message_handler=ear) as client:
        assert text_of(await client.call_tool("link", {"flow": "early", "wait": False})) == "accept"
        assert await ear.next() == "early"


@pytest.mark.shows("L2", "C9")
async def test_what_another_process_finishes_is_told_also_where_no_body_waits(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    bank, ear, elsewhere = Bank(store=path), Ear(), SqliteStore(path)
    flows = RUNTIMES[bank.server._lowlevel_server].flows
    async with connect(bank.server, NOVEMBER, Person(ACCEPT), message_handler=ear) as client:
        await require(client, "required")
        assert text_of(await client.call_tool("link", {"flow": "opened", "wait": False})) == "accept"
        watcher = flows._watcher
        assert watcher is not None
        for flow in ("required", "opened"):
            await complete(flow, person=local_person(), store=elsewhere)
            assert await ear.next() == flow
        assert text_of(await client.call_tool("files", {"flow": "required"})) == "files"
        async with asyncio.timeout(10):
            await watcher  # there is nothing left to watch
        await require(client, "never")
        assert flows._watcher not in (None, watcher)
    assert flows._watcher is None, "it ends with the server"
    await elsewhere.aclose()


@pytest.mark.shows("L2")
async def test_many_links_that_other_processes_finish_are_looked_up_a_few_at_a_time(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    bank, ear, elsewhere = Bank(store=path), Ear(), SqliteStore(path)
    flows = RUNTIMES[bank.server._lowlevel_server].flows
    find = flows.store.find_flow
    under_way, most = 0, 0

    async def counted(elicitation_id: str) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await find(elicitation_id)
        finally:
            under_way -= 1

    async with connect(bank.server, NOVEMBER, Person(), message_handler=ear) as client:
        names = {f"flow {number}" for number in range(40)}
        for name in names:
            await require(client, name)
        with mock.patch.object(flows.store, "find_flow", counted):
            for name in names:
                await complete(name, person=local_person(), store=elsewhere)
            assert {await ear.next() for _ in names} == names
    assert 1 < most <= 16
    await elsewhere.aclose()
