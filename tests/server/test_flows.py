"""Links between consent and completion: who is told, who may finish, and what is left."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import CANCEL, DECLINE, Person, connect, runtime_of, text_of
from tests.server.rounds import by_hand, sign_in

from handraise import Expired, Failed, Handraise, SqliteStore, UrlQuestion, ask, complete, working_time
from handraise import Person as Somebody
from handraise.errors import CompletionRefused, NotSupported, StoreError, UnsafeUrl
from handraise.revisions import Revision
from handraise.server.flows import Flows
from handraise.server.served import ServedCall, current_call
from handraise.stores.postgres import PostgresStore
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"


NOVEMBER = Revision.NOVEMBER_2025


ACCEPT = types.ElicitResult(action="accept")


class Bank:
    """A server with links, and what it remembers of them."""

    def __init__(self, **options: Any) -> None:
        self.server = Handraise(**options).install(MCPServer("bank"))
        self.calls: list[weakref.ref[ServedCall]] = []
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
        return runtime_of(self.server).flows._notices.flows()

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
        async with asyncio.timeout(60):
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
    flows = runtime_of(bank.server).flows
    async with connect(bank.server, NOVEMBER, Person(ACCEPT), message_handler=ear) as client:
        await require(client, "required")
        assert text_of(await client.call_tool("link", {"flow": "opened", "wait": False})) == "accept"
        watcher = flows._watcher
        assert watcher is not None
        for flow in ("required", "opened"):
            await complete(flow, person=local_person(), store=elsewhere)
            assert await ear.next() == flow
        assert text_of(await client.call_tool("files", {"flow": "required"})) == "files"
        async with asyncio.timeout(60):
            await watcher  # there is nothing left to watch
        await require(client, "never")
        assert flows._watcher not in (None, watcher)
    assert flows._watcher is None, "it ends with the server"
    await elsewhere.aclose()


@pytest.mark.shows("L2")
async def test_many_links_that_other_processes_finish_are_looked_up_a_few_at_a_time(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    bank, ear, elsewhere = Bank(store=path), Ear(), SqliteStore(path)
    flows = runtime_of(bank.server).flows
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


WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


DONE = "Accepted(data=None)"


def bank(*, limit: float = 5, **options: Any) -> MCPServer:
    server = MCPServer("bank")
    Handraise(**options).install(server)
    people: dict[str, Somebody] = {}
    server.people = people  # type: ignore[attr-defined]

    @server.tool()
    async def link(flow: str, wait: bool = True) -> str:
        people[flow] = ask.person()
        return repr(await ask.open("Allow access.", URL, flow, wait=wait, timeout=limit))

    @server.tool()
    async def files(flow: str) -> str:
        people[flow] = ask.person()
        await ask.require(UrlQuestion("Your files need your permission.", URL, flow), timeout=5)
        return "files"

    return server


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_the_time_that_a_page_takes_is_kept_out_of_working_time(revision: Revision) -> None:
    server = Handraise().install(MCPServer("bank"))
    people: list[Somebody] = []

    @server.tool()
    async def link() -> str:
        people.append(ask.person())
        async with working_time(0.2):
            answer = await ask.open("Allow access.", URL, "slowly", timeout=5)
        return repr(answer)

    def finish(_params: Any) -> types.ElicitResult:
        async def after_the_limit() -> None:
            await anyio.sleep(0.3)
            await complete("slowly", person=people[0])

        background.start_soon(after_the_limit)
        return ACCEPT

    async with anyio.create_task_group() as background, connect(server, revision, Person(finish)) as client:
        assert text_of(await client.call_tool("link")) == DONE


@pytest.mark.shows("N6")
async def test_progress_keeps_a_call_alive_while_it_waits_for_a_page() -> None:
    server = bank(keep_awake=0.02)
    told: list[float] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            await complete("awake", person=server.people["awake"])  # type: ignore[attr-defined]

    async with connect(server, Revision.NOVEMBER_2025, Person(ACCEPT)) as client:
        result = await client.call_tool("link", {"flow": "awake"}, progress_callback=watch)
        assert text_of(result) == DONE
    assert told == sorted(set(told))


@pytest.mark.shows("L1")
async def test_two_links_without_an_id_of_the_authors_have_two_different_ones() -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def links() -> str:
        return " ".join([(await ask.open("Look.", URL, wait=False)).action for _ in range(2)])

    person = Person(ACCEPT, ACCEPT)
    async with connect(server, Revision.NOVEMBER_2025, person) as client:
        assert text_of(await client.call_tool("links")) == "accept accept"
    ids = [asked.elicitation_id for asked in person.asked]  # type: ignore[union-attr]
    assert all(ids)
    assert len(set(ids)) == 2


@pytest.mark.shows("L1", "L4")
async def test_content_on_an_accept_never_counts_as_completion() -> None:
    async with by_hand(bank(hold=0.05)) as rounds:
        first = await rounds.call("link", {"flow": "forged"})
        key = next(iter(first["inputRequests"]))
        forged = {key: {"action": "accept", "content": {"completed": True, "callback": URL}}}
        again = await rounds.call("link", {"flow": "forged"}, state=first["requestState"], responses=forged)
        assert again["resultType"] == "input_required"


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_consent_alone_is_enough_when_nobody_waits(revision: Revision) -> None:
    async with connect(bank(), revision, Person(ACCEPT)) as client:
        assert text_of(await client.call_tool("link", {"flow": "look", "wait": False})) == DONE


@pytest.mark.shows("N5")
async def test_a_client_that_knows_no_links_after_all_is_not_supported_for_links_only() -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def either() -> str:
        try:
            return (await ask.open("Allow access.", URL, wait=False)).action
        except NotSupported as nobody:
            return f"{nobody.mode}: {(await ask.text('Then here?')).or_stop()}"

    unknown = types.ErrorData(code=-32602, message="unknown mode")
    answers = Person(unknown, types.ElicitResult(action="accept", content={"answer": "fine"}))
    async with connect(server, Revision.NOVEMBER_2025, answers) as client:
        assert text_of(await client.call_tool("either")) == "url: fine"


@pytest.mark.shows("L2", "L7")
async def test_only_the_person_who_was_asked_can_finish() -> None:
    server = bank()
    async with by_hand(server) as rounds:
        sign_in("ada")
        await rounds.call("link", {"flow": "hers"})
        ada = server.people["hers"]  # type: ignore[attr-defined]
        mallory = Somebody("https://id.example", "mallory", "token")
        for nobody in (mallory, Somebody("", "", "anonymous"), None):
            with pytest.raises(CompletionRefused):
                await complete("hers", person=nobody)  # type: ignore[arg-type]
        with pytest.raises(CompletionRefused):
            await complete("unknown", person=ada)
        await complete("hers", person=ada)
        sign_in(None)


@pytest.mark.shows("L2")
async def test_a_flow_can_be_finished_through_the_store_by_another_process(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    server = bank(store=path, hold=90, limit=90)
    async with by_hand(server) as rounds:
        first = await rounds.call("link", {"flow": "elsewhere"})
        key = next(iter(first["inputRequests"]))
        other_process = SqliteStore(path)
        async with anyio.create_task_group() as calls:

            async def finish() -> None:
                await complete("elsewhere", person=server.people["elsewhere"], store=other_process)  # type: ignore[attr-defined]

            calls.start_soon(finish)
            with anyio.fail_after(60):  # it is noticed, not only found when the retry is held no longer
                last = await rounds.call(
                    "link",
                    {"flow": "elsewhere"},
                    state=first["requestState"],
                    responses={key: {"action": "accept"}},
                )
        assert last["content"][0]["text"] == DONE
        await other_process.aclose()


@pytest.mark.shows("L2")
@pytest.mark.parametrize("kept", ["in memory", "in a file"])
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_flow_that_is_finished_in_another_thread_wakes_who_waits(
    revision: Revision, kept: str, tmp_path: Path
) -> None:
    server = bank(limit=90, store=None if kept == "in memory" else tmp_path / "store.db")
    pages: list[asyncio.Task[None]] = []

    def page() -> None:
        asyncio.run(complete("here", person=server.people["here"]))  # type: ignore[attr-defined]

    async def finish(_params: Any) -> types.ElicitResult:
        pages.append(asyncio.create_task(asyncio.to_thread(page)))
        return ACCEPT

    async with connect(server, revision, Person(finish)) as client:
        with anyio.fail_after(60):  # not only when the time is over
            assert text_of(await client.call_tool("link", {"flow": "here"})) == DONE
        await asyncio.gather(*pages)


@pytest.mark.shows("L2")
async def test_a_server_that_has_ended_is_not_asked_for_its_flows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    server = bank(store=path)

    async def ask_and_end() -> None:
        async with by_hand(server) as rounds:
            await rounds.call("link", {"flow": "left"})

    await asyncio.to_thread(asyncio.run, ask_and_end())
    person = server.people["left"]  # type: ignore[attr-defined]
    with pytest.raises(CompletionRefused):  # its store may be out of reach, and nobody waits there
        await complete("left", person=person)
    await complete("left", person=person, store=path)


@pytest.mark.shows("L2")
async def test_a_server_that_never_ran_is_not_asked_for_its_flows() -> None:
    server = bank(store=PostgresStore("postgresql://127.0.0.1:1/nowhere", keys=[bytes(32)]))
    with pytest.raises(CompletionRefused):  # and no StoreError after the store's patience
        await complete("nowhere", person=local_person())
    assert server is not None  # it was there all the time


@pytest.mark.shows("L2")
async def test_a_flow_is_finished_through_a_store_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    server = bank(store=path)
    async with by_hand(server) as rounds:
        first = await rounds.call("link", {"flow": "named"})
        await complete("named", person=server.people["named"], store=str(path))  # type: ignore[attr-defined]
        state, responses = (
            first["requestState"],
            {key: {"action": "accept"} for key in first["inputRequests"]},
        )
        last = await rounds.call("link", {"flow": "named"}, state=state, responses=responses)
        assert last["content"][0]["text"] == DONE


@pytest.mark.shows("L2")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_the_author_learns_the_id_that_was_made_for_a_link(revision: Revision) -> None:
    server = Handraise().install(MCPServer("bank"))
    chosen: list[Any] = []

    @server.tool()
    async def link() -> str:
        asking = ask.open("Allow access.", URL, timeout=5)
        chosen.append((asking.elicitation_id, ask.person()))
        return repr(await asking)

    async def finish(_params: Any) -> types.ElicitResult:
        elicitation_id, person = chosen[0]
        await complete(elicitation_id, person=person)
        return ACCEPT

    async with connect(server, revision, Person(finish)) as client:
        assert text_of(await client.call_tool("link")) == DONE


def test_what_is_no_link_has_no_such_id() -> None:
    asking = ask.text("Who?")
    assert asking.elicitation_id is None
    asking.use()


@pytest.mark.shows("L2")
async def test_a_store_that_is_away_keeps_no_other_servers_flow_from_being_finished(tmp_path: Any) -> None:
    away = Flows(PostgresStore("postgresql://127.0.0.1:1/nobody", keys=[bytes(32)], patience=0.1))
    away.start()
    server = bank()
    async with by_hand(server) as rounds:
        await rounds.call("link", {"flow": "here"})
        person = server.people["here"]  # type: ignore[attr-defined]
        await complete("here", person=person)
        with pytest.raises(StoreError):
            await complete("nowhere", person=person)
    del away


@pytest.mark.shows("L6")
@pytest.mark.parametrize(
    "url",
    [
        "https://ada:secret@example.com/",
        "https://example.com/?access_token=abcdefghijklmnop",
        "https://example.com/?email=ada@example.com",
        "http://example.com/",
        "javascript:alert(1)",
    ],
)
async def test_an_unsafe_link_is_refused_where_the_question_is_made(revision: Revision, url: str) -> None:
    server = MCPServer("unsafe")
    Handraise().install(server)

    @server.tool()
    async def go() -> str:
        try:
            await ask.open("Look", url)
        except UnsafeUrl as refused:
            return f"refused {bool(refused.reasons)}"
        return "sent"

    if revision.url_mode:
        async with connect(server, revision, Person()) as client:
            assert text_of(await client.call_tool("go")) == "refused True"


@pytest.mark.slow
@pytest.mark.shows("L2")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_a_flow_is_finished_by_a_real_other_process(
    tmp_path: Any, programs: Path, revision: Revision
) -> None:
    path = tmp_path / "store.db"
    server = Handraise(store=path, hold=20).install(MCPServer("flows"))

    @server.tool()
    async def link() -> str:
        answer = await ask.open("Allow access.", "https://mcp.example.com/connect", "flow", timeout=30)
        return f"{answer.action}"

    finish = tmp_path / "finish.py"
    finish.write_text(
        "import asyncio, sys; from handraise import Person, SqliteStore, complete\n"
        "asyncio.run(complete('flow', person=Person(*sys.argv[2:5]), store=SqliteStore(sys.argv[1])))\n"
    )

    async def in_another_process(_params: Any) -> types.ElicitResult:
        who = local_person()
        command = [str(programs / "python"), str(finish), str(path), who.issuer, who.subject, who.how]
        await anyio.run_process(command, stderr=subprocess.STDOUT)
        return types.ElicitResult(action="accept")

    async with connect(server, revision, Person(in_another_process)) as client:
        assert text_of(await client.call_tool("link")) == "accept"
