"""Real processes on one file: kill -9 between two rounds, and between an answer and what comes next."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.server.peers import free_port, wait_until_closed, wait_until_open
from tests.server.rounds import CAPABILITIES, accepted, by_hand
from tests.server.shop import Effects, serve_pipes
from tests.server.test_replay import ADA, message_of, text_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.server.shop"])


class Process:
    """A shop in a process of its own, spoken to line by line. It is forked: loading the SDK takes a second."""

    def __init__(self, store: Path, log: Path, *options: str) -> None:
        (their_input, ours), (replies, their_output) = FORKS.Pipe(False), FORKS.Pipe(False)
        words = (their_input, their_output, str(store), str(log), *options)
        self._process = FORKS.Process(target=serve_pipes, args=words)
        self._process.start()
        for end in (their_input, their_output):
            end.close()
        self._write, self._read = os.fdopen(os.dup(ours.fileno()), "w"), os.fdopen(os.dup(replies.fileno()))
        for end in (ours, replies):
            end.close()
        self._ids = 0

    def call(self, tool: str, before: dict[str, Any] | None = None, **content: Any) -> dict[str, Any] | None:
        """The result of a call or of its retry; None when the process did not live to give one."""
        params: dict[str, Any] = {
            "name": tool,
            "arguments": ADA,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
            },
        }
        if before is not None:
            params |= {"requestState": before["requestState"], "inputResponses": accepted(before, **content)}
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": "tools/call", "params": params}
        self._write.write(json.dumps(message) + "\n")
        self._write.flush()
        for line in self._read:
            reply = json.loads(line)
            if reply.get("id") == self._ids:
                return dict(reply["result"] if "result" in reply else {"error": reply["error"]})
        return None

    def kill(self) -> int | None:
        """Kill it as `kill -9` does; how it ended."""
        self._process.kill()
        for pipe in (self._write, self._read):
            with suppress(BrokenPipeError):
                pipe.close()
        self._process.join(60)
        return self._process.exitcode


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*options: str) -> Process:
        started.append(Process(tmp_path / "store.db", tmp_path / "effects", *options))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.mark.slow
@pytest.mark.shows("C6")
def test_after_kill_9_between_two_rounds_the_next_process_goes_on(
    start: Callable[..., Process], effects: Effects
) -> None:
    first_process = start()
    first = first_process.call("order")
    assert first is not None
    second = first_process.call("order", first, answer="tea")
    assert second is not None
    assert first_process.kill() == -9
    next_process = start()
    last = next_process.call("order", second, answer=True)
    assert last is not None
    assert json.loads(text_of(last))[2]["receipt"] == "r-tea"
    assert next_process.call("order", second, answer=True) == last
    assert next_process.call("order", first, answer="tea") == second
    assert effects() == ["run", "charged for tea", "run"]


@contextmanager
def over_http(programs: Path, folder: Path) -> Iterator[str]:
    """A shop over HTTP, which is gone afterwards; the URL of its endpoint."""
    port = free_port()
    words = ["tests/server/shop.py", str(folder / "store.db"), str(folder / "effects"), f"port={port}"]
    with subprocess.Popen([str(programs / "python"), *words], cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()
    wait_until_closed(port)


@pytest.mark.slow
@pytest.mark.shows("C6")
async def test_over_http_a_server_that_stopped_and_started_again_goes_on(
    programs: Path, tmp_path: Path, effects: Effects
) -> None:
    result: dict[str, Any] = {}
    for content in ({}, {"answer": "tea"}, {"answer": True}):
        retry: dict[str, Any] = {}
        if result:
            retry = {"state": result["requestState"], "responses": accepted(result, **content)}
        with over_http(programs, tmp_path) as url:
            async with by_hand(url) as rounds:
                result = await rounds.call("order", ADA, **retry)
    assert json.loads(text_of(result))[2]["receipt"] == "r-tea"
    assert effects() == ["run", "run", "charged for tea", "run"]


@pytest.mark.slow
@pytest.mark.shows("C6")
@pytest.mark.parametrize("dies", ["after the answer", "after the step", "after the last answer"])
def test_after_a_death_between_an_answer_and_the_next_question_the_same_retry_goes_on(
    start: Callable[..., Process], effects: Effects, dies: str
) -> None:
    dying = start(f"dies={dies}")
    first = dying.call("order")
    assert first is not None
    before: dict[str, Any] = first
    content: dict[str, Any] = {"answer": "tea"}
    if dies == "after the last answer":
        second = dying.call("order", first, answer="tea")
        assert second is not None
        before, content = second, {"answer": True}
    assert dying.call("order", before, **content) is None
    assert dying.kill() == -9
    other = start("lease=0.3")
    result = other.call("order", before, **content)
    assert result is not None
    if dies != "after the last answer":
        assert message_of(result) == "Wrap the tea as a gift?"
        result = other.call("order", result, answer=True)
        assert result is not None
    assert json.loads(text_of(result))[-1] == "accept"
    refused = other.call("order", before, **dict.fromkeys(content, "something else"))
    assert refused is not None
    assert refused["error"]["message"] == "Invalid or expired requestState"
    assert [line for line in effects() if line != "run"] == ["charged for tea"]


@pytest.mark.slow
@pytest.mark.shows("C6")
def test_after_kill_9_what_may_not_run_again_is_refused_and_runs_nothing(
    start: Callable[..., Process], effects: Effects
) -> None:
    killed = start()
    first = killed.call("order_once")
    assert first is not None
    assert killed.kill() == -9
    other = start()
    for _ in range(2):
        refused = other.call("order_once", first, answer="tea")
        assert refused is not None
        assert re.search("may not run again by itself", refused["error"]["message"])
    assert effects() == ["run"]


@pytest.mark.slow
@pytest.mark.shows("C6")
def test_after_a_death_behind_an_effect_nobody_says_that_nothing_was_done(
    start: Callable[..., Process], effects: Effects
) -> None:
    dying = start("dies=after the effect")
    first = dying.call("order_once")
    assert first is not None
    assert dying.call("order_once", first, answer="tea") is None
    assert dying.kill() == -9
    refused = start("lease=0.3").call("order_once", first, answer="tea")
    assert refused is not None
    assert refused["error"]["data"] == {"reason": "ambiguous"}
    assert "Nobody knows how far it got" in refused["error"]["message"]
    assert effects() == ["run", "charged for tea"]


@pytest.mark.slow
@pytest.mark.shows("C6", "X4")
def test_two_processes_share_a_call_without_doing_anything_twice(
    start: Callable[..., Process], effects: Effects
) -> None:
    one, other = start(), start()
    first = one.call("order")
    assert first is not None
    second = other.call("order", first, answer="tea")
    assert second == one.call("order", first, answer="tea")
    assert second is not None
    last = one.call("order", second, answer=True)
    assert last == other.call("order", second, answer=True)
    assert effects() == ["run", "run", "charged for tea", "run"]
