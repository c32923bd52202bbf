"""A server gets to know the folders that the person agreed to, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from pydantic import FileUrl
from tests.client.hosts import ADA, NOTES, OpenGate, host
from tests.server.peers import REVISIONS, connect, text_of
from tests.waiting import until

from handraise import Handraise, NotSupported, ask
from handraise.client import Consent, Roots
from handraise.client.roots import FIELD
from handraise.desks import Queue
from handraise.desks.scripted import Line
from handraise.errors import SetupError, UsageError
from handraise.policy import PolicyRuling
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.urls import dump_file_uri

LEGACY = [Revision.JUNE_2025, Revision.NOVEMBER_2025]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return made(tmp_path, "Notes")


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    return made(tmp_path, "Drafts é")


def made(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def server() -> MCPServer:
    asker = Handraise().install(MCPServer("asker"))

    @asker.tool()
    async def where() -> str:
        try:
            return " ".join(root.uri for root in await ask.roots()) or "nowhere"
        except NotSupported:
            return "not declared"

    return asker


def agree(*folders: Path) -> Line:
    return Line("accept", {FIELD: [str(folder) for folder in folders]})


@pytest.mark.shows("B1")
async def test_the_person_chooses_which_folders_a_server_gets_to_know(
    revision: Revision, notes: Path, drafts: Path
) -> None:
    async with host(server(), revision, [agree(drafts)], roots=[notes, drafts]) as here:
        assert text_of(await here.client.call_tool("where")) == dump_file_uri(drafts)
        assert text_of(await here.client.call_tool("where")) == dump_file_uri(drafts)
        (asked,) = here.desk.seen
        assert asked.origin == NOTES
        assert asked.ours, "no server said these words"
        assert isinstance(asked.question, FormQuestion)
        assert [option.value for option in asked.question.form.fields[0].options] == [  # type: ignore[union-attr]
            str(notes),
            str(drafts),
        ]


@pytest.mark.shows("B1")
async def test_a_decline_is_remembered_and_a_cancel_is_asked_again(revision: Revision, notes: Path) -> None:
    async with host(server(), revision, [Line("cancel"), Line("decline")], roots=[notes]) as here:
        for _ in range(3):
            assert text_of(await here.client.call_tool("where")) == "nowhere"
        assert len(here.desk.seen) == 2


@pytest.mark.shows("B1")
async def test_folders_that_the_user_named_for_the_server_need_no_question(
    revision: Revision, notes: Path
) -> None:
    async with host(server(), revision, roots=Roots([notes], allowed=True)) as here:
        assert text_of(await here.client.call_tool("where")) == dump_file_uri(notes)
        assert here.desk.seen == []


@pytest.mark.shows("B1")
async def test_nobody_at_a_desk_means_no_folder(revision: Revision, notes: Path) -> None:
    async with host(server(), revision, roots=[notes], modes=()) as here:
        assert text_of(await here.client.call_tool("where")) == "nowhere"


@pytest.mark.shows("B1")
async def test_a_blocked_server_gets_to_know_nothing(revision: Revision, notes: Path) -> None:
    gate = OpenGate(PolicyRuling("refuse", ("This server is blocked.",)))
    async with host(server(), revision, gate=gate, roots=[notes]) as here:
        assert text_of(await here.client.call_tool("where")) == "nowhere"
        assert here.desk.seen == []


@pytest.mark.shows("B1")
async def test_without_roots_none_are_declared(revision: Revision) -> None:
    async with host(server(), revision) as here:
        assert text_of(await here.client.call_tool("where")) == "not declared"


@pytest.mark.shows("B1")
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_server_that_asks_all_the_same_is_told_that_there_is_no_such_method(
    revision: Revision,
) -> None:
    pushy = MCPServer("pushy")

    @pushy.tool()
    async def where(ctx: Context) -> str:
        try:
            await ctx.session._request_outbound.send_raw_request("roots/list", None)
        except MCPError as error:
            return str(error.code)
        return "told"

    async with host(pushy, revision) as here:
        assert text_of(await here.client.call_tool("where")) == "-32601"


class Listener:
    """A server that hears when the roots changed."""

    def __init__(self) -> None:
        self.heard = 0
        with pytest.warns(MCPDeprecationWarning, match="roots"):
            self.server: Server[Any] = Server("listener", on_roots_list_changed=self._hear)

    async def _hear(self, _ctx: Any, _params: Any) -> None:
        self.heard += 1


@pytest.mark.shows("B1")
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_the_server_is_told_when_the_set_or_its_accessibility_changes(
    revision: Revision, notes: Path, drafts: Path
) -> None:
    listener = Listener()
    async with host(listener.server, revision, roots=[notes]) as here:
        client = here.client
        assert not await client.check_roots()
        assert await client.change_roots([notes, drafts])
        assert not await client.change_roots([notes, drafts])
        drafts.rename(drafts.with_name("gone"))  # noqa: ASYNC240
        assert await client.check_roots()
        assert not await client.check_roots()
        await until(lambda: listener.heard == 2)


@pytest.mark.shows("B1")
async def test_no_notice_is_sent_where_the_revision_has_none(notes: Path) -> None:
    async with host(server(), Revision.JULY_2026, roots=[]) as here:
        assert not await here.client.change_roots([notes], allowed=True)
        assert text_of(await here.client.call_tool("where")) == dump_file_uri(notes)


@pytest.mark.shows("B1")
async def test_a_folder_that_comes_later_is_asked_about_alone(
    revision: Revision, notes: Path, drafts: Path
) -> None:
    async with host(server(), revision, [agree(notes), agree(drafts)], roots=[notes]) as here:
        await here.client.call_tool("where")
        await here.client.change_roots([notes, drafts])
        told = text_of(await here.client.call_tool("where"))
        assert told == f"{dump_file_uri(notes)} {dump_file_uri(drafts)}"
        await here.client.change_roots([drafts])
        assert text_of(await here.client.call_tool("where")) == dump_file_uri(drafts)
        assert len(here.desk.seen) == 2


async def test_roots_that_were_not_declared_cannot_be_changed(notes: Path) -> None:
    async with host(server(), Revision.NOVEMBER_2025) as here:
        with pytest.raises(UsageError, match="not declared"):
            await here.client.change_roots([notes])


@pytest.mark.shows("B1")
async def test_the_callback_serves_the_sdks_client_unchanged(revision: Revision, notes: Path) -> None:
    roots = Roots([notes], allowed=True)
    consent = Consent(Queue(), origin=NOTES, person=ADA, gate=OpenGate(), roots=roots)
    async with connect(server(), revision, consent, list_roots_callback=consent.list_roots) as client:
        assert isinstance(client, Client)
        assert text_of(await client.call_tool("where")) == dump_file_uri(notes)


@pytest.mark.shows("B1")
def test_a_folder_that_is_not_there_or_cannot_be_read_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for wrong, told in (
        ("gone", "not exist"),
        ("file", "not a folder"),
        ("loop", "not exist"),
        ("nul\0", "not exist"),
    ):
        with pytest.raises(SetupError, match=told):
            Roots([tmp_path / wrong])


@pytest.mark.shows("B1")
def test_a_folder_without_permission_is_refused_and_one_that_lost_it_is_left_out(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests may run as a user who may read everything, so the system's own answer is replaced."""
    roots = Roots([notes], allowed=True)
    assert len(roots.exposed()) == 1
    monkeypatch.setattr("os.access", lambda _path, _wanted: False)
    assert roots.exposed() == ()
    with pytest.raises(SetupError, match="cannot be read"):
        Roots([notes])


@pytest.mark.shows("B1")
def test_a_folder_that_was_swapped_for_a_link_is_not_exposed(notes: Path, tmp_path: Path) -> None:
    secret = made(tmp_path, "secret")
    roots = Roots([notes], allowed=True)
    notes.rmdir()
    notes.symlink_to(secret)
    assert roots.exposed() == ()
    assert roots.check()


@pytest.mark.shows("B1")
def test_a_link_that_the_user_named_is_followed_before_anyone_is_asked(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(notes)
    assert Roots([tmp_path / "link", notes]).undecided() == (notes,)


@pytest.mark.shows("B5")
@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_the_sdk_carries_our_uris_as_they_are(name: str) -> None:
    if name not in (".", ".."):
        uri = dump_file_uri(Path("/home", name))
        assert str(FileUrl(uri)) == uri
