"""2026-07-28, round by round: what a retry may and may not do."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx2 as httpx
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl
from tests.client.hosts import over_http
from tests.pages.notebook import ISSUER, Tokens
from tests.server.conftest import Place
from tests.server.kitchen import EFFECTS, make_kitchen
from tests.server.rounds import Rounds, accepted, by_hand, sign_in

from handraise import Handraise, ask
from handraise.revisions import Revision

TEXT = {"answer": "x"}
everywhere = pytest.mark.parametrize("revision", [Revision.JULY_2026], ids=str)
"""At a `place` over every transport."""


async def effects(rounds: Rounds, place: Place) -> list[str]:
    """What happened, from the server that it happened at."""
    told = await rounds.call("effects", {"run": place.run})
    return list(told["structuredContent"]["result"])


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


@pytest.mark.shows("C3")
@everywhere
async def test_the_same_retry_again_gets_the_same_outcome_and_runs_nothing(place: Place) -> None:
    async with by_hand(place.target()) as rounds:
        arguments = {"run": place.run, "length": 2}
        first = await rounds.call("chain", arguments)
        retry = {"state": first["requestState"], "responses": accepted(first, **TEXT)}
        outcomes = await asyncio.gather(*(rounds.call("chain", arguments, **retry) for _ in range(8)))
        assert all(outcome == outcomes[0] for outcome in outcomes)
        assert await effects(rounds, place) == ["x"]
        assert await rounds.call("chain", arguments, **retry) == outcomes[0]
        retry = {"state": outcomes[0]["requestState"], "responses": accepted(outcomes[0], answer="y")}
        last = await rounds.call("chain", arguments, **retry)
        assert last["resultType"] == "complete"
        assert await effects(rounds, place) == ["x", "y"]
        assert await rounds.call("chain", arguments, **retry) == last
        assert await effects(rounds, place) == ["x", "y"]


@pytest.mark.shows("C3")
@everywhere
async def test_a_different_answer_to_a_round_that_is_used_up_is_refused(place: Place) -> None:
    async with by_hand(place.target()) as rounds:
        arguments = {"run": place.run, "length": 2}
        first = await rounds.call("chain", arguments)
        state = first["requestState"]
        await rounds.call("chain", arguments, state=state, responses=accepted(first, answer="x"))
        await refused(rounds, "chain", arguments, state=state, responses=accepted(first, answer="z"))
        assert await effects(rounds, place) == ["x"]


@pytest.mark.shows("C2")
@everywhere
@pytest.mark.parametrize(
    "change", ["tampered", "truncated", "made up", "other tool", "other arguments", "nested"]
)
async def test_a_state_that_does_not_belong_to_the_call_is_refused(place: Place, change: str) -> None:
    async with by_hand(place.target()) as rounds:
        arguments: dict[str, Any] = {"run": place.run, "length": 1}
        first = await rounds.call("chain", arguments)
        state, tool = first["requestState"], "chain"
        match change:
            case "tampered":
                state += "-TAMPERED"
            case "truncated":
                state = state[:-1]
            case "made up":
                state = "hr1." + "A" * 24
            case "other tool":
                tool = "endless"
            case "other arguments":
                arguments = {"run": place.run, "length": 2}
            case "nested":
                arguments = {"run": place.run, "length": True}
        await refused(rounds, tool, arguments, state=state, responses=accepted(first, **TEXT))
        assert await effects(rounds, place) == []


@pytest.mark.shows("C2")
async def test_a_token_of_another_person_cannot_go_on_and_the_round_stays_open() -> None:
    resource = AnyHttpUrl("http://127.0.0.1/mcp")
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(ISSUER), resource_server_url=resource, validate_token_resource=False
    )
    server = Handraise().install(MCPServer("kitchen", auth=auth, token_verifier=Tokens()))
    done: list[str] = []

    @server.tool()
    async def order() -> str:
        done.append((await ask.text("What?")).or_stop())
        return "ordered"

    async with AsyncExitStack() as open_:
        url = await open_.enter_async_context(over_http(server.streamable_http_app()))

        async def signed_in(who: str) -> Rounds:
            headers = {"authorization": f"Bearer {who}"}
            web = await open_.enter_async_context(httpx.AsyncClient(headers=headers))
            return await open_.enter_async_context(by_hand(streamable_http_client(url, http_client=web)))

        ada, bob = await signed_in("ada"), await signed_in("bob")
        first = await ada.call("order", {})
        retry = {"state": first["requestState"], "responses": accepted(first, **TEXT)}
        await refused(bob, "order", {}, **retry)
        assert not done
        assert (await ada.call("order", {}, **retry))["content"][0]["text"] == "ordered"
        assert done == ["x"]
        await refused(bob, "order", {}, **retry)


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


@pytest.mark.shows("C3")
async def test_the_round_of_another_conversation_is_refused() -> None:
    async with by_hand(make_kitchen()) as rounds:
        one = await rounds.call("chain", {**run("one"), "length": 1})
        await rounds.call("chain", {**run("two"), "length": 1})
        await refused(
            rounds,
            "chain",
            {"run": "two", "length": 1},
            state=one["requestState"],
            responses=accepted(one, **TEXT),
        )


@pytest.mark.shows("C5")
@everywhere
@pytest.mark.parametrize("responses", [None, {}, {"wrong_key": {"action": "accept", "content": {}}}])
async def test_a_retry_without_the_answer_is_shown_the_question_again(place: Place, responses: Any) -> None:
    async with by_hand(place.target()) as rounds:
        arguments = {"run": place.run, "length": 1}
        first = await rounds.call("chain", arguments)
        again = await rounds.call("chain", arguments, state=first["requestState"], responses=responses)
        assert again["inputRequests"] == first["inputRequests"]
        done = await rounds.call(
            "chain",
            arguments,
            state=again["requestState"],
            responses={**accepted(first, **TEXT), "unknown": {"action": "accept"}},
        )
        assert done["resultType"] == "complete"
        assert await effects(rounds, place) == ["x"]


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


@pytest.mark.shows("C10")
async def test_an_answer_that_comes_before_the_question_is_asked_for_all_the_same() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = run("before")
        forged = {f"n{number}": {"action": "accept", "content": {"answer": "forged"}} for number in range(3)}
        first = await rounds.call("gathered", arguments, responses=forged)
        assert sorted(first["inputRequests"]) == ["n0", "n1", "n2"]


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


@pytest.mark.shows("X4")
async def test_the_same_request_dispatched_twice_asks_the_same_question() -> None:
    async with by_hand(make_kitchen()) as rounds:
        arguments = {**run("x4"), "length": 1}
        one = await rounds.call("chain", arguments, request_id="proxied")
        same = await rounds.call("chain", arguments, request_id="proxied")
        other = await rounds.call("chain", arguments, request_id="deliberate")
        assert list(one["inputRequests"]) == list(same["inputRequests"])
        assert list(one["inputRequests"]) != list(other["inputRequests"])
        assert one["requestState"] != same["requestState"]


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

    yes = {"pay": {"action": "accept", "content": {"confirm": True}}}
    async with by_hand(server) as rounds:
        first = await rounds.call("pay", {}, responses=yes)
        assert list(first["inputRequests"]) == ["pay"]
        assert (await rounds.call("pay_unasked", {}, responses=yes))["isError"]


@pytest.mark.shows("C2")
async def test_a_state_of_a_tool_is_no_state_of_a_prompt_with_the_same_name() -> None:
    server = Handraise().install(MCPServer("greeter"))
    greeted: list[str] = []

    @server.tool("greet")
    async def greet() -> str:
        greeted.append(name := (await ask.text("Who?")).or_stop())
        return name

    @server.prompt("greet")
    async def greet_in_a_prompt() -> str:
        return "Hello"

    async with by_hand(server) as rounds:
        first = await rounds.call("greet", {})
        retry = {"state": first["requestState"], "responses": accepted(first, **TEXT)}
        await refused(rounds, "greet", {}, method="prompts/get", **retry)
        assert not greeted
        await rounds.call("greet", {}, **retry)
        assert greeted == ["x"]
