"""What a host promises on every supported release of mcp and FastMCP; `make releases` runs this in each."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.client.common.servers import KINDS, REVISIONS, make_server
from tests.waiting import until

from handraise import Accepted, Declined, complete
from handraise.client import Consent, ConsentClient, Roots
from handraise.desks import Queue
from handraise.desks.gate import PolicyGate
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.errors import SetupError
from handraise.policy import Policy
from handraise.questions import Origin, Person
from handraise.revisions import Revision
from handraise.sdk.client import completed_elicitation, protocol_error
from handraise.sdk.releases import generation
from handraise.sdk.streams import command_line, transport_to
from handraise.testing import ScriptedPerson, connect
from handraise.this_user import local_person
from handraise.urls import dump_file_uri

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # FastMCP 2 warns on import
    pytest.mark.release,
    pytest.mark.shows("N8", "N9"),
]

NAME = Line("accept", {"answer": "Ada"})
MODERN = generation() == 2
ERAS = ["legacy", "2026-07-28"] if MODERN else ["legacy"]
ROOT = Path(__file__).parents[3]


@dataclass
class Desk:
    consent: Consent
    queue: Queue
    scripted: ScriptedDesk
    seen: list[Any] = field(default_factory=list)


@asynccontextmanager
async def desk(script: Iterable[Line] = (), **options: Any) -> AsyncIterator[Desk]:
    queue = Queue()
    ada = Person("", "ada", "system")
    origin = Origin("asker", "python asker.py")
    consent = Consent(queue, origin=origin, person=ada, gate=PolicyGate(Policy()), timeout=60, **options)
    scripted = ScriptedDesk(queue, list(script))
    serving = asyncio.create_task(scripted.run())
    try:
        yield Desk(consent, queue, scripted)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def finish_once_seen(here: Desk, questions: int) -> None:
    """Finish the link when the person is in their browser."""
    await until(lambda: len(here.scripted.seen) >= questions)
    await complete("flow", person=local_person())


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_at_the_desk_reaches_the_tool(kind: str, era: str) -> None:
    async with desk([NAME]) as here, ConsentClient(make_server(kind), here.consent, mode=era) as client:
        assert text_of(await client.call_tool("greet", {"greeting": "Hi"})) == "Hi Ada"
        cause = here.scripted.seen[0].cause
        assert cause is not None
        assert cause.calls == (("greet", {"greeting": "Hi"}),)
        assert here.consent.origin.claimed_name == "asker"


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_in_another_process_asks(era: str) -> None:
    asker = command_line(sys.executable, "-m", "tests.client.common.servers")
    asker.env, asker.cwd = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, ROOT
    async with desk([NAME]) as here, ConsentClient(asker, here.consent, mode=era) as client:
        assert text_of(await client.call_tool("greet")) == "Hello Ada"


@pytest.mark.parametrize(
    ("line", "sentence"), [("decline", "The person declined"), ("cancel", "The person dismissed")]
)
async def test_decline_and_cancel_stay_different(line: str, sentence: str) -> None:
    async with (
        desk([Line(line)]) as here,
        ConsentClient(make_server("sdk"), here.consent, mode="legacy") as client,
    ):
        assert sentence in text_of(await client.call_tool("greet"))


@pytest.mark.parametrize("modes", [(), ("form",), ("url",), ("form", "url")], ids=str)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", KINDS)
async def test_exactly_the_modes_of_the_desk_are_declared(
    kind: str, era: str, modes: tuple[Any, ...]
) -> None:
    async with (
        desk(modes=modes) as here,
        ConsentClient(make_server(kind), here.consent, mode=era) as client,
    ):
        assert text_of(await client.call_tool("what_you_can")).split() == list(modes)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", KINDS)
async def test_roots_are_told_and_their_change_too(kind: str, era: str, tmp_path: Path) -> None:
    async with (
        desk(roots=Roots([tmp_path], allowed=True)) as here,
        ConsentClient(make_server(kind), here.consent, mode=era) as client,
    ):
        assert text_of(await client.call_tool("where")) == dump_file_uri(tmp_path)
        assert await client.change_roots([]) is (era == "legacy")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_required_first_is_finished_and_the_call_made_again(kind: str, era: str) -> None:
    async with (
        desk([Line("accept"), Line("leave", repeat=True)]) as here,
        ConsentClient(make_server(kind), here.consent, mode=era) as client,
    ):
        finishing = asyncio.create_task(finish_once_seen(here, 2))
        calling = asyncio.create_task(client.call_tool("files"))
        await finishing
        assert text_of(await calling) == "files"
        assert here.queue.waiting() == ()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_link_is_finished_although_its_client_left(kind: str) -> None:
    server = make_server(kind)
    async with (
        desk([Line("decline")]) as here,
        ConsentClient(server, here.consent, mode="legacy") as client,
    ):
        with pytest.raises(protocol_error(), match="needs something from the person first"):
            await client.call_tool("files")
    await complete("flow", person=local_person())


@pytest.mark.parametrize("era", ERAS)
async def test_a_link_inside_a_call_is_waited_for(era: str) -> None:
    async with (
        desk([Line("accept"), Line("leave", repeat=True)]) as here,
        ConsentClient(make_server("sdk"), here.consent, mode=era) as client,
    ):
        finishing = asyncio.create_task(finish_once_seen(here, 2))
        assert text_of(await client.call_tool("connect")) == "accept"
        await finishing


async def test_consent_is_the_callback_of_the_sdks_own_session(tmp_path: Path) -> None:
    from mcp import ClientSession

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(completed_elicitation(message))

    async with (
        desk(
            [NAME, Line("accept"), Line("leave", repeat=True)], roots=Roots([tmp_path], allowed=True)
        ) as here,
        transport_to(make_server("sdk")) as (read, write),
        ClientSession(
            read,
            write,
            elicitation_callback=here.consent,
            list_roots_callback=here.consent.list_roots,
            message_handler=hear,
        ) as session,
    ):
        await session.initialize()
        assert text_of(await session.call_tool("greet", {})) == "Hello Ada"
        assert text_of(await session.call_tool("where", {})) == dump_file_uri(tmp_path)
        finishing = asyncio.create_task(finish_once_seen(here, 2))
        assert text_of(await session.call_tool("connect", {})) == "accept"
        await finishing
        await until(lambda: "flow" in heard)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_scripted_person_answers_on_every_revision(kind: str, revision: Revision) -> None:
    person = ScriptedPerson(Accepted("Bob"), Declined())
    async with connect(make_server(kind), revision, person) as client:
        assert text_of(await client.call_tool("greet")) == "Hello Bob"
        assert "declined" in text_of(await client.call_tool("greet"))
    assert person.messages == ["Who are you?"] * 2


@pytest.mark.parametrize("revision", [each for each in REVISIONS if each.url_mode], ids=str)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_scripted_person_enters_a_secret_on_its_page(kind: str, revision: Revision) -> None:
    person = ScriptedPerson(Accepted("hunter22"))
    async with connect(make_server(kind), revision, person) as client:
        assert text_of(await client.call_tool("sign_in")) == "8 characters"


@pytest.mark.skipif(MODERN, reason="about mcp 1.x")
async def test_a_revision_that_the_sdk_does_not_speak_is_refused_by_name() -> None:
    async with desk() as here:
        with pytest.raises(SetupError, match=r"revision 2026-07-28 needs mcp 2\.0 or newer; found 1\."):
            ConsentClient(make_server("sdk"), here.consent, mode="2026-07-28")


@pytest.mark.skipif("fastmcp" not in KINDS, reason="about FastMCP")
@pytest.mark.parametrize("era", ERAS)
async def test_fastmcps_own_client_asks_at_the_desk(era: str) -> None:
    from handraise.client.fastmcp import FastMCPConsentClient

    options = {"mode": era} if MODERN else {}
    async with (
        desk([NAME, Line("accept"), Line("leave", repeat=True)]) as here,
        FastMCPConsentClient(make_server("fastmcp"), here.consent, **options) as client,
    ):
        assert (await client.call_tool("greet")).data == "Hello Ada"
        finishing = asyncio.create_task(finish_once_seen(here, 3))
        assert (await client.call_tool("files")).data == "files"
        await finishing
        cause = here.scripted.seen[0].cause
        assert cause is not None
        assert cause.calls[0][0] == "greet"


@pytest.mark.skipif("fastmcp" not in KINDS, reason="about FastMCP")
@pytest.mark.parametrize("modes", [("form",), ("url",)], ids=str)
@pytest.mark.parametrize("era", ERAS)
async def test_fastmcps_own_client_declares_exactly_the_modes(era: str, modes: tuple[Any, ...]) -> None:
    from handraise.client.fastmcp import FastMCPConsentClient

    options = {"mode": era} if MODERN else {}
    async with (
        desk(modes=modes) as here,
        FastMCPConsentClient(make_server("fastmcp"), here.consent, **options) as client,
    ):
        assert (await client.call_tool("what_you_can")).data.split() == list(modes)


@pytest.mark.skipif("fastmcp" not in KINDS, reason="about FastMCP")
async def test_consent_is_the_handler_of_a_plain_fastmcp_client() -> None:
    from fastmcp import Client

    from handraise.client.fastmcp import elicitation_handler

    async with (
        desk([NAME, Line("decline")]) as here,
        Client(make_server("fastmcp"), elicitation_handler=elicitation_handler(here.consent)) as client,
    ):
        assert (await client.call_tool("greet")).data == "Hello Ada"
        declined = await client.call_tool("greet", raise_on_error=False)
        assert "The person declined" in declined.content[0].text
