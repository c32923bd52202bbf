"""The two channels: a question on the stream of its call, and in a round."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from tests.server.kitchen import EFFECTS, make_kitchen
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import Rounds, accepted, by_hand, sign_in
from tests.server.wired import Wire, wired

from handraise import Handraise, NoAnswer, Withdrawn, ask, complete
from handraise.revisions import Revision
from handraise.this_user import local_person

LEGACY = [revision for revision in Revision if revision.legacy]


def make_asking() -> tuple[MCPServer, list[str]]:
    """A server whose tool tells how its question ended, to the client and in a list."""
    server = Handraise().install(MCPServer("asking"))
    ended: list[str] = []

    @server.tool()
    async def work() -> str:
        try:
            ended.append((await ask.text("Go?")).action)
        except NoAnswer as error:
            ended.append(type(error).__name__)
        return ended[-1]

    return server, ended


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_can_be_written_no_more_is_withdrawn(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = make_asking()
    write = JSONRPCDispatcher._write

    async def writing(self: Any, message: Any, metadata: Any = None) -> None:
        if getattr(message, "method", "") == "elicitation/create":
            raise anyio.BrokenResourceError
        await write(self, message, metadata)

    monkeypatch.setattr(JSONRPCDispatcher, "_write", writing)
    async with wired(server, revision) as wire:
        await wire.call("call", "work")
        assert await wire.texts() == ["Withdrawn"]


class Twice:
    """A server whose tool is called twice under the same id: the first or the second dispatch asks, the other joins."""

    def __init__(self, *, asks: int = 1) -> None:
        self.server = Handraise().install(MCPServer("twice"))
        self.limits: dict[str, anyio.CancelScope] = {}
        """The author's own limits, of the one that asks and of the one that joins."""
        self.ended: dict[str, str] = {}
        self._asks = asks
        self._asked = asyncio.Event()
        self.server.tool()(self.work)

    async def work(self) -> str:
        """Ask, within a limit of the author's."""
        role = "asks" if len(self.limits) + 1 == self._asks else "joins"
        with anyio.CancelScope() as limit:
            self.limits[role] = limit
            if role == "joins":
                await self._asked.wait()
            try:
                asyncio.get_running_loop().call_soon(self._asked.set)
                answer = await ask.text("Go?")
            except BaseException as error:
                self.ended[role] = type(error).__name__
                raise
            self.ended[role] = answer.or_stop()
            return self.ended[role]
        return "the author's own limit"

    async def called(self, wire: Wire) -> dict[str, Any]:
        """Call it twice; the question, when both wait for its answer."""
        for _ in range(2):
            await wire.call("same", "work")
        question = await wire.question()
        await anyio.wait_all_tasks_blocked()
        assert len(self.limits) == 2
        return question


async def require_taken_back(wire: Wire, question: dict[str, Any]) -> None:
    notice = await wire.receive()
    assert notice["method"] == "notifications/cancelled"
    assert notice["params"]["requestId"] == question["id"]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_the_question_of_a_dispatch_that_gives_up_is_withdrawn_for_its_duplicate(
    revision: Revision,
) -> None:
    twice = Twice()
    async with wired(twice.server, revision) as wire:
        question = await twice.called(wire)
        twice.limits["asks"].cancel()
        await require_taken_back(wire, question)
        limited, withdrawn = sorted(await wire.texts(2), reverse=True)
        assert limited == "the author's own limit"
        assert "withdrawn before an answer to it came" in withdrawn
        assert twice.ended == {"asks": "CancelledError", "joins": "Withdrawn"}
        await wire.require_open()


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_duplicate_that_gives_up_leaves_the_question_to_the_dispatch_that_asked(
    revision: Revision,
) -> None:
    twice = Twice()
    async with wired(twice.server, revision) as wire:
        question = await twice.called(wire)
        twice.limits["joins"].cancel()
        assert await wire.texts() == ["the author's own limit"]
        await wire.answer(question, answer="yes")
        assert await wire.texts() == ["yes"]
        assert twice.ended == {"asks": "yes", "joins": "CancelledError"}


def make_server() -> MCPServer:
    server = MCPServer("legacy")
    Handraise().install(server)

    @server.tool()
    async def by_key(who: str) -> str:
        return (await ask.text(f"The word of {who}?", key="7")).or_stop()

    @server.tool()
    async def among_others(who: str) -> str:
        answers = await ask.all(word=ask.text(f"The word of {who}?"))
        return str(answers["word"].or_stop())

    @server.tool()
    async def three() -> str:
        await ask.all(one=ask.text("One?"), two=ask.text("Two?"), three=ask.text("Three?"))
        return "answered"

    @server.tool()
    async def short(who: str) -> str:
        return (await ask.text(f"The word of {who}?", max_length=3)).or_stop()

    @server.tool()
    async def alone(who: str) -> str:
        try:
            return (await ask.text(f"The word of {who}?")).or_stop()
        except Withdrawn:
            return "withdrawn"

    return server


@pytest.mark.shows("X4")
@pytest.mark.parametrize("tool", ["by_key", "among_others"])
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_calls_that_name_their_questions_alike_get_their_own_answers(
    revision: Revision, tool: str
) -> None:
    both_asked = asyncio.Barrier(2)

    async def person(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        await both_asked.wait()
        return accept(answer=params.message.rstrip("?").split()[-1])

    async with connect(make_server(), revision, person) as client, asyncio.timeout(60):
        results = await asyncio.gather(*(client.call_tool(tool, {"who": who}) for who in ("ann", "bob")))
    assert [text_of(result) for result in results] == ["ann", "bob"]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_is_asked_again_has_an_id_of_its_own(revision: Revision) -> None:
    """The id of a request must not have been used before in its session."""
    ids: list[object] = []

    async def person(context: Any, _params: Any) -> types.ElicitResult:
        ids.append(context.request_id)
        return accept(answer="yes" if len(ids) % 2 == 0 else "too long")

    async with connect(make_server(), revision, person) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("short", {"who": "ann"})) == "yes"
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_questions_after_one_that_failed_are_not_asked_and_nobody_is_warned_of_them(
    revision: Revision, recwarn: pytest.WarningsRecorder
) -> None:
    person = Person(accept(answer="one"), types.ErrorData(code=-1, message="no"))
    async with connect(make_server(), revision, person) as client:
        assert (await client.call_tool("three")).is_error
    gc.collect()
    assert person.messages == ["One?", "Two?"]
    assert not [str(warning.message) for warning in recwarn if "never" in str(warning.message)]


@pytest.mark.shows("X4")
@pytest.mark.parametrize("key", [None, "word"])
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_number_and_the_text_that_looks_like_it_are_the_ids_of_two_calls(
    revision: Revision, key: str | None
) -> None:
    server = Handraise().install(MCPServer("alike"))

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?", key=key)).or_stop()

    async with wired(server, revision) as wire:
        for number in (1, "1"):
            await wire.call(number, "work")
        questions = [await wire.question(), await wire.question()]
        assert questions[0]["id"] != questions[1]["id"]
        for told, question in zip(("first", "second"), questions, strict=True):
            await wire.answer(question, answer=told)
        results = [await wire.receive(), await wire.receive()]
        told_to = {result["id"]: result["result"]["content"][0]["text"] for result in results}
        assert told_to == {1: "first", "1": "second"}


@pytest.mark.shows("X4", "L2")
@pytest.mark.parametrize("key", [None, "link"])
async def test_a_call_that_is_dispatched_twice_has_one_link_and_both_end_with_it(key: str | None) -> None:
    server = Handraise().install(MCPServer("twice"))

    @server.tool()
    async def link() -> str:
        answer = await ask.open("Allow access.", "https://mcp.example.com/connect", key=key, timeout=20)
        return f"{answer.action}"

    async with wired(server, Revision.NOVEMBER_2025) as wire:
        for _ in range(2):
            await wire.send(id="same", method="tools/call", params={"name": "link", "arguments": {}})
        question = await wire.receive()
        await wire.send(id=question["id"], result={"action": "accept"})
        chosen = question["params"]["elicitationId"]
        await complete(chosen, person=local_person())
        told: list[Any] = []
        results: list[Any] = []
        with anyio.fail_after(60):
            while len(results) < 2:
                message = await wire.receive()
                (told if "method" in message else results).append(message)
        assert {notice["params"]["elicitationId"] for notice in told} == {chosen}
        assert [r["result"]["content"][0]["text"] for r in results] == ["accept", "accept"]
        await wire.send(id="deliberate", method="tools/call", params={"name": "link", "arguments": {}})
        assert (await wire.receive())["params"]["elicitationId"] != chosen


TEXT = {"answer": "x"}


async def refused(rounds: Rounds, *args: Any, **kwargs: Any) -> None:
    """One public error for every reason, and nothing else."""
    with pytest.raises(MCPError) as error:
        await rounds.call(*args, **kwargs)
    assert (error.value.code, error.value.message) == (-32602, "Invalid or expired requestState")
    assert error.value.data == {"reason": "invalid_request_state"}


def run(name: str) -> dict[str, Any]:
    EFFECTS.pop(name, None)
    return {"run": name}


async def test_a_round_carries_the_question_and_a_state_of_bounded_size() -> None:
    async with by_hand(make_kitchen()) as rounds:
        first = await rounds.call("chain", {**run("size"), "length": 2})
        assert first["resultType"] == "input_required"
        assert len(first["requestState"]) < 64
        assert first["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "kitchen"
        second = await rounds.call(
            "chain",
            {"run": "size", "length": 2},
            state=first["requestState"],
            responses=accepted(first, **TEXT),
        )
        assert second["requestState"] != first["requestState"]


@pytest.mark.shows("C2")
async def test_another_person_or_another_client_of_theirs_cannot_go_on() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = {**run("person"), "length": 1}
        sign_in("ada")
        first = await rounds.call("chain", arguments)
        retry = {"state": first["requestState"], "responses": accepted(first, **TEXT)}
        for subject, client, issuer in [
            ("bob", "app", "https://id.example"),
            ("ada", "other app", "https://id.example"),
            ("ada", "app", "https://evil.example"),
        ]:
            sign_in(subject, client, issuer)
            await refused(rounds, "chain", arguments, **retry)
        sign_in(None)
        await refused(rounds, "chain", arguments, **retry)
        assert EFFECTS["person"] == []
        sign_in("ada")
        assert (await rounds.call("chain", arguments, **retry))["resultType"] == "complete"
        assert EFFECTS["person"] == ["x"]
        sign_in("bob")
        await refused(rounds, "chain", arguments, **retry)
        sign_in(None)


@pytest.mark.shows("O2", "O3")
@pytest.mark.parametrize(
    "garbage", [12345, "accept", {"action": "maybe"}, {"action": "accept", "content": 7}, None]
)
async def test_garbage_as_an_answer_is_never_a_decline(garbage: Any) -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = run("garbage")
        first = await rounds.call("uncaught", arguments)
        responses = dict.fromkeys(first["inputRequests"], garbage)
        result = await rounds.call("uncaught", arguments, state=first["requestState"], responses=responses)
        assert result["isError"]
        assert "could not deliver an answer" in result["content"][0]["text"]
        assert EFFECTS["garbage"] == ["finally"]


@pytest.mark.shows("C5")
async def test_a_round_that_is_answered_in_part_asks_for_the_rest() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = run("part")
        first = await rounds.call("gathered", arguments)
        assert sorted(first["inputRequests"]) == ["n0", "n1", "n2"]
        given = {"n1": {"action": "accept", "content": {"answer": "b"}}}
        second = await rounds.call("gathered", arguments, state=first["requestState"], responses=given)
        assert sorted(second["inputRequests"]) == ["n0", "n2"]
        rest = {
            "n0": {"action": "accept", "content": {"answer": "a"}},
            "n2": {"action": "accept", "content": {"answer": "c"}},
        }
        last = await rounds.call("gathered", arguments, state=second["requestState"], responses=rest)
        assert last["content"][0]["text"] == "a b c"
        assert EFFECTS["part"] == ["before"]


@pytest.mark.shows("N7", "N2")
async def test_what_a_client_can_is_read_from_each_request() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = {**run("n7"), "length": 2}
        first = await rounds.call("chain", arguments)
        rounds.capabilities = {"sampling": {}}
        with pytest.raises(MCPError) as refusal:
            await rounds.call(
                "chain", arguments, state=first["requestState"], responses=accepted(first, **TEXT)
            )
        assert refusal.value.code == -32021
        assert EFFECTS["n7"] == ["x"]


@pytest.mark.shows("C2")
async def test_a_retry_with_far_too_much_in_it_is_refused() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = {**run("big"), "length": 1}
        first = await rounds.call("chain", arguments)
        with pytest.raises(MCPError) as refusal:
            await rounds.call(
                "chain",
                arguments,
                state=first["requestState"],
                responses=accepted(first, answer="x" * 5_000_000),
            )
        assert refusal.value.code == -32602
        assert EFFECTS["big"] == []


@pytest.mark.shows("C10")
async def test_a_confirmation_is_asked_even_where_its_answer_came_with_the_call() -> None:
    server = Handraise().install(MCPServer("till"))

    @server.tool()
    async def pay() -> str:
        return (await ask.confirm("Pay now?", key="pay")).action

    @server.tool()
    async def pay_unasked() -> str:
        usual: Any = {"unsafe_preanswer": True}
        return str((await ask.confirm("Pay now?", key="pay", **usual)).action)

    yes = {"pay": {"action": "accept", "content": {"answer": True}}}
    async with by_hand(server) as rounds:
        first = await rounds.call("pay", {}, responses=yes)
        assert list(first["inputRequests"]) == ["pay"]
        assert (await rounds.call("pay_unasked", {}, responses=yes))["isError"]
