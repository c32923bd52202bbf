"""FastMCP's client with our consent: over memory and HTTP, on the revisions that it speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from mcp.shared.exceptions import MCPError
from tests.client.hosts import ADA, NOTES, OpenGate, over_http
from tests.client.test_consent import URL, asks_itself
from tests.waiting import until

from handraise import Handraise, UrlQuestion, ask, complete
from handraise.client import Consent, Roots
from handraise.client.fastmcp import FastMCPConsentClient, elicitation_handler
from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.server.served import current_call
from handraise.this_user import local_person
from handraise.urls import dump_file_uri

MODES = ["legacy", "2026-07-28"]
TRANSPORTS = ["memory", "http"]


def server() -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("asker")
    Handraise().install(made)

    @made.tool
    async def greet(greeting: str = "Hello") -> str:
        return f"{greeting} {(await ask.text('Who are you?')).or_stop()}"

    @made.tool
    async def what_you_can() -> str:
        can = current_call().can
        return " ".join(name for name, declared in (("form", can("form")), ("url", can("url"))) if declared)

    @made.tool
    async def where() -> str:
        return " ".join(root.uri for root in await ask.roots())

    @made.tool
    async def files() -> str:
        await ask.require(UrlQuestion("Permission, please.", URL, "flow"))
        return "files"

    return made


@dataclass
class Host:
    consent: Consent
    queue: Queue
    desk: ScriptedDesk


@asynccontextmanager
async def desk(script: Iterable[Line], **options: Any) -> AsyncIterator[Host]:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate(), timeout=10, **options)
    scripted = ScriptedDesk(queue, list(script))
    serving = asyncio.create_task(scripted.run())
    try:
        yield Host(consent, queue, scripted)
    finally:
        serving.cancel()


@asynccontextmanager
async def target(transport: str) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        made = server()
        yield made if transport == "memory" else await stack.enter_async_context(over_http(made.http_app()))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_what_is_asked_is_answered_at_the_desk(transport: str, mode: str) -> None:
    async with target(transport) as server, desk([Line("accept", {"answer": "Ada"})]) as here:
        async with FastMCPConsentClient(server, here.consent, mode=mode) as client:
            assert (await client.call_tool("greet", {"greeting": "Hi"})).data == "Hi Ada"
        cause = here.desk.seen[0].cause
        assert cause is not None
        assert cause.calls == (("greet", {"greeting": "Hi"}),)


async def test_a_new_client_is_guarded_by_the_same_consent() -> None:
    async with desk([Line("accept", {"answer": "Ada"}), Line("accept", {"answer": "Bob"})]) as here:
        first = FastMCPConsentClient(server(), here.consent, mode="legacy")
        async with first, first.new() as second:
            assert (await second.call_tool("greet")).data == "Hello Ada"
            assert (await first.call_tool("greet")).data == "Hello Bob"


@pytest.mark.shows("N4")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_exactly_the_modes_of_the_desk_are_declared(transport: str, mode: str) -> None:
    async with target(transport) as server:
        for modes in (("form",), ("url",), ("form", "url")):
            async with (
                desk((), modes=modes) as here,
                FastMCPConsentClient(server, here.consent, mode=mode) as client,
            ):
                assert (await client.call_tool("what_you_can")).data.split() == list(modes)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_consent_is_the_handler_of_a_plain_client_by_an_adapter(transport: str, mode: str) -> None:
    async with (
        target(transport) as server,
        desk([Line("accept", {"answer": "Ada"}), Line("decline")]) as here,
        Client(server, elicitation_handler=elicitation_handler(here.consent), mode=mode) as client,
    ):
        assert (await client.call_tool("greet")).data == "Hello Ada"
        declined = await client.call_tool("greet", raise_on_error=False)
        assert declined.content[0].text.startswith("The person declined")


@pytest.mark.shows("B1")
@pytest.mark.parametrize("mode", MODES)
async def test_roots_are_exposed_by_the_same_rules(mode: str, tmp_path: Path) -> None:
    async with (
        desk([], roots=Roots([tmp_path], allowed=True)) as here,
        FastMCPConsentClient(server(), here.consent, mode=mode) as client,
    ):
        assert (await client.call_tool("where")).data == dump_file_uri(tmp_path)
        assert await client.change_roots([]) is (mode == "legacy")
        assert not await client.check_roots()


@pytest.mark.shows("N3")
async def test_a_refusal_keeps_its_code() -> None:
    link = {"mode": "url", "message": "Look", "url": URL, "elicitationId": "x"}
    async with (
        desk([], modes=("form",)) as here,
        FastMCPConsentClient(asks_itself(link), here.consent, mode="legacy") as client,
    ):
        refused = await client.call_tool("send")
        assert refused.content[0].text.startswith("-32602")


@pytest.mark.shows("L3", "L4")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_required_first_is_waited_for(mode: str) -> None:
    async with (
        desk([Line("accept"), Line("leave")]) as here,
        FastMCPConsentClient(server(), here.consent, mode=mode) as client,
    ):

        async def finish() -> None:
            await until(lambda: len(here.desk.seen) == 2)
            await complete("flow", person=local_person())

        finishing = asyncio.create_task(finish())
        assert (await client.call_tool("files")).data == "files"
        await finishing
        assert here.queue.waiting() == ()
        with pytest.raises(MCPError):
            await client.get_prompt("none")
