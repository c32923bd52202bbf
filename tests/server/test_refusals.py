"""An author's mistake is a tool error that says so, the log says what to mend, and the server lives on."""

from __future__ import annotations

import logging

import pytest
from mcp.shared.exceptions import MCPError
from tests.server.conftest import Place
from tests.server.peers import Person, connect, text_of

from handraise import Handraise, ask
from handraise.errors import FormError, UsageError
from handraise.revisions import Revision

USAGE = {
    "no UTF-8": "os.fsencode",
    "no key": "key has to be text, not 5",
    "no time": "timeout has to be a number",
    "no await": "`await` is missing",
    "no await of one on its way": "`await` is missing",
    "one key twice": "a and b have the same key 'k'",
    "sync": "in an `async def` write `await`",
}
FORM = {
    "no options": "answer: there is nothing to choose from",
    "nested": "order: a form is flat",
    "no UTF-8 to choose": "os.fsencode",
}


@pytest.mark.parametrize("mistake", [*USAGE, *FORM])
async def test_a_mistake_in_a_body_is_told_and_nobody_is_asked(place: Place, mistake: str) -> None:
    person = Person()
    async with place.client(person) as client:
        result = await client.call_tool("mistaken", {"run": place.run, "mistake": mistake})
        assert result.is_error
        assert text_of(result) == (UsageError if mistake in USAGE else FormError).public
        assert result.meta is not None
        assert result.meta["handraise/category"] == ("usage" if mistake in USAGE else "form")
        assert await place.effects(client) == []
    assert not person.asked


@pytest.mark.parametrize(("mistake", "says"), [*USAGE.items(), *FORM.items()])
async def test_the_log_says_what_to_mend(
    revision: Revision, mistake: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.server.kitchen import make_kitchen

    async with connect(make_kitchen(), revision, Person()) as client:
        await client.call_tool("mistaken", {"run": "log", "mistake": mistake})
    (told,) = [r for r in caplog.records if r.name == "handraise.server.refusals"]
    assert told.levelno == logging.ERROR
    assert says in told.getMessage()


async def test_a_mistake_in_a_prompt_is_a_protocol_error(revision: Revision) -> None:
    from mcp.server.mcpserver import MCPServer

    server = Handraise().install(MCPServer("prompts"))

    @server.prompt()
    async def introduce() -> str:
        return (await ask.choose("Which?", list[str]())).or_stop()

    async with connect(server, revision, Person()) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("introduce")
    assert refused.value.error.message == FormError.public
    assert refused.value.error.data == {"reason": "form"}
