"""A question before it is asked: it is no answer, and it is asked once or given up."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.peers import CANCEL, DECLINE, Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.errors import UsageError
from handraise.revisions import Revision


def test_a_question_is_neither_true_nor_false() -> None:
    for question in (ask.confirm("Delete it?"), ask.secret("API key"), ask.roots()):
        with pytest.raises(UsageError, match="`await` is missing"):
            bool(question)


async def test_a_body_that_forgot_to_await_does_nothing(revision: Revision) -> None:
    server = Handraise().install(MCPServer("forgetful"))
    deleted: list[str] = []

    @server.tool()
    async def delete() -> str:
        if ask.confirm("Delete it?"):
            deleted.append("all")
        return "done"

    async with connect(server, revision, Person()) as client:
        assert (await client.call_tool("delete")).is_error
    assert not deleted


@pytest.mark.parametrize("answer", [DECLINE, CANCEL, accept(confirm=False), accept(confirm=True)])
async def test_a_body_that_takes_any_answer_for_a_yes_does_nothing(
    revision: Revision, answer: types.ElicitResult
) -> None:
    server = Handraise().install(MCPServer("hasty"))
    deleted: list[str] = []

    @server.tool()
    async def delete() -> str:
        if await ask.confirm("Delete it?"):
            deleted.append("all")
        return "done"

    async with connect(server, revision, Person(answer)) as client:
        result = await client.call_tool("delete")
    assert result.is_error
    assert text_of(result) == UsageError.public
    assert not deleted


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: {"a": ask.text("A?", key="b"), "b": ask.text("B?")}, "a and b have the same key 'b'"),
        (lambda: {"a": ask.text("A?"), "b": 5}, "b has to be a question"),
        (lambda: {"a": ask.text("A?"), "b": ask.require()}, "b has to be a question"),
        (lambda: {"a": ask.text("A?"), "\udce9": ask.text("B?")}, "fsencode"),
    ],
)
async def test_questions_that_cannot_be_told_apart_are_refused_before_anybody_is_asked(
    wrong: Any, says: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UsageError, match=says):
            await ask.all(**wrong())
        gc.collect()


def test_waiting_outside_of_a_worker_thread_says_what_to_do_instead() -> None:
    async def step() -> int:
        return 1

    with pytest.raises(UsageError, match="write `await` instead"):
        ask.sync(ask.confirm("Sure?"))
    with pytest.raises(UsageError, match="write `await` instead"):
        ask.sync(step())


async def test_what_goes_wrong_while_a_plain_function_waits_is_told_as_it_is(revision: Revision) -> None:
    server = Handraise().install(MCPServer("plain"))

    def check(_: str) -> None:
        raise RuntimeError("the disk is full")

    @server.tool()
    def work() -> str:
        with pytest.raises(RuntimeError, match="disk"):
            ask.sync(ask.text("Name?", check=check))
        return "told"

    async with connect(server, revision, Person(accept(answer="x"))) as client:
        assert text_of(await client.call_tool("work")) == "told"
