"""The boundary inside tools: what the client names holds, on every revision, until it says otherwise."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand

from handraise import Handraise, Stale, ask, replayable
from handraise.errors import OutsideBoundary, SetupError, UsageError, sentence
from handraise.revisions import Revision
from handraise.server import Boundary
from handraise.server.boundary import Handle
from handraise.server.boundary.rootset import RootFolder, RootPath
from handraise.urls import dump_file_uri

PLACE = RootPath(RootFolder(("notes",), ("notes",)), ("a.md",))


class Roots:
    """A client's roots, which may change, and how often they were read."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self.reads = 0
        self.before: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, _context: Any) -> types.ListRootsResult:
        self.reads += 1
        listed = types.ListRootsResult(
            roots=[types.Root(uri=dump_file_uri(folder)) for folder in self.folders]  # type: ignore[arg-type]
        )
        if self.before is not None:
            before, self.before = self.before, None
            await before()
        return listed


async def tell(client: Client) -> None:
    """The notice that the roots changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated on 2026-07-28, and the only way before
        await client.send_roots_list_changed()
    await client.list_tools(cache_mode="refresh")  # answered after the notice was heard


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name in ("Notes", "Work"):
        (tmp_path / name / "2026").mkdir(parents=True)
        (tmp_path / name / "a.md").write_text(f"{name} a")
        (tmp_path / name / "2026" / "b.md").write_text(f"{name} b")
    return tmp_path / "Notes"


@pytest.fixture
def work(notes: Path) -> Path:
    return notes.parent / "Work"


def serve(folders: Iterable[Path] | None = None, **options: Any) -> tuple[MCPServer, Boundary]:
    """A server with tools on files."""
    server = Handraise().install(MCPServer("files"))
    boundary = Boundary(server, folders, **options)

    @server.tool()
    async def read(path: str) -> str:
        return await boundary.read_text(path)

    @server.tool()
    async def write(path: str, text: str) -> str:
        await boundary.write(path, text)
        return "written"

    @server.tool()
    async def tree() -> list[str]:
        return [str(entry.path) async for entry in boundary.walk()]

    @server.tool()
    async def where() -> list[str]:
        return [str(root) for root in await boundary.roots()]

    @server.tool()
    async def tidy() -> str:
        await boundary.mkdir("old")
        await boundary.rename("a.md", "old/a.md")
        entry = await boundary.stat("old/a.md")
        await boundary.remove("old/a.md")
        await boundary.remove("old")
        return f"{entry.kind} {entry.size} {[e.name for e in await boundary.list()]}"

    return server, boundary


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


@pytest.mark.shows("B2", "B4")
async def test_a_tool_reads_and_writes_inside_and_is_told_the_boundary_outside(
    revision: Revision, notes: Path, work: Path
) -> None:
    server, _ = serve()
    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        assert text_of(await client.call_tool("read", {"path": "a.md"})) == "Notes a"
        assert text_of(await client.call_tool("read", {"path": f"{notes}/2026/b.md"})) == "Notes b"
        assert text_of(await client.call_tool("write", {"path": "c.md", "text": "new"})) == "written"
        for path in (f"{work}/a.md", "../Work/a.md", "/etc/passwd"):
            said = await refusal(client, "read", path=path)
            assert f"the boundary ({notes})" in said
            assert "ask the person to add the folder to their client's roots" in said
            await refusal(client, "write", path=path, text="x")
    assert (notes / "c.md").read_text() == "new"
    assert (work / "a.md").read_text() == "Work a"


async def test_every_operation_works_on_every_revision(revision: Revision, notes: Path) -> None:
    server, _ = serve()
    (notes / "away").symlink_to("/")
    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        tree = (await client.call_tool("tree", {})).structured_content
        assert tree == {"result": [str(notes / at) for at in ("2026", "2026/b.md", "a.md", "away")]}
        assert text_of(await client.call_tool("tidy", {})) == "file 7 ['2026', 'away']"


@pytest.mark.shows("B2")
async def test_a_link_is_refused_in_words(revision: Revision, notes: Path) -> None:
    (notes / "link.md").symlink_to("../Work/a.md")
    server, _ = serve()
    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        assert "links are not followed" in await refusal(client, "read", path="link.md")


@pytest.mark.shows("B2")
async def test_hard_links_are_refused_by_option(revision: Revision, notes: Path, work: Path) -> None:
    (notes / "twin.md").hardlink_to(work / "a.md")
    server, _ = serve(refuse_hard_links=True)
    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        assert "hard links" in await refusal(client, "read", path="twin.md")


@pytest.mark.shows("B2")
async def test_no_roots_means_nothing(revision: Revision, notes: Path) -> None:
    server, _ = serve()
    async with connect(server, revision, list_roots_callback=Roots()) as client:
        assert "empty" in await refusal(client, "read", path=f"{notes}/a.md")
    async with connect(server, revision) as client:
        said = await refusal(client, "read", path=f"{notes}/a.md")
        assert "the client has no roots and the server configures none" in said


@pytest.mark.shows("B1", "B4")
async def test_the_configuration_serves_clients_without_roots_and_only_narrows_the_others(
    revision: Revision, notes: Path, work: Path
) -> None:
    server, _ = serve([notes])

    async def where(**options: Any) -> Any:
        async with connect(server, revision, **options) as client:
            return (await client.call_tool("where", {})).structured_content

    assert await where() == {"result": [str(notes)]}
    assert await where(list_roots_callback=Roots(notes / "2026", work)) == {"result": [str(notes / "2026")]}
    assert await where(list_roots_callback=Roots(notes.parent)) == {"result": [str(notes)]}
    assert await where(list_roots_callback=Roots(work)) == {"result": []}
    assert await where(list_roots_callback=Roots()) == {"result": []}


@pytest.mark.shows("B1", "B3")
async def test_roots_are_read_once_and_again_after_the_notice(
    revision: Revision, notes: Path, work: Path
) -> None:
    server, _ = serve()
    roots = Roots(notes)
    async with connect(server, revision, list_roots_callback=roots) as client:
        for _ in range(3):
            await client.call_tool("read", {"path": f"{notes}/a.md"})
        assert roots.reads == (3 if revision.modern else 1)
        roots.folders = (work,)
        if revision.legacy:
            await tell(client)
        assert text_of(await client.call_tool("read", {"path": f"{work}/a.md"})) == "Work a"
        assert f"({work})" in await refusal(client, "read", path=f"{notes}/a.md")


@pytest.mark.shows("B3")
async def test_a_notice_is_for_its_own_connection(notes: Path, work: Path) -> None:
    server, _ = serve()
    ada, bob = Roots(notes), Roots(work)
    legacy = Revision.NOVEMBER_2025
    async with (
        connect(server, legacy, list_roots_callback=ada) as one,
        connect(server, legacy, list_roots_callback=bob) as other,
    ):
        await one.call_tool("read", {"path": f"{notes}/a.md"})
        await other.call_tool("read", {"path": f"{work}/a.md"})
        await tell(one)
        await other.call_tool("read", {"path": f"{work}/a.md"})
        assert "(" + str(work) + ")" in await refusal(other, "read", path=f"{notes}/a.md")
        assert (ada.reads, bob.reads) == (1, 1)


@pytest.mark.shows("B3")
async def test_roots_that_change_while_they_are_read_are_read_again(notes: Path, work: Path) -> None:
    server, _ = serve()
    roots = Roots(notes)
    async with connect(server, Revision.NOVEMBER_2025, list_roots_callback=roots) as client:

        async def swap() -> None:
            roots.folders = (work,)
            await tell(client)

        roots.before = swap
        result = await client.call_tool("where", {})
        assert result.structured_content == {"result": [str(work)]}
        assert roots.reads == 2


@pytest.mark.shows("B3", "O6")
async def test_an_open_file_stops_working_when_its_root_goes(
    revision: Revision, notes: Path, work: Path
) -> None:
    server, boundary = serve()
    kept: list[Handle] = []

    @server.tool()
    async def slowly() -> str:
        async with await boundary.open(f"{notes}/a.md", "r+") as file:
            kept.append(file)
            first = await file.read(5)
            await ask.confirm("Read on?")
            await boundary.refresh()
            try:
                await file.write(b"!")
            except OutsideBoundary as error:
                return f"{first.decode()}: {sentence(error)}"
            return "written"

    roots = Roots(notes, work)

    async def leave(_context: Any, _params: Any) -> types.ElicitResult:
        roots.folders = (work,)
        return accept(answer=True)

    async with connect(server, revision, leave, list_roots_callback=roots) as client:
        said = text_of(await client.call_tool("slowly", {}))
    assert said.startswith("Notes: ")
    assert f"the boundary ({work}): its root went while the file was open" in said
    assert kept[0].closed
    assert (notes / "a.md").read_text() == "Notes a"


@pytest.mark.shows("B3")
async def test_an_open_file_that_outlives_its_call_stops_working_where_roots_are_the_calls(
    revision: Revision, notes: Path
) -> None:
    server, boundary = serve()
    kept: list[Handle] = []
    ended, tried = asyncio.Event(), asyncio.Event()
    heard: list[str] = []

    async def later() -> None:
        await ended.wait()
        try:
            heard.append((await kept[0].read(5)).decode())
        except OutsideBoundary as error:
            heard.append(error.code)
        tried.set()

    background: set[asyncio.Task[None]] = set()

    @server.tool()
    async def begin() -> str:
        kept.append(await boundary.open("a.md"))
        background.add(asyncio.create_task(later()))
        return "begun"

    @server.tool()
    async def go_on() -> str:
        return (await kept[0].read(5)).decode()

    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        await client.call_tool("begin", {})
        ended.set()
        await asyncio.wait_for(tried.wait(), 5)
        assert heard == (["outside_boundary"] if revision.modern else ["Notes"])
        assert kept[0].closed is revision.modern
        if not revision.modern:
            assert text_of(await client.call_tool("go_on", {})) == " a"
    await kept[0].aclose()


@pytest.mark.shows("B3")
async def test_a_notice_alone_ends_the_lease(notes: Path, work: Path) -> None:
    server, boundary = serve()

    @server.tool()
    async def slowly() -> str:
        async with await boundary.open(f"{notes}/a.md") as file:
            await ask.confirm("Read on?")
            return (await file.read()).decode()

    roots = Roots(notes)
    said: list[Client] = []

    async def leave(_context: Any, _params: Any) -> types.ElicitResult:
        roots.folders = (work,)
        await tell(said[0])
        return accept(answer=True)

    async with connect(server, Revision.NOVEMBER_2025, leave, list_roots_callback=roots) as client:
        said.append(client)
        assert "its root went" in await refusal(client, "slowly")


@pytest.mark.shows("O6", "B3")
async def test_what_was_asked_about_is_looked_at_again_after_the_answer(
    revision: Revision, notes: Path, work: Path
) -> None:
    server, boundary = serve()

    @server.tool()
    async def delete(path: str) -> str:
        async def still() -> bool:
            await boundary.refresh()
            return (await boundary.stat(path)).kind == "file"

        try:
            (await ask.confirm(f"Delete {path}?", still=still)).or_stop()
        except (Stale, OutsideBoundary) as changed:
            return changed.code
        await boundary.remove(path)
        return "deleted"

    roots = Roots(notes)

    async def leave(_context: Any, _params: Any) -> types.ElicitResult:
        roots.folders = (work,)
        return accept(answer=True)

    async with connect(server, revision, leave, list_roots_callback=roots) as client:
        said = text_of(await client.call_tool("delete", {"path": f"{notes}/a.md"}))
    assert said == "outside_boundary"
    assert (notes / "a.md").exists()


async def test_a_handle_reads_writes_and_seeks(revision: Revision, notes: Path) -> None:
    server, boundary = serve()

    @server.tool()
    async def edit() -> str:
        async with await boundary.open("new.md", "x") as file:
            await file.write(b"0123456789" * 300_000)
        async with await boundary.open("new.md", "r+") as file:
            assert await file.seek(5) == 5
            await file.write(b"five")
            await file.seek(0)
            whole = await file.read()
        with pytest.raises(ValueError, match="closed"):
            await file.read()
        async with await boundary.open("new.md", "w"):
            pass
        return f"{len(whole)} {whole[:10].decode()} {(await boundary.stat('new.md')).size}"

    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        assert text_of(await client.call_tool("edit", {})) == "3000000 01234five9 0"


async def test_a_missing_file_is_the_authors_to_handle(revision: Revision, notes: Path) -> None:
    server, boundary = serve()

    @server.tool()
    async def careful(path: str) -> str:
        try:
            return await boundary.read_text(path)
        except FileNotFoundError as error:
            return f"There is no {error.filename}."

    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        assert text_of(await client.call_tool("careful", {"path": "x/y.md"})) == "There is no x/y.md."


async def test_an_error_names_the_paths_as_they_were_given(revision: Revision, notes: Path) -> None:
    server, boundary = serve()
    (notes / "one.md").write_text("1")
    (notes / "two.md").write_text("2")
    (notes / "elsewhere").symlink_to(notes.parent)

    @server.tool()
    async def told() -> str:
        with pytest.raises(FileNotFoundError) as missing:
            await boundary.read("x/y.md")
        with pytest.raises(FileExistsError) as taken:
            await boundary.rename("one.md", "two.md")
        with pytest.raises(OutsideBoundary) as outside:
            await boundary.rename("one.md", "elsewhere/one.md")
        return "\n".join(str(each.value) for each in (missing, taken, outside))

    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        missing, taken, outside = text_of(await client.call_tool("told", {})).split("\n")
    assert missing.endswith("No such file or directory: 'x/y.md'")
    assert taken.endswith("File exists: 'one.md' -> 'two.md'")
    assert outside.startswith("'one.md -> elsewhere/one.md' is refused")


async def test_a_resource_is_inside_too(revision: Revision, notes: Path) -> None:
    server, boundary = serve()

    @server.resource("note://{name}")
    async def note(name: str) -> str:
        return await boundary.read_text(name)

    async with connect(server, revision, list_roots_callback=Roots(notes)) as client:
        read = await client.read_resource("note://a.md")
        assert read.contents[0].text == "Notes a"  # type: ignore[union-attr]
        (notes / "link.md").symlink_to("a.md")
        with pytest.raises(MCPError, match=r"the boundary \(.*Notes\)"):
            await client.read_resource("note://link.md")


async def test_outside_of_a_call_there_is_no_boundary(notes: Path) -> None:
    _, boundary = serve([notes])
    with pytest.raises(UsageError):
        await boundary.read("a.md")


@pytest.mark.shows("B4")
def test_a_folder_that_depends_on_where_the_server_started_is_refused() -> None:
    with pytest.raises(SetupError, match="whole paths"):
        serve([Path("Notes")])


async def test_nobody_is_asked_for_roots_by_a_person(notes: Path, revision: Revision) -> None:
    person = Person()
    server, _ = serve()
    async with connect(server, revision, person, list_roots_callback=Roots(notes)) as client:
        await client.call_tool("where", {})
    assert person.asked == []


@pytest.mark.shows("B3")
async def test_a_body_that_is_replayed_has_the_roots_that_it_was_told_before(
    notes: Path, tmp_path: Path
) -> None:
    def tidying() -> MCPServer:
        server = Handraise(store=tmp_path / "store.db", keys=["k" * 32]).install(MCPServer("tidy"))
        boundary = Boundary(server)

        @server.tool()
        @replayable
        async def tidy() -> str:
            before = await boundary.roots()
            await ask.confirm("Tidy up?")
            return f"{before == await boundary.roots()} {before[0]}"

        return server

    async with by_hand(tidying()) as here, by_hand(tidying()) as there:
        for rounds in (here, there):
            rounds.capabilities = {"elicitation": {"form": {}}, "roots": {}}
        told = await here.call("tidy", {})
        [key] = told["inputRequests"]
        responses = {key: {"roots": [{"uri": dump_file_uri(notes)}]}}
        asked = await here.call("tidy", {}, state=told["requestState"], responses=responses)
        state, given = asked["requestState"], accepted(asked, answer=True)
        result = await there.call("tidy", {}, state=state, responses=given)
    assert result["content"][0]["text"] == f"True {notes}"


@pytest.mark.parametrize(
    "use",
    [Handle.read, lambda file: file.read(1), lambda file: file.write(b"x"), lambda file: file.seek(0)],
    ids=["read all", "read", "write", "seek"],
)
async def test_a_file_that_somebody_closes_while_it_is_checked_is_not_used_any_more(
    notes: Path, use: Callable[[Handle], Awaitable[object]]
) -> None:
    checked: list[RootPath] = []

    async def close(place: RootPath) -> None:
        checked.append(place)
        await file.aclose()

    file = Handle(os.open(notes / "a.md", os.O_RDWR), PLACE, close)
    for _ in range(2):
        with pytest.raises(ValueError, match="the file is closed"):
            await use(file)
    assert (checked, file.closed) == ([PLACE], True), "a closed one is not even checked"
    assert (notes / "a.md").read_text() == "Notes a"
