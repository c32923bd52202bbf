"""URL questions: consent, completion, and the call that cannot start before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import CANCEL, DECLINE, Person, connect, text_of
from tests.server.rounds import by_hand, sign_in

from handraise import Handraise, SqliteStore, UrlQuestion, ask, complete, working_time
from handraise import Person as Somebody
from handraise.errors import CompletionRefused, NotSupported, StoreError, UnsafeUrl
from handraise.revisions import Revision
from handraise.server.calls import Call, current_call
from handraise.server.flows import Flows
from handraise.server.inquiries import UrlInquiry
from handraise.server.runtime import RUNTIMES
from handraise.stores import MemoryStore
from handraise.stores.postgres import PostgresStore
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"
WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]
ACCEPT = types.ElicitResult(action="accept")
DONE = "Accepted(data=None)"


def bank(**options: Any) -> MCPServer:
    server = MCPServer("bank")
    Handraise(**options).install(server)
    people: dict[str, Somebody] = {}
    server.people = people  # type: ignore[attr-defined]

    @server.tool()
    async def link(flow: str, wait: bool = True) -> str:
        people[flow] = ask.person()
        return repr(await ask.open("Allow access.", URL, flow, wait=wait, timeout=5))

    @server.tool()
    async def files(flow: str) -> str:
        people[flow] = ask.person()
        await ask.require(UrlQuestion("Your files need your permission.", URL, flow), timeout=5)
        return "files"

    return server


@pytest.mark.shows("L1", "L2")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_accepting_is_consent_and_completion_ends_the_wait(revision: Revision) -> None:
    server, log = bank(), []

    async def finish(_params: Any) -> types.ElicitResult:
        async def later() -> None:
            await anyio.sleep(0.05)
            log.append("completed")
            await complete("flow", person=server.people["flow"])  # type: ignore[attr-defined]

        background.start_soon(later)
        return ACCEPT

    notices: list[str] = []

    async def noticed(message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            notices.append(message.params.elicitation_id)

    person = Person(finish)
    async with (
        anyio.create_task_group() as background,
        connect(server, revision, person, message_handler=noticed) as client,
    ):
        result = await client.call_tool("link", {"flow": "flow"})
        assert text_of(result) == DONE
        assert log == ["completed"]
    asked = person.asked[0]
    assert (asked.mode, asked.url) == ("url", URL)  # type: ignore[union-attr]
    if revision.legacy:
        assert asked.elicitation_id == "flow"  # type: ignore[union-attr]
        assert notices == ["flow"]
    else:
        assert notices == []


@pytest.mark.shows("L1")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_completion_may_come_before_the_accept_and_content_on_it_is_dropped(revision: Revision) -> None:
    server = bank()

    async def first_finish(_params: Any) -> types.ElicitResult:
        await complete("early", person=server.people["early"])  # type: ignore[attr-defined]
        return types.ElicitResult(action="accept", content={"token": "never used"})

    async with connect(server, revision, Person(first_finish)) as client:
        assert text_of(await client.call_tool("link", {"flow": "early"})) == DONE


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


@pytest.mark.shows("L4")
async def test_the_retry_waits_for_the_browser_and_then_shows_the_same_link_again() -> None:
    server = bank(hold=0.05)
    async with by_hand(server) as rounds:
        first = await rounds.call("link", {"flow": "slow"})
        key, request = next(iter(first["inputRequests"].items()))
        assert "elicitationId" not in request["params"]
        consent = {key: {"action": "accept"}}
        second = await rounds.call("link", {"flow": "slow"}, state=first["requestState"], responses=consent)
        assert second["inputRequests"][key]["params"]["url"] == URL
        shown = second["inputRequests"][key]["params"]["message"]
        assert shown == "Allow access.\n\nThe page was not finished yet."
        await complete("slow", person=server.people["slow"])  # type: ignore[attr-defined]
        last = await rounds.call("link", {"flow": "slow"}, state=second["requestState"], responses=consent)
        assert last["content"][0]["text"] == DONE


@pytest.mark.shows("O1")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.parametrize(("answer", "told"), [(DECLINE, "Declined(by='action')"), (CANCEL, "Cancelled()")])
async def test_a_link_may_be_declined_or_dismissed(
    revision: Revision, answer: types.ElicitResult, told: str
) -> None:
    async with connect(bank(), revision, Person(answer)) as client:
        assert text_of(await client.call_tool("link", {"flow": "no"})) == told


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_consent_alone_is_enough_when_nobody_waits(revision: Revision) -> None:
    async with connect(bank(), revision, Person(ACCEPT)) as client:
        assert text_of(await client.call_tool("link", {"flow": "look", "wait": False})) == DONE


@pytest.mark.shows("N2", "N5")
async def test_a_link_is_never_sent_on_a_revision_or_to_a_client_without_url_mode(revision: Revision) -> None:
    async with connect(bank(), revision, Person(), modes="form") as client:
        for tool in ("link", "files"):
            if revision.modern:
                with pytest.raises(MCPError) as refused:
                    await client.call_tool(tool, {"flow": "x"})
                assert refused.value.code == -32021
                assert refused.value.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}
            else:
                assert (await client.call_tool(tool, {"flow": "x"})).is_error


@pytest.mark.shows("N6", "L3")
@pytest.mark.parametrize("tool", ["link", "files"])
async def test_the_first_revision_has_no_links_whatever_its_client_declares(tool: str) -> None:
    async with connect(bank(), Revision.JUNE_2025, Person(), modes="form url") as client:
        assert "cannot be asked" in text_of(await client.call_tool(tool, {"flow": "x"}))


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


@pytest.mark.shows("L3", "N5")
async def test_what_is_required_first_is_told_by_32042_and_the_next_call_goes_through() -> None:
    server = bank()
    async with connect(server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("files", {"flow": "first"})
        assert needed.value.code == -32042
        assert needed.value.data == {
            "elicitations": [
                {
                    "mode": "url",
                    "message": "Your files need your permission.",
                    "url": URL,
                    "elicitationId": "first",
                }
            ]
        }
        await complete("first", person=server.people["first"])  # type: ignore[attr-defined]
        assert text_of(await client.call_tool("files", {"flow": "first"})) == "files"


def gate(name: str = "gate", **options: Any) -> MCPServer:
    """A server whose tools need a link first that has no id of the author's."""
    server = Handraise(**options).install(MCPServer(name))

    @server.tool()
    async def enter() -> str:
        await ask.require(URL, timeout=30)
        return "inside"

    @server.tool()
    async def look() -> str:
        await ask.require(UrlQuestion("Please look.", URL + "&look"), timeout=30)
        return "seen"

    return server


async def required_id(client: Any, tool: str = "enter") -> str:
    with pytest.raises(MCPError) as needed:
        await client.call_tool(tool)
    assert needed.value.code == -32042
    return str(needed.value.data["elicitations"][0]["elicitationId"])


@pytest.mark.shows("L3", "X4")
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "another process"])
async def test_a_required_link_without_an_id_is_remembered_for_the_person_and_server(
    durable: bool, tmp_path: Any
) -> None:
    november, path = Revision.NOVEMBER_2025, tmp_path / "store.db"
    store: Any = path if durable else MemoryStore()
    server, other = gate(store=store), gate("other", store=store)
    async with connect(server, november, Person()) as client, connect(other, november, Person()) as another:
        chosen = await required_id(client)
        again = gate(store=path) if durable else server  # as another process that shares the store has it
        async with connect(again, november, Person()) as second:
            assert await required_id(second) == chosen, "it is one question, until it is finished"
            ids = {chosen, await required_id(client, "look"), await required_id(another)}
            assert len(ids) == 3
            await complete(chosen, person=local_person())
            for each in (client, second):
                assert text_of(await each.call_tool("enter")) == "inside"
        assert {await required_id(client, "look"), await required_id(another)} == ids - {chosen}


@pytest.mark.shows("L3")
async def test_a_required_link_without_an_id_is_another_ones_for_another_person() -> None:
    server, chosen = gate(hold=0.05), {}
    async with by_hand(server) as rounds:
        for name in ("ada", "mallory"):
            sign_in(name)
            await rounds.call("enter", {})
            flows = RUNTIMES[server._lowlevel_server].flows.store._flows  # type: ignore[attr-defined]
            chosen[name] = next(
                f.elicitation_id
                for f in flows.values()
                if f.person == Somebody("https://id.example", name, "token").key
            )
        await complete(chosen["ada"], person=Somebody("https://id.example", "ada", "token"))
        assert (await rounds.call("enter", {}))["resultType"] == "input_required"
        sign_in("ada")
        assert (await rounds.call("enter", {}))["content"][0]["text"] == "inside"
        sign_in(None)


@pytest.mark.shows("L3", "L4")
async def test_a_required_link_without_an_id_is_finished_once_on_the_modern_revision(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    server, elsewhere = gate(store=path), SqliteStore(path)

    async def finish(_params: Any) -> types.ElicitResult:
        about = UrlInquiry(UrlQuestion("", URL))
        chosen = (await about.known(calls[-1])).question.elicitation_id
        await complete(str(chosen), person=calls[-1].person, store=elsewhere)
        return ACCEPT

    calls: list[Call] = []

    @server.tool()
    async def twice() -> str:
        calls.append(current_call())
        await ask.require(URL, timeout=30)
        await ask.require(URL, timeout=30)
        return "inside"

    async with connect(server, Revision.JULY_2026, Person(finish)) as client:
        assert text_of(await client.call_tool("twice")) == "inside"
        assert text_of(await client.call_tool("enter")) == "inside"
    await elsewhere.aclose()


@pytest.mark.shows("L3", "C9")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_what_is_remembered_of_a_required_link_ends_with_its_time(revision: Revision) -> None:
    store = MemoryStore()
    server = Handraise(store=store).install(MCPServer("gate"))

    @server.tool()
    async def enter() -> str:
        await ask.require(URL, timeout=0.2)
        return "inside"

    async with connect(server, revision, Person(DECLINE)) as client:
        if revision.legacy:
            await required_id(client)
        else:
            assert (await client.call_tool("enter")).is_error
        assert len(store._flows) == 2
        await store.prune(store.now() + 1)
        assert store._flows == {}


@pytest.mark.shows("L6")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_an_unsafe_link_is_not_required_either(revision: Revision) -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        try:
            await ask.require("https://example.com/?access_token=abcdefghijklmnop")
        except UnsafeUrl:
            return "refused"
        return "files"

    async with connect(server, revision, Person()) as client:
        assert text_of(await client.call_tool("files")) == "refused"


@pytest.mark.shows("L3")
async def test_everything_that_is_required_first_is_listed_at_once() -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        await ask.require(UrlQuestion("Sign here.", URL, "one"), UrlQuestion("And here.", URL, "two"))
        return "files"

    async with connect(server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("files")
    listed = needed.value.data["elicitations"]
    assert [link["elicitationId"] for link in listed] == ["one", "two"]


@pytest.mark.shows("L3", "L4")
async def test_what_is_required_first_is_a_round_on_the_modern_revision() -> None:
    server = bank()

    async def finish(_params: Any) -> types.ElicitResult:
        await complete("modern", person=server.people["modern"])  # type: ignore[attr-defined]
        return ACCEPT

    async with connect(server, Revision.JULY_2026, Person(finish)) as client:
        assert text_of(await client.call_tool("files", {"flow": "modern"})) == "files"
    async with connect(server, Revision.JULY_2026, Person(DECLINE)) as client:
        declined = await client.call_tool("files", {"flow": "never"})
        assert declined.is_error
        assert text_of(declined) == "The person declined. Nothing was done."


@pytest.mark.shows("O1", "O3")
async def test_a_no_to_one_of_several_that_are_required_ends_the_call_at_once() -> None:
    server = Handraise(hold=30).install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        await ask.require("https://mcp.example.com/one", "https://mcp.example.com/two")
        return "files"

    async with connect(server, Revision.JULY_2026, Person(ACCEPT, DECLINE)) as client:
        with anyio.fail_after(10):
            declined = await client.call_tool("files")
    assert text_of(declined) == "The person declined. Nothing was done."


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
    server = bank(store=path, hold=5)
    async with by_hand(server) as rounds:
        first = await rounds.call("link", {"flow": "elsewhere"})
        key = next(iter(first["inputRequests"]))
        other_process = SqliteStore(path)
        async with anyio.create_task_group() as calls:

            async def finish() -> None:
                await complete("elsewhere", person=server.people["elsewhere"], store=other_process)  # type: ignore[attr-defined]

            calls.start_soon(finish)
            with anyio.fail_after(4):  # it is noticed, not only found when the retry is held no longer
                last = await rounds.call(
                    "link",
                    {"flow": "elsewhere"},
                    state=first["requestState"],
                    responses={key: {"action": "accept"}},
                )
        assert last["content"][0]["text"] == DONE
        await other_process.aclose()


@pytest.mark.shows("L2")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_flow_that_is_finished_through_the_servers_own_store_wakes_who_waits(
    revision: Revision,
) -> None:
    store = MemoryStore()
    server = bank(store=store)
    async with anyio.create_task_group() as background:

        async def finish(_params: Any) -> types.ElicitResult:
            async def later() -> None:
                await anyio.sleep(0.05)
                await complete("here", person=server.people["here"], store=store)  # type: ignore[attr-defined]

            background.start_soon(later)
            return ACCEPT

        async with connect(server, revision, Person(finish)) as client:
            with anyio.fail_after(3):  # not only when the time is over
                assert text_of(await client.call_tool("link", {"flow": "here"})) == "Accepted(data=None)"


@pytest.mark.shows("L2")
@pytest.mark.parametrize("kept", ["in memory", "in a file"])
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_a_flow_that_is_finished_in_another_thread_wakes_who_waits(
    revision: Revision, kept: str, tmp_path: Path
) -> None:
    server = bank(store=None if kept == "in memory" else tmp_path / "store.db")
    pages: list[asyncio.Task[None]] = []

    def page() -> None:
        asyncio.run(complete("here", person=server.people["here"]))  # type: ignore[attr-defined]

    async def finish(_params: Any) -> types.ElicitResult:
        pages.append(asyncio.create_task(asyncio.to_thread(page)))
        return ACCEPT

    async with connect(server, revision, Person(finish)) as client:
        with anyio.fail_after(4):  # not only when the time is over
            assert text_of(await client.call_tool("link", {"flow": "here"})) == DONE
        await asyncio.gather(*pages)


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
