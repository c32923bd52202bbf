"""Bodies that are gone: another process, a restart, a kill; and what may run again then."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict

import anyio
import mcp_types as types
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from fastmcp.tools import Tool
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import runtime_of
from tests.server.rounds import Rounds, accepted, by_hand, sign_in
from tests.server.shop import Effects, make_shop
from tests.waiting import until

from handraise import Handraise, SqliteStore, Withdrawn, ask, once, replayable
from handraise.calls import Calls
from handraise.errors import StoreError, UsageError

ADA = {"customer": "Ada"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


async def go_on(rounds: Rounds, tool: str, before: dict[str, Any], **content: Any) -> dict[str, Any]:
    """Answer every question of a round alike."""
    return await rounds.call(tool, ADA, state=before["requestState"], responses=accepted(before, **content))


def message_of(round_: dict[str, Any]) -> str:
    [request] = round_["inputRequests"].values()
    return str(request["params"]["message"])


def text_of(result: dict[str, Any]) -> str:
    assert result["resultType"] == "complete", result
    return str(result["content"][0]["text"])


async def is_refused(work: Any) -> str:
    """The message of the one public error."""
    with pytest.raises(MCPError) as refused:
        await work
    assert refused.value.error.code == -32602
    assert refused.value.error.data == {"reason": "invalid_request_state"}
    return refused.value.error.message


def calls_of(server: MCPServer) -> Calls:
    """The calls of an installed server."""
    return runtime_of(server).calls


# Another process on the same file.


@pytest.mark.shows("C6")
async def test_another_process_goes_on_and_steps_and_answers_come_from_the_journal(
    path: Path, effects: Effects
) -> None:
    async with by_hand(make_shop(path, effects)) as here, by_hand(make_shop(path, effects)) as there:
        first = await here.call("order", ADA)
        second = await go_on(there, "order", first, answer="tea")
        assert message_of(second) == "Wrap the tea as a gift?"
        assert effects() == ["run", "run", "charged for tea"]
        last = await go_on(here, "order", second, answer=True)
        assert json.loads(text_of(last)) == [
            "Ada",
            "tea",
            {"receipt": "r-tea", "notes": ["changed by the body"]},
            "accept",
        ]
        assert effects() == ["run", "run", "charged for tea", "run"]
        for rounds in (here, there):
            assert await go_on(rounds, "order", second, answer=True) == last
            assert await go_on(rounds, "order", first, answer="tea") == second
        assert effects() == ["run", "run", "charged for tea", "run"]


@pytest.mark.shows("X4")
@pytest.mark.parametrize("keys_in", ["argument", "variable", "file beside it", "store"])
async def test_the_same_request_at_two_processes_asks_the_same_question_wherever_the_keys_are(
    path: Path, effects: Effects, keys_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ["k" * 64]
    options: dict[str, Any] = {}
    if keys_in == "variable":
        monkeypatch.setenv("HANDRAISE_STORE_KEYS", keys[0])
    elif keys_in == "argument":
        options["keys"] = keys

    def shop() -> MCPServer:
        return make_shop(SqliteStore(path, keys=keys) if keys_in == "store" else path, effects, **options)

    async with by_hand(shop()) as here, by_hand(shop()) as there:
        asked = [await rounds.call("order", ADA, request_id="7") for rounds in (here, there)]
    assert asked[0]["inputRequests"] == asked[1]["inputRequests"]


def breaks_once(monkeypatch: pytest.MonkeyPatch, store: SqliteStore, name: str) -> None:
    """Have one call of a method fail, as when another process writes for too long."""
    method = getattr(store, name)

    async def failing(*_args: Any, **_kwargs: Any) -> Any:
        monkeypatch.setattr(store, name, method)
        raise StoreError("database is locked")

    monkeypatch.setattr(store, name, failing)


async def test_an_answer_that_cannot_be_kept_is_told_to_wait_and_works_later(
    path: Path, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    async with by_hand(make_shop(store, effects)) as rounds:
        first = await rounds.call("order", ADA)
        breaks_once(monkeypatch, store, "consume")
        with pytest.raises(MCPError, match="The question still waits: send it again") as refused:
            await go_on(rounds, "order", first, answer="tea")
        assert refused.value.error.data == {"reason": "answer_not_kept"}
        second = await go_on(rounds, "order", first, answer="tea")
        assert message_of(second) == "Wrap the tea as a gift?"
    await store.aclose()


async def test_a_step_that_was_done_and_could_not_be_kept_is_told_so(
    path: Path, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    async with by_hand(make_shop(store, effects)) as rounds:
        first = await rounds.call("order", ADA)
        breaks_once(monkeypatch, store, "append")
        ended = await go_on(rounds, "order", first, answer="tea")
        assert ended["isError"]
        assert "Check the effects of that step before you call again" in text_of(ended)
        assert ended["_meta"]["handraise/category"] == "step_not_kept"
        assert await go_on(rounds, "order", first, answer="tea") == ended
    assert effects() == ["run", "charged for tea"]
    await store.aclose()


def deleting(name: str, path: Path, log: list[str], *, may_run_again: bool) -> MCPServer:
    server = Handraise(store=path).install(MCPServer(name))

    async def delete() -> str:
        answer = await ask.confirm("Delete it?")
        log.append(f"{name}: {answer.action}")
        return name

    server.tool()(replayable(delete) if may_run_again else delete)
    return server


@pytest.mark.shows("C2")
@pytest.mark.parametrize("may_run_again", [True, False])
async def test_another_server_on_the_same_store_does_not_take_a_round(
    path: Path, may_run_again: bool
) -> None:
    log: list[str] = []
    notes, mails = (deleting(name, path, log, may_run_again=may_run_again) for name in ("notes", "mails"))
    async with by_hand(notes) as asking, by_hand(mails) as other:
        first = await asking.call("delete", {})
        for responses in (accepted(first, answer=True), {}):
            await is_refused(other.call("delete", {}, state=first["requestState"], responses=responses))
        assert log == []
        retry = {"state": first["requestState"], "responses": accepted(first, answer=True)}
        assert text_of(await asking.call("delete", {}, **retry)) == "notes"
    assert log == ["notes: accept"]


async def test_a_fastmcp_server_without_a_name_goes_on_after_a_restart(path: Path) -> None:
    @replayable
    async def greet() -> str:
        return f"Hello, {(await ask.text('Who?')).or_stop()}"

    def started() -> Any:
        server: FastMCP[Any] = Handraise(store=path).install(FastMCP())
        server.tool(greet)
        return server._mcp_server

    async with by_hand(started()) as rounds:
        first = await rounds.call("greet", {})
    async with by_hand(started()) as rounds:
        retry = {"state": first["requestState"], "responses": accepted(first, answer="Ada")}
        assert text_of(await rounds.call("greet", {}, **retry)) == "Hello, Ada"


@pytest.mark.shows("C6")
async def test_keys_may_be_shared_and_changed_while_a_question_waits(path: Path, effects: Effects) -> None:
    old, new = "o" * 32, "n" * 32
    async with by_hand(make_shop(path, effects, keys=[old])) as rounds:
        first = await rounds.call("order", ADA)
    async with by_hand(make_shop(path, effects, keys=[new, old])) as rounds:
        second = await go_on(rounds, "order", first, answer="tea")
        assert message_of(second) == "Wrap the tea as a gift?"
    assert not path.with_name("store.db.key").exists()


@pytest.mark.shows("C6")
async def test_a_plain_function_may_be_let_go_at_every_question(path: Path, effects: Effects) -> None:
    async with by_hand(make_shop(path, effects, resume="replay")) as rounds:
        first = await rounds.call("order_plainly", ADA)
        await until(lambda: not _bodies() and not _waiting_threads())
        second = await go_on(rounds, "order_plainly", first, answer="tea")
        last = await go_on(rounds, "order_plainly", second, answer="large")
        assert text_of(last) == "Ada r-tea large"
        assert effects().count("charged for tea") == 1
        await until(lambda: not _waiting_threads())


def _waiting_threads() -> int:
    return int(anyio.to_thread.current_default_thread_limiter().borrowed_tokens)


@pytest.mark.shows("C5", "C6")
@pytest.mark.parametrize("stored", ["memory", "file"])
@pytest.mark.parametrize("given", [{}, {"a": {"action": "accept", "content": {"answer": "too long"}}}])
async def test_a_good_answer_is_kept_while_its_siblings_are_asked_again(
    path: Path, stored: str, given: dict[str, Any]
) -> None:
    @replayable
    async def work() -> str:
        both = await ask.all(a=ask.text("A?", max_length=3), b=ask.text("B?"))
        last = await ask.text("C?")
        return " ".join(each.or_stop() for each in (*both.values(), last))

    server = serving(None if stored == "memory" else path, work, resume="replay")
    good = {"b": {"action": "accept", "content": {"answer": "B"}}}
    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        second = await rounds.call("work", {}, state=first["requestState"], responses=given | good)
        assert list(second["inputRequests"]) == ["a"]
        third = await answer(rounds, second, answer="A")
        assert message_of(third) == "C?"
        assert text_of(await answer(rounds, third, answer="C")) == "A B C"


# What may not run again.


@pytest.mark.shows("C6")
async def test_a_handler_that_is_not_replayable_gets_one_clear_error_and_runs_nothing(
    path: Path, effects: Effects
) -> None:
    async with by_hand(make_shop(path, effects)) as here, by_hand(make_shop(path, effects)) as there:
        first = await here.call("order_once", ADA)
        for rounds in (there, there, here):
            with pytest.raises(MCPError, match="may not run again by itself") as refused:
                await go_on(rounds, "order_once", first, answer="tea")
            assert refused.value.error.data == {"reason": "not_replayable"}
        assert effects() == ["run"]
    assert effects() == ["run"]


@pytest.mark.shows("C6")
async def test_a_server_that_stops_withdraws_what_may_not_run_again(path: Path, effects: Effects) -> None:
    async with by_hand(make_shop(path, effects, retry_window=0.05)) as rounds:
        first = await rounds.call("order_once", ADA)
    await asyncio.sleep(0.1)  # a person who answers in time is told why, however late that is for a retry
    async with by_hand(make_shop(path, effects)) as rounds:
        late = await go_on(rounds, "order_once", first, answer="tea")
        assert late["isError"]
        assert text_of(late) == Withdrawn.public
    assert effects() == ["run"]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (lambda: once("pay", anyio.lowlevel.checkpoint()), "step has to be a function"),  # type: ignore[arg-type]
        (lambda: once(5, print), "key has to be text"),  # type: ignore[arg-type]
    ],
)
async def test_a_step_that_is_none_says_how_to_write_one(
    step: Callable[[], Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        await step()

    async with by_hand(serving(None, work)) as rounds:
        result = await rounds.call("work", {})
    assert result["_meta"]["handraise/category"] == "usage"
    assert says in caplog.text


def test_only_a_function_is_replayable() -> None:
    def effectless() -> None: ...

    with pytest.raises(UsageError, match="directly above the function"):
        replayable(Tool.from_function(effectless))  # type: ignore[arg-type]  # as some servers' decorators give


def serving(path: Path | None, handler: Callable[..., Any], **options: Any) -> MCPServer:
    """A server whose tool `work` is this function."""
    server = MCPServer("deployed")
    Handraise(store=path, **options).install(server)
    server.tool(name="work")(handler)
    return server


async def answer(rounds: Rounds, before: dict[str, Any], **content: Any) -> dict[str, Any]:
    """Answer every question of a round of the tool `work` alike."""
    return await rounds.call("work", {}, state=before["requestState"], responses=accepted(before, **content))


@pytest.mark.shows("C6", "O6")
async def test_an_answer_that_was_taken_is_not_judged_again_by_a_world_that_the_body_changed(
    path: Path,
) -> None:
    notes = {"a"}

    @replayable
    async def work() -> str:
        name = await ask.text("A new name?", check=lambda name: name not in notes or f"{name} exists.")
        await ask.confirm("Delete a?", still=lambda: "a" in notes)
        await once("move", lambda: notes.symmetric_difference_update({"a", name.or_stop()}))
        return f"{name.or_stop()} {(await ask.text('Why?')).or_stop()}"

    async with by_hand(serving(path, work)) as here:
        first = await here.call("work", {})
        again = await answer(here, first, answer="a")
        assert "a exists." in str(again["inputRequests"])
        second = await answer(here, again, answer="b")
        third = await answer(here, second, answer=True)
    assert notes == {"b"}
    async with by_hand(serving(path, work)) as there:
        assert text_of(await answer(there, third, answer="tidy")) == "b tidy"
    assert notes == {"b"}


@pytest.mark.shows("C6", "C10")
async def test_an_answer_that_came_with_the_call_is_told_again(path: Path) -> None:
    charged: list[str] = []

    @replayable
    async def work() -> str:
        size = (await ask("Which size?", str, key="size", unsafe_preanswer=True)).or_stop()
        await once("charge", charged.append, size)
        return f"{size} {(await ask.text('Colour?')).or_stop()}"

    async with by_hand(serving(path, work)) as here:
        brought = {"size": {"action": "accept", "content": {"answer": "L"}}}
        first = await here.call("work", {}, responses=brought)
    async with by_hand(serving(path, work)) as there:
        assert text_of(await answer(there, first, answer="red")) == "L red"
    assert charged == ["L"]


@pytest.mark.shows("C6")
@pytest.mark.parametrize("still_replayable", [True, False])
async def test_a_tool_that_is_now_another_handler_is_not_run_for_the_old_one(
    path: Path, still_replayable: bool
) -> None:
    ran: list[str] = []

    @replayable
    async def old() -> str:
        return (await ask.text("Sure?")).or_stop()

    async def new() -> str:
        ran.append("new")
        return (await ask.text("Sure?")).or_stop()

    async with by_hand(serving(path, old)) as rounds:
        first = await rounds.call("work", {})
    async with by_hand(serving(path, replayable(new) if still_replayable else new)) as rounds:
        with pytest.raises(MCPError, match="may not run again by itself"):
            await answer(rounds, first, answer="yes")
    assert ran == []


@pytest.mark.shows("C6")
async def test_a_tool_that_is_gone_is_not_run(path: Path, effects: Effects) -> None:
    async with by_hand(make_shop(path, effects)) as rounds:
        first = await rounds.call("order", ADA)
    server = make_shop(path, effects)
    server.remove_tool("order")
    async with by_hand(server) as rounds:
        with pytest.raises(MCPError, match="may not run again by itself"):
            await go_on(rounds, "order", first, answer="tea")
    assert effects() == ["run"]


@pytest.mark.shows("C6")
async def test_a_replayable_function_says_nothing_about_a_handler_that_calls_it(path: Path) -> None:
    ran: list[str] = []

    @replayable
    async def helper() -> str:
        return (await ask.text("Sure?")).or_stop()

    async def outer() -> str:
        ran.append("effect")
        return await helper() + await helper()

    async with by_hand(serving(path, outer, resume="replay")) as here:
        second = await answer(here, await here.call("work", {}), answer="1")
        async with by_hand(serving(path, outer)) as there:
            with pytest.raises(MCPError, match="may not run again by itself"):
                await answer(there, second, answer="2")
        assert ran == ["effect"]
        second = await answer(here, await here.call("work", {}), answer="1")
        assert text_of(await answer(here, second, answer="2")) == "12"
    assert ran == ["effect"] * 2


@pytest.mark.shows("C6")
async def test_the_one_handler_of_a_lowlevel_server_may_be_declared_itself(path: Path) -> None:
    ran: list[str] = []

    async def old(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        ran.append("old")
        return types.CallToolResult(content=[types.TextContent(type="text", text=await two_questions())])

    async def new(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        ran.append("new")
        return await old(ctx, params)

    def make(handler: Any) -> Any:
        return Handraise(store=path).install(Server("low", on_call_tool=replayable(handler)))

    async with by_hand(make(old)) as here, by_hand(make(old)) as there:
        second = await answer(there, await here.call("work", {}), answer="1")
        async with by_hand(make(new)) as redeployed:
            with pytest.raises(MCPError, match="may not run again by itself"):
                await answer(redeployed, second, answer="2")
    assert "new" not in ran


class Desk:
    @replayable
    async def work(self) -> str:
        return await two_questions()


async def two_questions() -> str:
    first = (await ask.text("First?")).or_stop()
    return f"{first} {(await ask.text('Second?')).or_stop()}"


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return wrapper


@replayable
async def plain() -> str:
    return await two_questions()


@replayable
def gives_an_awaitable() -> Any:
    return two_questions()


@replayable
async def with_context(ctx: Context) -> str:
    return await two_questions()


@replayable
async def with_fast_context(ctx: FastContext) -> str:
    return await two_questions()


@pytest.mark.shows("C6")
@pytest.mark.parametrize(
    "handler",
    [decorated(plain), decorated(replayable(decorated(plain))), Desk().work, with_context],
    ids=["wrapped", "wrapped twice", "method", "context"],
)
async def test_a_handler_is_replayable_however_it_is_made(path: Path, handler: Callable[..., Any]) -> None:
    async with by_hand(serving(path, handler)) as here, by_hand(serving(path, handler)) as there:
        second = await answer(there, await here.call("work", {}), answer="1")
        assert text_of(await answer(here, second, answer="2")) == "1 2"


def _fast(path: Path, handler: Callable[..., Any], how: str) -> Any:
    """A FastMCP server with one tool, prompt and template."""
    inner: FastMCP[Any] = FastMCP("inner")
    inner.tool(handler, name="work")
    inner.prompt(handler, name="work")
    if how == "transformed":
        made = Tool.from_tool(Tool.from_function(handler, name="work"), name="work")
        inner = FastMCP("transformed", tools=[made])
        inner.prompt(handler, name="work")
    if how == "mounted":
        outer: FastMCP[Any] = FastMCP("outer")
        outer.mount(inner, namespace="inner")
        inner = outer
    return Handraise(store=path).install(inner)._mcp_server


@pytest.mark.shows("C6")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
@pytest.mark.parametrize("how", ["plain", "transformed"])
@pytest.mark.parametrize("handler", [plain, with_fast_context, gives_an_awaitable])
async def test_a_handler_of_fastmcp_is_replayable_however_it_is_made(
    path: Path, handler: Callable[..., Any], how: str, method: str
) -> None:
    name = "inner_work" if how == "mounted" else "work"
    async with by_hand(_fast(path, handler, how)) as here, by_hand(_fast(path, handler, how)) as there:
        result = await here.call(name, {}, method=method)
        for rounds, given in ((there, "1"), (here, "2")):
            responses = accepted(result, answer=given)
            result = await rounds.call(
                name, {}, state=result["requestState"], responses=responses, method=method
            )
        assert result["resultType"] == "complete"
        assert "1 2" in str(result)


@pytest.mark.shows("C4", "C6")
async def test_a_question_in_other_words_is_asked_again_after_a_redeploy(
    path: Path, effects: Effects
) -> None:
    async with by_hand(make_shop(path, effects)) as rounds:
        first = await rounds.call("order", ADA)
        second = await go_on(rounds, "order", first, answer="tea")
    async with by_hand(make_shop(path, effects, words="What may I bring you?")) as rounds:
        asked = await go_on(rounds, "order", second, answer=True)
        assert message_of(asked) == "What may I bring you?"
        after = await go_on(rounds, "order", asked, answer="coffee")
        assert message_of(after) == "Wrap the coffee as a gift?"
        last = await go_on(rounds, "order", after, answer=True)
        assert json.loads(text_of(last))[2]["receipt"] == "r-tea"
    assert [line for line in effects() if line != "run"] == ["charged for tea"]


@pytest.mark.shows("C4", "C6")
async def test_words_that_change_every_time_are_asked_again_elsewhere_and_never_here(path: Path) -> None:
    asked: list[str] = []

    def make() -> MCPServer:
        server = MCPServer("clock")
        Handraise(store=path).install(server)

        @server.tool()
        @replayable
        async def work() -> str:
            asked.append(f"It is {len(asked)} o'clock. Go?")
            return (await ask.text(asked[-1])).or_stop()

        return server

    async with by_hand(make()) as here, by_hand(make()) as there:
        first = await here.call("work", {})
        again = await there.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="yes")
        )
        assert message_of(again) == "It is 1 o'clock. Go?"
        done = await there.call(
            "work", {}, state=again["requestState"], responses=accepted(again, answer="now")
        )
        assert text_of(done) == "now"
        assert len(asked) == 2


# Who may go on.


@pytest.mark.shows("C2", "C6")
@pytest.mark.parametrize("gone", [True, False], ids=["restarted", "other node"])
async def test_nobody_else_goes_on_with_a_body_that_is_gone(path: Path, effects: Effects, gone: bool) -> None:
    async with AsyncExitStack() as open_still:
        server = make_shop(path, effects)
        here = await open_still.enter_async_context(by_hand(server))
        there = await open_still.enter_async_context(by_hand(make_shop(path, effects)))
        sign_in("ada")
        first = await here.call("order", ADA)
        if gone:
            await calls_of(server).close()
        state, responses = first["requestState"], accepted(first, answer="tea")

        async def tried(tool: str = "order", arguments: Any = ADA, state: str = state) -> Any:
            return await there.call(tool, arguments, state=state, responses=responses)

        messages = set()
        for subject, client_id, issuer in (
            ("mallory", "app", "https://id.example"),
            ("ada", "other app", "https://id.example"),
            ("ada", "app", "https://evil.example"),
            (None, "app", ""),
        ):
            sign_in(subject, client_id, issuer)
            messages.add(await is_refused(tried()))
            messages.add(await is_refused(there.call("order", ADA, state=state, responses={})))
        sign_in("ada")
        messages.add(await is_refused(tried(tool="order_plainly")))
        messages.add(await is_refused(tried(arguments={"customer": "Eve"})))
        messages.add(await is_refused(tried(arguments={**ADA, "more": 1})))
        messages.add(await is_refused(tried(state=state[:-1])))
        messages.add(await is_refused(tried(state=state[:-1] + ("A" if state[-1] != "A" else "B"))))
        messages.add(await is_refused(tried(state="hr1." + "A" * 24)))
        assert messages == {"Invalid or expired requestState"}
        assert effects() == ["run"]
        assert message_of(await tried()) == "Wrap the tea as a gift?"
        await is_refused(there.call("order", ADA, state=state, responses=accepted(first, answer="coffee")))
    assert effects().count("charged for tea") == 1


@pytest.mark.shows("C2", "C6")
async def test_nobody_goes_on_with_a_body_whose_time_is_over(path: Path, effects: Effects) -> None:
    async with by_hand(make_shop(path, effects, timeout=0.1)) as rounds:
        first = await rounds.call("order", ADA)
    await anyio.sleep(0.15)
    async with by_hand(make_shop(path, effects)) as rounds:
        await is_refused(go_on(rounds, "order", first, answer="tea"))
    assert effects() == ["run"]


@pytest.mark.shows("C3", "C6")
async def test_the_same_retry_at_several_processes_at_once_has_one_effect(
    path: Path, effects: Effects
) -> None:
    async with by_hand(make_shop(path, effects)) as one:
        first = await one.call("order", ADA)
        async with by_hand(make_shop(path, effects)) as two, by_hand(make_shop(path, effects)) as three:
            retries = [
                go_on(rounds, "order", first, answer="tea") for rounds in (two, three, one, two, three)
            ]
            seconds = await asyncio.gather(*retries)
            assert all(second == seconds[0] for second in seconds)
            retries = [go_on(rounds, "order", seconds[0], answer=True) for rounds in (three, one, two, one)]
            lasts = await asyncio.gather(*retries)
            assert all(last == lasts[0] for last in lasts)
    assert effects().count("charged for tea") == 1
    assert effects().count("run") <= 3


# Letting bodies go at every question.


@pytest.mark.shows("C6")
@pytest.mark.parametrize("stored", ["memory", "file"])
async def test_bodies_may_be_let_go_at_every_question(path: Path, effects: Effects, stored: str) -> None:
    store = None if stored == "memory" else path
    server = make_shop(store, effects, resume="replay")
    async with by_hand(server) as rounds:
        first = await rounds.call("order", ADA)
        assert not _bodies()
        second = await go_on(rounds, "order", first, answer="tea")
        assert not _bodies()
        last = await go_on(rounds, "order", second, answer=True)
        assert json.loads(text_of(last))[2]["notes"] == ["changed by the body"]
        assert await go_on(rounds, "order", second, answer=True) == last
        parked = await rounds.call("order_once", ADA)
        assert _bodies()
        parked = await go_on(rounds, "order_once", parked, answer="coffee")
        assert text_of(await go_on(rounds, "order_once", parked, answer=True)) == "coffee"
    assert effects() == ["run", "run", "charged for tea", "run", "run", "charged for coffee"]


def _bodies() -> list[Any]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "handraise call"]


class Basket(TypedDict):
    tags: list[Literal["a", "b", "c"]]


@pytest.mark.shows("C6")
@pytest.mark.parametrize("stored", ["memory", "file"])
async def test_a_body_that_changes_what_it_was_told_is_told_the_same_next_time(
    path: Path, stored: str
) -> None:
    server = MCPServer("changing")
    Handraise(store=None if stored == "memory" else path, resume="replay").install(server)

    @server.tool()
    @replayable
    async def work() -> str:
        made = await once("made", lambda: {"seen": ["made"]})
        made["seen"].append("changed")
        basket = (await ask("Which?", Basket)).or_stop()
        basket["tags"].append("c")
        (await ask.text("More?")).or_stop()
        (await ask.text("And more?")).or_stop()
        return json.dumps([made, basket])

    async with by_hand(server) as rounds:
        result = await rounds.call("work", {})
        for content in ({"tags": ["a", "b"]}, {"answer": "x"}, {"answer": "y"}):
            result = await rounds.call(
                "work", {}, state=result["requestState"], responses=accepted(result, **content)
            )
        assert json.loads(text_of(result)) == [{"seen": ["made", "changed"]}, {"tags": ["a", "b", "c"]}]


@pytest.mark.shows("S6", "C9")
async def test_nothing_of_a_call_is_left_in_the_file_after_its_window(path: Path, effects: Effects) -> None:
    async with by_hand(make_shop(path, effects, retry_window=0.1)) as rounds:
        for answer in ("tea", "coffee"):
            first = await rounds.call("order", ADA)
            second = await go_on(rounds, "order", first, answer=answer)
            await go_on(rounds, "order", second, answer=True)
        store = SqliteStore(path)
        with anyio.fail_after(60):
            while await store.find_round(second["requestState"]) is not None:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        assert await store.prune(float("inf")) == 0
        await store.aclose()


# Steps.


@asynccontextmanager
async def tool(body: Callable[[], Any], **options: Any) -> AsyncIterator[Rounds]:
    server = MCPServer("steps")
    Handraise(**options).install(server)
    server.tool(name="work")(body)
    async with by_hand(server) as rounds:
        yield rounds


@pytest.mark.shows("C6")
async def test_a_step_gives_the_same_kind_of_value_on_the_first_run_and_on_every_later_one() -> None:
    @replayable
    async def work() -> str:
        made = await once("made", lambda: {1: (2, 3), "x": None})
        await ask.text("Go?")
        return repr(made)

    async with tool(work, resume="replay") as rounds:
        first = await rounds.call("work", {})
        last = await rounds.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="yes")
        )
        assert text_of(last) == "{'1': [2, 3], 'x': None}"


async def test_a_step_may_take_arguments_of_any_name() -> None:
    async def work() -> str:
        return repr(await once("made", dict, key=1, step=2))

    async with tool(work) as rounds:
        assert text_of(await rounds.call("work", {})) == "{'key': 1, 'step': 2}"


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"bytes"])
async def test_a_step_of_a_replayable_handler_that_gives_no_json_says_so(value: Any) -> None:
    seen: list[str] = []

    @replayable
    async def work() -> str:
        try:
            await once("made", lambda: value)
        except UsageError as error:
            seen.append(error.reason)
        return "caught"

    async with tool(work) as rounds:
        await rounds.call("work", {})
    assert len(seen) == 1
    assert "'made'" in seen[0]
    assert "no JSON value" in seen[0]


async def test_steps_of_other_handlers_give_anything_and_run_once_all_the_same() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    async def work() -> str:
        one, two = await once("one", make), await once("two", make)
        await ask.text("Go?")
        return str([await once("one", make), await once("two", make)] == [one, two])

    async with tool(work) as rounds:
        first = await rounds.call("work", {})
        last = await rounds.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="yes")
        )
        assert text_of(last) == "True"
    assert len(made) == 2


@pytest.mark.shows("C6")
async def test_two_tasks_never_run_the_same_step_at_once() -> None:
    ran: list[str] = []

    async def charge() -> str:
        ran.append("charged")
        await anyio.sleep(0.01)
        return "receipt"

    async def work() -> str:
        results = await asyncio.gather(once("charge", charge), once("charge", charge), return_exceptions=True)
        return repr([result if isinstance(result, str) else type(result).__name__ for result in results])

    async with tool(work) as rounds:
        assert text_of(await rounds.call("work", {})) == "['receipt', 'UsageError']"
    assert ran == ["charged"]


@pytest.mark.shows("C6")
async def test_a_step_beside_a_question_comes_to_its_end_before_the_body_is_let_go() -> None:
    ran: list[str] = []

    async def charge() -> str:
        ran.append("charging")
        await anyio.sleep(0.05)
        ran.append("charged")
        return "receipt"

    @replayable
    async def work() -> str:
        answer, receipt = await asyncio.gather(ask.text("Go?", key="go"), once("charge", charge))
        return f"{answer.or_stop()} {receipt}"

    async with tool(work, resume="replay") as rounds:
        first = await rounds.call("work", {})
        await until(lambda: not _bodies())
        last = await rounds.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="yes")
        )
        assert text_of(last) == "yes receipt"
    assert ran == ["charging", "charged"]


async def test_a_step_that_failed_may_be_tried_again() -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(len(tries))
        if len(tries) == 1:
            raise ConnectionError
        return "done"

    @replayable
    async def work() -> str:
        try:
            return str(await once("flaky", flaky))
        except ConnectionError:
            return str(await once("flaky", flaky))

    async with tool(work) as rounds:
        assert text_of(await rounds.call("work", {})) == "done"


def test_a_declared_handler_stays_the_function_it_is() -> None:
    @replayable
    async def work(number: int, text: str = "x") -> str:
        """What it does."""
        return text * number

    assert work.__name__ == "work"
    assert work.__doc__ == "What it does."
    assert asyncio.run(work(2)) == "xx"
