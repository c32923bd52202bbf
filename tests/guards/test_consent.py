"""`@guard(...)`: nothing runs before consent, nothing runs after a decline, on every revision and server."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from fastmcp.dependencies import Depends
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand

from handraise import Handraise
from handraise.errors import CATEGORY, DefinitionError
from handraise.guards import guard
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U1")]

YES = accept(answer=True)


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


class Book:
    """Contacts that can be deleted, and how often that happened."""

    def __init__(self, size: int = 2000) -> None:
        self.size = size
        self.deleted: list[str] = []

    def count(self, group: str) -> int:
        return self.size


def with_tool(framework: str, body: Callable[..., Any]) -> Any:
    """A server of one of the three kinds with one tool, `delete_contacts(group)`."""
    if framework == "MCPServer":
        plain = Handraise().install(MCPServer("book"))
        plain.tool(name="delete_contacts")(body)
        return plain
    if framework == "FastMCP":
        fast: FastMCP[Any] = Handraise().install(FastMCP("book"))
        fast.tool(body, name="delete_contacts")
        return fast._mcp_server

    async def listed(ctx: ServerRequestContext[Any, Any], params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"group": {"type": "string"}}}
        return types.ListToolsResult(tools=[types.Tool(name="delete_contacts", input_schema=schema)])

    async def call(
        ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        told = await body(**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(text=told)])

    low: Server[Any] = Server("book", on_list_tools=listed, on_call_tool=call)
    return Handraise().install(low)


def guarded(book: Book, kind: str = "async", **options: Any) -> Callable[..., Any]:
    options = {"count": book.count, **options}
    decorate = guard("Delete {count} contacts of {group}?", consequence="This cannot be undone.", **options)
    if kind == "async":

        @decorate
        async def delete_contacts(group: str) -> str:
            book.deleted.append(group)
            return f"deleted {group}"

        return delete_contacts

    @decorate
    def delete_contacts_plainly(group: str) -> str:
        book.deleted.append(group)
        return f"deleted {group}"

    return delete_contacts_plainly


async def ask_for(
    server: Any, revision: Revision, person: Any, group: str = "old", **options: Any
) -> tuple[str, str | None]:
    """What a call gives: its text, and its category."""
    async with connect(server, revision, person, **options) as client:
        result = await client.call_tool("delete_contacts", {"group": group})
    return text_of(result), (result.meta or {}).get(CATEGORY)


@pytest.mark.parametrize("framework", ["MCPServer", "FastMCP", "lowlevel"])
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_yes_runs_what_was_shown(revision: Revision, framework: str, kind: str) -> None:
    book = Book()

    def look(params: Any) -> Any:
        assert book.deleted == []
        return YES

    person = Person(look)
    told, category = await ask_for(with_tool(framework, guarded(book, kind)), revision, person)
    assert (told, category, book.deleted) == ("deleted old", None, ["old"])
    assert person.messages == [
        "Delete 2,000 contacts of old?\n"
        "If you decline: Nothing is done, and the model is told that you said no.\n\n"
        "Tool: delete_contacts\nArguments:\n- group: old\n\nThis cannot be undone."
    ]


@pytest.mark.parametrize("framework", ["MCPServer", "FastMCP", "lowlevel"])
@pytest.mark.parametrize(
    ("answer", "category"),
    [(DECLINE, "user_declined"), (accept(answer=False), "user_declined"), (CANCEL, "user_cancelled")],
    ids=["decline", "no", "cancel"],
)
async def test_without_a_yes_nothing_runs_and_the_model_can_read_why(
    revision: Revision, framework: str, answer: Any, category: str
) -> None:
    book = Book()
    told, found = await ask_for(with_tool(framework, guarded(book)), revision, Person(answer))
    assert book.deleted == []
    assert found == category
    assert told.startswith(f"{category}: ")


@pytest.mark.shows("F4")
@pytest.mark.parametrize("options", [{}, {"typed": "count"}], ids=["yes or no", "typed"])
async def test_a_guard_suggests_no_answer(revision: Revision, options: dict[str, Any]) -> None:
    person = Person(CANCEL)
    await ask_for(with_tool("MCPServer", guarded(Book(), **options)), revision, person)
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestFormParams)
    assert not [field for field in asked.requested_schema["properties"].values() if "default" in field]


async def test_a_guard_tells_a_desk_of_ours_that_its_lines_can_be_translated(revision: Revision) -> None:
    person = Person(CANCEL)
    await ask_for(with_tool("MCPServer", guarded(Book())), revision, person)
    (asked,) = person.asked
    assert asked.model_dump(by_alias=True)["_meta"]["handraise/question"]["guard"] is True


async def test_a_client_that_cannot_be_asked_runs_nothing(revision: Revision) -> None:
    book = Book()
    server = with_tool("MCPServer", guarded(book))
    if revision.modern:
        async with by_hand(server) as rounds:
            rounds.capabilities = {}
            with pytest.raises(MCPError, match="their client cannot"):
                await rounds.call("delete_contacts", {"group": "old"})
    else:
        told, category = await ask_for(server, revision, None)
        assert category == "not_supported"
        assert "their client cannot" in told
    assert book.deleted == []


async def test_a_number_is_typed_above_a_threshold(revision: Revision) -> None:
    book = Book(2000)
    server = with_tool("MCPServer", guarded(book, typed="count", typed_above=100))
    person = Person(accept(typed="200"), accept(typed="2,000"))
    assert (await ask_for(server, revision, person))[0] == "deleted old"
    assert "This is not what had to be typed." in person.messages[1]
    book.size = 100
    person = Person(YES)
    assert (await ask_for(server, revision, person))[0] == "deleted old"


async def test_a_name_is_typed() -> None:
    book = Book()
    server = with_tool("MCPServer", guarded(book, typed="group"))
    wrong = [accept(typed="Old")] * 4
    _, category = await ask_for(server, REVISIONS[0], Person(*wrong))
    assert (category, book.deleted) == ("unusable_answer", [])
    assert (await ask_for(server, REVISIONS[0], Person(accept(typed="old"))))[0] == "deleted old"


async def test_few_are_deleted_without_a_question(revision: Revision) -> None:
    book = Book(3)
    assert (await ask_for(with_tool("MCPServer", guarded(book, above=10)), revision, Person()))[
        0
    ] == "deleted old"


async def test_none_at_all_is_a_count_like_any_other() -> None:
    person = Person(YES)
    told, _ = await ask_for(with_tool("MCPServer", guarded(Book(0))), REVISIONS[-1], person)
    assert (told, person.messages[0][:17]) == ("deleted old", "Delete 0 contacts")


async def test_when_the_count_changed_the_person_is_asked_again(revision: Revision) -> None:
    book = Book(47)

    def grows(params: Any) -> Any:
        book.size = 48
        return YES

    person = Person(grows, YES)
    told, _ = await ask_for(with_tool("MCPServer", guarded(book)), revision, person)
    assert told == "deleted old"
    assert [message[:18] for message in person.messages] == ["Delete 47 contacts", "Delete 48 contacts"]


async def test_or_the_call_is_refused(revision: Revision) -> None:
    book = Book(47)

    def grows(params: Any) -> Any:
        book.size = 48
        return YES

    server = with_tool("MCPServer", guarded(book, if_changed="refuse"))
    told, category = await ask_for(server, revision, Person(grows))
    assert (category, book.deleted) == ("stale", [])
    assert "This changed while the person was deciding." in told


async def test_still_is_looked_at_after_the_answer(revision: Revision) -> None:
    book = Book()
    server = with_tool("MCPServer", guarded(book, still=lambda group: f"{group} is locked now"))
    assert (await ask_for(server, revision, Person(YES)))[1] == "stale"
    assert book.deleted == []


async def test_arguments_that_changed_after_the_question_do_not_run(revision: Revision) -> None:
    ran: list[list[str]] = []
    kept: list[list[str]] = []

    def always(names: list[str]) -> bool:
        kept.append(names)
        return True

    @guard("Delete these?", when=always)
    async def delete(names: list[str]) -> str:
        ran.append(names)
        return "deleted"

    server = Handraise().install(MCPServer("names"))
    server.tool()(delete)

    def swap(params: Any) -> Any:
        kept[-1].append("everything")
        return YES

    async with connect(server, revision, Person(swap)) as client:
        result = await client.call_tool("delete", {"names": ["a"]})
    assert (result.meta or {})[CATEGORY] == "stale"
    assert ran == []


async def test_arguments_that_changed_while_they_were_counted_again_do_not_run(revision: Revision) -> None:
    ran: list[list[str]] = []
    counts: list[int] = []

    async def count(names: list[str]) -> int:
        counts.append(len(names))
        if len(counts) > 1:
            names[:] = ["everything"]
        return 1

    @guard("Delete {count}?", count=count)
    async def delete(names: list[str]) -> str:
        ran.append(names)
        return "deleted"

    server = Handraise().install(MCPServer("names"))
    server.tool()(delete)
    async with connect(server, revision, Person(YES)) as client:
        result = await client.call_tool("delete", {"names": ["a"]})
    assert ((result.meta or {})[CATEGORY], ran) == ("stale", [])


async def test_after_a_decline_there_is_a_pause(revision: Revision) -> None:
    book, now = Book(), [0.0]
    server = with_tool("MCPServer", guarded(book, cooldown=60, clock=lambda: now[0]))
    person = Person(DECLINE, YES)
    async with connect(server, revision, person) as client:

        async def call(group: str) -> Any:
            result = await client.call_tool("delete_contacts", {"group": group})
            return (result.meta or {}).get(CATEGORY)

        assert await call("old") == "user_declined"
        assert await call("others") == "cooling_down"
        now[0] = 60.5
        assert await call("old") is None
    assert len(person.asked) == 2
    assert book.deleted == ["old"]


@pytest.mark.parametrize(
    ("cooldown", "answers"),
    [(60, (CANCEL, YES, DECLINE)), (0, (DECLINE, accept(answer=False), YES))],
    ids=["no decline", "no pause"],
)
async def test_otherwise_the_person_is_asked_at_once(cooldown: float, answers: tuple[Any, ...]) -> None:
    person = Person(*answers)
    options: dict[str, Any] = {"cooldown": cooldown, "clock": lambda: 0.0} if cooldown else {}
    server = with_tool("MCPServer", guarded(Book(), **options))
    async with connect(server, REVISIONS[-1], person) as client:
        for _ in answers:
            await client.call_tool("delete_contacts", {"group": "old"})
    assert len(person.asked) == 3


async def test_a_question_that_asks_for_a_secret_is_refused_and_nothing_runs(revision: Revision) -> None:
    ran: list[str] = []

    @guard("Type your password to go on.", typed="password")
    async def delete_contacts(group: str, password: str = "x") -> str:
        ran.append(group)
        return "deleted"

    told, category = await ask_for(with_tool("MCPServer", delete_contacts), revision, Person())
    assert (category, ran) == ("secret_in_form", [])
    assert told


@pytest.mark.shows("C10")
async def test_an_answer_that_came_before_the_question_is_not_taken() -> None:
    book = Book()
    async with by_hand(with_tool("MCPServer", guarded(book))) as rounds:
        asked = await rounds.call("delete_contacts", {"group": "old"}, request_id="r")
        early = accepted(asked, answer=True)  # the same request names its questions alike
        first = await rounds.call("delete_contacts", {"group": "old"}, request_id="r", responses=early)
        assert first["inputRequests"].keys() == early.keys()
        assert book.deleted == []
        with pytest.raises(MCPError):  # other arguments than those that were shown
            await rounds.call(
                "delete_contacts",
                {"group": "all"},
                state=first["requestState"],
                responses=accepted(first, answer=True),
            )
        assert book.deleted == []
        await rounds.call(
            "delete_contacts",
            {"group": "old"},
            state=first["requestState"],
            responses=accepted(first, answer=True),
        )
    assert book.deleted == ["old"]


async def test_secrets_and_tricks_in_arguments_are_not_shown(revision: Revision) -> None:
    server = Handraise().install(MCPServer("deploy"))

    @server.tool()
    @guard("Deploy?")
    async def deploy(api_key: str, note: str, text: str, retries: int = 3) -> str:
        return f"{api_key} {retries}"

    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    person = Person(YES)
    async with connect(server, revision, person) as client:
        arguments = {
            "api_key": "hunter2",
            "note": f"with {key}",
            "text": "a\n\u202eX" + "y" * 500,
            "retries": 5,
        }
        result = await client.call_tool("deploy", arguments)
    assert text_of(result) == "hunter2 5"
    (message,) = person.messages
    assert "hunter2" not in message
    assert key not in message
    assert "⟨U+202E⟩" in message
    assert "⟨U+000A⟩" in message
    assert "characters⟩" in message
    assert "- retries: 5" in message


async def test_what_the_framework_puts_in_is_not_shown(revision: Revision) -> None:
    person = Person(YES, YES)
    plain = Handraise().install(MCPServer("plain"))
    fast: FastMCP[Any] = Handraise().install(FastMCP("fast"))

    @plain.tool()
    @guard("Go?")
    async def work(name: str, ctx: Context) -> str:
        return f"{name} {ctx.request_id is not None}"

    @fast.tool
    @guard("Go?")
    async def work_too(name: str, ctx: FastContext, db: str = Depends(lambda: "postgres://db")) -> str:
        return f"{name} {db}"

    async with connect(plain, revision, person) as client:
        assert text_of(await client.call_tool("work", {"name": "a"})) == "a True"
    async with connect(fast._mcp_server, revision, person) as client:
        assert text_of(await client.call_tool("work_too", {"name": "a"})) == "a postgres://db"
    shown = [message.split("\n\n")[1].partition("\n")[2] for message in person.messages]
    assert shown == ["Arguments:\n- name: a"] * 2


class Depth(BaseModel):
    levels: int = 7


@pytest.mark.parametrize("make", [MCPServer, FastMCP], ids=["MCPServer", "FastMCP"])
async def test_an_argument_that_was_left_out_is_shown_and_guarded_as_it_will_be_used(make: Any) -> None:
    """Otherwise a model would pass the guard by leaving out what it is for."""
    server, ran = Handraise().install(make("files")), []

    @guard("Remove?", arguments={"path": "/*", "other": "/*"}, if_declined="It stays.")
    async def remove(
        path: str = Field(default="/a", description="where"),
        other: Path = Field(default=Path("/b")),  # noqa: B008
        kept: Path = Path("/c"),
        depth: Depth = Depth(),  # noqa: B008
        retries: float = math.inf,
    ) -> str:
        ran.append(path)
        return "removed"

    server.tool()(remove)
    person = Person(DECLINE, DECLINE)
    async with connect(getattr(server, "_mcp_server", server), REVISIONS[-1], person) as client:
        await client.call_tool("remove")
        await client.call_tool("remove", {"depth": {"levels": 8}, "kept": "/d"})
        assert text_of(await client.call_tool("remove", {"path": "a"})) == "removed"
    assert ran == ["a"]
    assert person.messages == [
        "Remove?\nIf you decline: It stays.\n\nTool: remove\nArguments:\n- path: /a\n- other: /b\n"
        f"- kept: {kept}\n- depth: {depth}\n- retries: Infinity"
        for kept, depth in (("/c", '{"levels": 7}'), ("/d", '{"levels": 8}'))
    ]


async def test_an_argument_that_was_sent_is_shown_whatever_it_became(revision: Revision) -> None:
    server = Handraise().install(MCPServer("files"))

    @server.tool()
    @guard("Move?", arguments={"where": "/x*"})
    async def move(where: Path, depth: Depth) -> str:
        return f"{where} {depth.levels}"

    person = Person(YES)
    async with connect(server, revision, person) as client:
        told = await client.call_tool("move", {"where": "/x/y", "depth": {"levels": 8}})
    assert text_of(told) == "/x/y 8"
    assert person.messages[0].endswith('- where: /x/y\n- depth: {"levels": 8}')


async def test_what_a_lowlevel_handler_hands_over_by_other_names_is_shown_and_its_own_objects_are_not(
    revision: Revision,
) -> None:
    class Group:
        def __repr__(self) -> str:
            return "a group"

    @guard("Go?")
    def work(
        text: str,
        n: int,
        f: float,
        several: list[int],
        named: dict[str, int],
        none: None,
        more: str | None = None,
        *,
        group: Group,
        own: object,
    ) -> str:
        return f"worked {text}"

    async def body(**sent: Any) -> Any:
        return await work(sent["group"], 1, 1.5, [2], {"a": 3}, None, "m", group=Group(), own=object())

    person = Person(YES)
    assert (await ask_for(with_tool("lowlevel", body), revision, person))[0] == "worked old"
    plain = '- text: old\n- n: 1\n- f: 1.5\n- several: [2]\n- named: {"a": 3}\n- none: null\n- more: m\n'
    shown = f"\n\nTool: delete_contacts\nArguments:\n{plain}- group: a group"
    assert person.messages[0].endswith(shown)


async def test_a_resource_is_guarded_like_a_tool(revision: Revision) -> None:
    server = Handraise().install(MCPServer("notes"))
    read: list[str] = []

    @guard("Read it?")
    async def diary() -> str:
        read.append("diary")
        return "dear"

    server.resource("notes://diary")(diary)
    person = Person(DECLINE, YES)
    async with connect(server, revision, person) as client:
        with pytest.raises(MCPError):
            await client.read_resource("notes://diary")
        assert read == []
        await client.read_resource("notes://diary")
    assert read == ["diary"]
    assert person.messages[0].endswith("\n\nTool: diary\nArguments: none")


async def test_functions_of_the_author_may_be_async_and_get_what_they_name(revision: Revision) -> None:
    given: list[dict[str, Any]] = []

    async def how_many(group: str, deep: bool) -> int:
        return len(group) if deep else 1

    async def when(group: str, **others: Any) -> bool:
        given.append({"group": group, **others})
        return group != "new"

    async def still(most: int = 3) -> bool:
        return len(ran) < most

    @guard("Delete {count} of {group}?", count=how_many, when=when, still=still)
    async def delete_contacts(*, group: str, deep: bool = True) -> str:
        ran.append(group)
        return f"deleted {group} {deep}"

    ran: list[str] = []
    server, person = with_tool("lowlevel", delete_contacts), Person(YES, YES)
    assert await ask_for(server, revision, Person(), "new") == ("deleted new True", None)
    assert await ask_for(server, revision, person, "old") == ("deleted old True", None)
    assert given == [{"group": "new", "deep": True}, {"group": "old", "deep": True}]
    assert person.messages[0].startswith(
        "Delete 3 of old?\nIf you decline: Nothing is done, and the model is told that you said no.\n\n"
        "Tool: delete_contacts\nArguments:\n- group: old\n- deep: true"
    )
    ran.append("another")
    assert (await ask_for(server, revision, person, "old"))[1] == "stale"


@pytest.mark.parametrize("number", [None, -1, 1.0, "3", True])
async def test_a_count_that_is_no_number_runs_nothing(number: Any, caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    server = with_tool("MCPServer", guarded(book, count=lambda: number))
    await ask_for(server, REVISIONS[-1], Person())
    assert f"count= has to give a whole number from 0 up, not {number!r}" in caplog.text
    assert book.deleted == []


async def test_nothing_is_counted_for_a_call_that_the_guard_is_not_for() -> None:
    counts: list[str] = []

    def how_many(group: str) -> int:
        counts.append(group)
        return 1

    @guard("Delete?", count=how_many, arguments={"group": "old*"})
    async def delete_contacts(group: str) -> str:
        return "deleted"

    assert (await ask_for(with_tool("MCPServer", delete_contacts), REVISIONS[-1], Person(), "new"))[
        0
    ] == "deleted"
    assert counts == []


@pytest.mark.shows("U3b")
@pytest.mark.parametrize(
    ("said", "asks"),
    [
        (types.ToolAnnotations(read_only_hint=True), False),
        (types.ToolAnnotations(destructive_hint=False), False),
        ({"destructiveHint": False}, False),
        (types.ToolAnnotations(title="tidy"), True),
        (None, True),
    ],
)
async def test_of_a_tool_of_a_lowlevel_server_the_guard_is_told(said: Any, asks: bool) -> None:
    book, person = Book(), Person(DECLINE)
    server = with_tool("lowlevel", guarded(book, hint="destructive", annotations=said))
    await ask_for(server, REVISIONS[-1], person)
    assert (len(person.asked), book.deleted) == ((1, []) if asks else (0, ["old"]))


async def test_a_guard_that_speaks_of_a_count_needs_one() -> None:
    for options in ({"typed": "count"}, {"above": 3}, {}):
        with pytest.raises(DefinitionError, match="count="):
            guard("Delete {count}?" if not options else "Delete?", **options)
    with pytest.raises(DefinitionError, match="plain name"):
        guard("Delete {group.__class__}?")


@pytest.mark.parametrize("above", [True, False], ids=["guard above", "guard below"])
@pytest.mark.parametrize("make", [MCPServer, FastMCP], ids=["MCPServer", "FastMCP"])
@pytest.mark.shows("U3b")
async def test_hints_are_seen_where_the_tool_is_registered(
    revision: Revision, make: Any, above: bool
) -> None:
    server, ran = Handraise().install(make("files")), []
    ask_first = guard("Really?", hint="destructive")

    def add(name: str, annotations: types.ToolAnnotations | None) -> None:
        async def body() -> str:
            ran.append(name)
            return name

        body.__name__ = name
        register = server.tool(annotations=annotations)
        assert ask_first(register(body)) if above else register(ask_first(body))

    add("read", types.ToolAnnotations(read_only_hint=True))
    add("append", types.ToolAnnotations(destructive_hint=False))
    add("remove", types.ToolAnnotations(destructive_hint=True))
    add("silent", None)
    person = Person(DECLINE, DECLINE)
    async with connect(getattr(server, "_mcp_server", server), revision, person) as client:
        for name in ("read", "append", "remove", "silent"):
            await client.call_tool(name, {})
    assert ran == ["read", "append"]
    assert len(person.asked) == 2


@pytest.mark.parametrize("above", [True, False], ids=["guard above", "guard below"])
async def test_tools_of_a_mounted_server_are_guarded(revision: Revision, above: bool) -> None:
    child: FastMCP[Any] = FastMCP("child")
    parent: FastMCP[Any] = Handraise().install(FastMCP("parent"))
    ran: list[str] = []

    async def remove() -> str:
        ran.append("removed")
        return "removed"

    ask_first = guard("Really?", hint="destructive")
    if above:
        ask_first(child.tool(remove))
    else:
        child.tool(ask_first(remove))
    parent.mount(child, namespace="files")
    async with connect(parent._mcp_server, revision, Person(DECLINE)) as client:
        result = await client.call_tool("files_remove", {})
    assert ((result.meta or {})[CATEGORY], ran) == ("user_declined", [])
