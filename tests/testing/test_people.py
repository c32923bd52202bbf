"""A person for tests answers as written, and a surprise fails the test."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.pages.oauth.authority import Authority, open_authority
from tests.testing.shop import Shop

from handraise import Accepted, Cancelled, Declined, Handraise, ask
from handraise.pages import SecretField
from handraise.pages.oauth import Account
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.testing import ScriptedPerson, connect

pytestmark = pytest.mark.anyio


async def call(person: ScriptedPerson | None, revision: Revision, tool: str = "asks_first") -> str:
    async with connect(Shop().server, revision, person) as client:
        result = await client.call_tool(tool, {"title": "a", "name": "a"})
    return text_of(result)


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def test_answers_are_given_on_every_revision(every_revision: Revision) -> None:
    person = ScriptedPerson(Accepted(True))
    assert await call(person, every_revision) == "deleted"
    assert person.messages == ["Delete a?"]
    assert isinstance(person.asked[0], FormQuestion)


@pytest.mark.parametrize("answer", [Declined(), Cancelled(), Accepted(False)], ids=str)
async def test_a_no_is_a_no(answer: Accepted[bool] | Declined | Cancelled, every_revision: Revision) -> None:
    assert await call(ScriptedPerson(answer), every_revision) == "kept"


async def test_a_form_of_several_fields_takes_a_mapping(every_revision: Revision) -> None:
    person = ScriptedPerson(Accepted({"name": "Ada", "age": 36}))
    assert "Ada" in await call(person, every_revision, "two_fields")


@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_nothing_but_consent_answers_a_link(revision: Revision) -> None:
    assert await call(ScriptedPerson(Accepted(None)), revision, "sends_a_link") == "accept"
    assert await call(ScriptedPerson(Declined()), revision, "sends_a_link") == "decline"


async def test_a_value_alone_does_not_answer_several_fields(every_revision: Revision) -> None:
    with pytest.raises(AssertionError, match="answer with a mapping of name, age"):
        await call(ScriptedPerson(Accepted("Ada")), every_revision, "two_fields")


async def test_an_answer_that_does_not_fit_fails_the_test(every_revision: Revision) -> None:
    with pytest.raises(AssertionError, match="does not fit"):
        await call(ScriptedPerson(Accepted("perhaps")), every_revision)


async def test_one_question_too_many_fails_the_test(every_revision: Revision) -> None:
    with pytest.raises(AssertionError, match=r"asked once more than expected: 'Delete a\?'"):
        await call(ScriptedPerson(), every_revision)


async def test_an_answer_that_nobody_asked_for_fails_the_test(every_revision: Revision) -> None:
    with pytest.raises(AssertionError, match="1 answers were never asked for"):
        await call(ScriptedPerson(Accepted(True), Declined()), every_revision)


async def test_a_hostile_result_is_sent_as_it_is() -> None:
    hostile = types.ElicitResult(action="accept", content={"answer": "perhaps"})
    person = ScriptedPerson(*[hostile] * 4)
    assert "deleted" not in await call(person, Revision.NOVEMBER_2025)
    assert len(person.asked) == 4


async def test_only_the_named_modes_are_declared(every_revision: Revision) -> None:
    async with connect(Shop().server, every_revision, ScriptedPerson(), modes=["url"]) as client:
        result = await client.call_tool("what_you_can")
    assert result.content[0].text == ("url" if every_revision.url_mode else "")


def with_pages() -> MCPServer:
    server = MCPServer("pages")
    Handraise().install(server)

    class Database(TypedDict):
        host: str
        port: int
        size: Literal["small", "large"]
        backup: bool

    @server.tool()
    async def database() -> str:
        secrets = [SecretField("password", min_length=4), SecretField("key", required=False)]
        answer = await ask.setup("Database", Database, secrets=secrets, timeout=20)
        if not isinstance(answer, Accepted):
            return answer.action
        return f"{answer.data.data} {answer.data.secrets['password'].reveal()}"

    @server.tool()
    async def keys() -> str:
        fields = [SecretField("one"), SecretField("two", multiline=True)]
        found = (await ask.secret("Keys", fields=fields, timeout=20)).or_stop()
        return " ".join(found[name].reveal() for name in ("one", "two"))

    return server


SETUP = {"host": "db.example", "port": 5432, "size": "large", "backup": True, "password": "hush"}


@pytest.mark.shows("X2")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_pages_with_several_fields_are_filled_in(revision: Revision) -> None:
    person = ScriptedPerson(Accepted(SETUP), Accepted({"two": "b", "one": "a"}))
    async with connect(with_pages(), revision, person) as client:
        said = text_of(await client.call_tool("database"))
        assert said == "{'host': 'db.example', 'port': 5432, 'size': 'large', 'backup': True} hush"
        assert text_of(await client.call_tool("keys")) == "a b"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({**SETUP, "password": "no"}, "did not take the entry: .*password.*: It has 2 characters"),
        ({**SETUP, "colour": "red"}, "has no field 'colour'; it has host, port, size, backup, password, key"),
        ({**SETUP, "size": "huge"}, "has no option 'huge'; it has small, large"),
    ],
)
async def test_a_page_that_is_filled_in_wrong_fails_the_test_at_once(
    entry: dict[str, object], complaint: str
) -> None:
    person = ScriptedPerson(Accepted(entry))
    with pytest.raises(AssertionError, match=complaint):
        async with connect(with_pages(), Revision.JULY_2026, person) as client:
            assert text_of(await client.call_tool("database")) == "cancel"


def with_account(authority: Authority) -> MCPServer:
    server = MCPServer("places")
    Handraise().install(server)
    account = Account("Git Place", "notes-client", authority.issuer, {"repo": "Read your code"})

    @server.tool()
    async def connect_account() -> str:
        answer = await ask.connect(account, timeout=20)
        return "connected" if isinstance(answer, Accepted) else answer.action

    return server


@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_an_account_is_connected_where_the_service_agrees_at_once(revision: Revision) -> None:
    async with (
        open_authority(agrees_at_once=True) as authority,
        connect(with_account(authority), revision, ScriptedPerson(Accepted(True))) as client,
    ):
        assert text_of(await client.call_tool("connect_account")) == "connected"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (True, "answered with 404 and a page of its own"),
        ("ann", r"go there with Accepted\(True\)"),
    ],
)
async def test_an_account_that_cannot_be_connected_fails_the_test(entry: object, complaint: str) -> None:
    await fail_to_connect(entry, complaint)


async def test_an_account_of_a_service_that_is_down_fails_the_test() -> None:
    await fail_to_connect(True, "the account was not connected: .+", agrees_at_once=True, is_down=True)


async def fail_to_connect(entry: object, complaint: str, **how: bool) -> None:
    async with open_authority(**how) as authority:
        with pytest.raises(AssertionError, match=complaint):
            async with connect(
                with_account(authority), Revision.JULY_2026, ScriptedPerson(Accepted(entry))
            ) as client:
                assert text_of(await client.call_tool("connect_account")) == "cancel"
