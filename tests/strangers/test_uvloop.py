"""On uvloop, which uvicorn takes where it is installed, everything holds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.peers import DECLINE, REVISIONS, Person, accept, connect, text_of
from tests.waiting import until

from handraise import Accepted, Handraise, Withdrawn, ask, complete, working_time
from handraise.revisions import Revision

pytestmark = pytest.mark.stranger

URL = "https://mcp.example.com/connect"
INSTALLED = Path(sys.prefix) / "uvloop"
"""Apart from all else: where it can be imported, uvicorn takes it."""
REVISION = pytest.mark.parametrize("revision", REVISIONS, ids=str)
LEGACY = pytest.mark.parametrize("revision", [r for r in REVISIONS if r.legacy], ids=str)
WITH_LINKS = pytest.mark.parametrize("revision", [r for r in REVISIONS if r.url_mode], ids=str)


@pytest.fixture(scope="module", autouse=True)
def uvloop_at_hand() -> Iterator[None]:
    assert INSTALLED.exists(), "uvloop is missing: make setup"
    sys.path.append(str(INSTALLED))
    yield
    sys.path.remove(str(INSTALLED))
    for name in [name for name in sys.modules if name.partition(".")[0] == "uvloop"]:
        del sys.modules[name]


def on_uvloop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test there. The loop of other tests' fixtures, which they share, is another one."""

    @wraps(test)
    def run(revision: Revision) -> None:
        with asyncio.Runner(loop_factory=import_module("uvloop").new_event_loop) as runner:
            runner.run(test(revision))

    return run


class Desk:
    """A server whose tools ask in every way, and what happened in them."""

    def __init__(self, **options: Any) -> None:
        self.did: list[str] = []
        self.server = Handraise(**options).install(MCPServer("desk", log_level="CRITICAL"))
        for tool in (self.works, self.transfers, self.in_a_thread, self.at_once, self.opens, self.waits):
            self.server.tool()(tool)

    async def works(self) -> str:
        return type(asyncio.get_running_loop()).__module__

    async def transfers(self) -> str:
        to = (await ask.text("To whom?")).or_stop()
        self.did.append(f"looked up {to}")
        return "sent" if isinstance(await ask.confirm("Really?"), Accepted) else "kept"

    def in_a_thread(self) -> str:
        return ask.sync(ask.text("From a thread?")).or_stop()

    async def at_once(self) -> str:
        answers = await ask.all(first=ask.text("One?"), second=ask.text("Two?"))
        return " ".join(answer.or_stop() for answer in answers.values())

    async def opens(self) -> str:
        person = ask.person()

        async def finish() -> None:
            await complete("flow", person=person)

        finishing = asyncio.create_task(finish())
        answer = await ask.open("Connect", URL, "flow")
        await finishing
        return answer.action

    async def waits(self) -> str:
        try:
            async with working_time(0.3):
                return (await ask.text("Slowly?")).or_stop()
        except Withdrawn:
            self.did.append("withdrawn")
            raise
        finally:
            self.did.append("finally")


@REVISION
@on_uvloop
async def test_questions_are_asked_and_answered(revision: Revision) -> None:
    desk = Desk()
    said = [accept(answer=text) for text in ("Ada", "x", "1", "2")]
    person = Person(said[0], accept(answer=True), *said[1:])
    async with connect(desk.server, revision, person) as client:
        assert text_of(await client.call_tool("works")) == "uvloop"
        assert text_of(await client.call_tool("transfers")) == "sent"
        assert text_of(await client.call_tool("in_a_thread")) == "x"
        assert text_of(await client.call_tool("at_once")) == "1 2"
    assert desk.did == ["looked up Ada"]


@REVISION
@on_uvloop
async def test_a_no_is_a_value(revision: Revision) -> None:
    async with connect(Desk().server, revision, Person(accept(answer="Ada"), DECLINE)) as client:
        assert text_of(await client.call_tool("transfers")) == "kept"


@WITH_LINKS
@on_uvloop
async def test_a_link_is_finished(revision: Revision) -> None:
    async with connect(Desk().server, revision, Person(accept())) as client:
        assert text_of(await client.call_tool("opens")) == "accept"


@REVISION
@on_uvloop
async def test_working_time_stands_still(revision: Revision) -> None:
    async def person(_context: Any, _params: Any) -> Any:
        await anyio.sleep(0.6)
        return accept(answer="there")

    async with connect(Desk().server, revision, person) as client:
        assert text_of(await client.call_tool("waits")) == "there"


@LEGACY
@on_uvloop
async def test_a_client_that_leaves_is_told_to_the_body(revision: Revision) -> None:
    desk, asked = Desk(), asyncio.Event()

    async def person(_context: Any, _params: Any) -> Any:
        asked.set()
        await anyio.sleep_forever()

    async with connect(desk.server, revision, person) as client:
        call = asyncio.create_task(client.call_tool("waits"))
        await asked.wait()
        call.cancel()
        await until(lambda: desk.did == ["withdrawn", "finally"])
