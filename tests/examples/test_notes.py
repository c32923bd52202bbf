"""The notes server: every scenario on three revisions, with the real client and a scripted person."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters
from tests.client.hosts import Host, OpenGate, host
from tests.server.peers import ROOT, free_port, text_of, wait_until_open

from handraise.client import Roots
from handraise.desks import Decision, Waiting
from handraise.desks.scripted import Line
from handraise.forms import Choice
from handraise.questions import Accepted, FormQuestion, UrlQuestion
from handraise.revisions import Revision
from handraise.testing.people import fill_in
from server import make_server

pytestmark = pytest.mark.slow

SERVER = ROOT / "examples" / "notes" / "server.py"
YES = Line("accept", {"answer": True})


def put(folder: Path, name: str, text: str, year: int = 2026) -> Path:
    """A note that was last changed in some year."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    when = datetime(year, 6, 1, tzinfo=UTC).timestamp()
    os.utime(path, (when, when))
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    put(folder, "tea.md", "# Tea\n\nGreen, 70 degrees.")
    put(folder, "2024/plan.md", "# Plan\n\nThe old one.", 2024)
    put(folder, "2026/plan.md", "# Plan\n\nThe new one.")
    return folder


class Meanwhile(OpenGate):
    """Something happens in the world while the person thinks."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def admit(self, waiting: Waiting, now: float) -> Any:
        self._happens()
        return super().admit(waiting, now)


async def call(
    tool: str,
    folder: Path | None,
    revision: Revision,
    script: Iterable[Line] = (),
    arguments: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[str, Host]:
    """Call one tool in a client whose only root is the folder; what it said, and the host that it happened in."""
    roots = None if folder is None else Roots([folder], allowed=True)
    async with host(make_server(), revision, script, roots=roots, **options) as here:
        with anyio.fail_after(60):
            return text_of(await here.client.call_tool(tool, arguments or {})), here


def asked(here: Host) -> list[str]:
    return [waiting.question.message for waiting in here.desk.seen]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.md")}


ALL = {"tea.md", "2024/plan.md", "2026/plan.md"}


async def test_notes_are_listed_searched_read_and_written_without_a_question(
    notes: Path, revision: Revision
) -> None:
    server = make_server()
    async with host(server, revision, roots=Roots([notes], allowed=True)) as here:

        async def say(tool: str, **arguments: Any) -> str:
            return text_of(await here.client.call_tool(tool, arguments))

        assert f'- "Plan" (2024, {notes}/2024/plan.md)' in await say("notes_list")
        assert await say("notes_search", words="70 DEGREES") == f'- "Tea" (2026, {notes}/tea.md)'
        assert "Green" in await say("notes_read", title="tea")
        assert "2 notes match" in await say("notes_read", title="plan")
        assert await say("notes_write", title="Coffee", text="Black.") == f"Written to {notes}/Coffee.md."
        assert await say("notes_write", title="../../evil", text="x") == f"Written to {notes}/evil.md."
        assert here.desk.seen == []
    assert (notes / "Coffee.md").read_text() == "# Coffee\n\nBlack.\n"
    assert {path.name for path in notes.parent.iterdir()} == {"Notes"}


async def test_a_note_is_replaced_only_after_a_yes(notes: Path, revision: Revision) -> None:
    arguments = {"title": "Tea", "text": "Black."}
    put(notes, "Tea.md", "# Tea\n\nGreen.")
    said, here = await call("notes_write", notes, revision, [Line("decline")], arguments)
    assert said.startswith("The person said no. Nothing was written.")
    assert 'Replace "Tea"? It has 13 bytes, the new text 14.' in asked(here)[0]
    said, _ = await call("notes_write", notes, revision, [YES], arguments)
    assert "Black" in (notes / "Tea.md").read_text()


@pytest.mark.shows("U1")
async def test_one_match_is_deleted_after_confirmation(notes: Path, revision: Revision) -> None:
    said, here = await call("notes_delete", notes, revision, [YES], {"title": "tea"})
    assert said == f'Deleted "Tea" (2026, {notes}/tea.md).'
    assert asked(here) == [
        f'Delete "Tea" (2026, {notes}/tea.md)?\nIf you decline: All notes stay as they are.'
    ]
    assert files(notes) == ALL - {"tea.md"}


@pytest.mark.shows("U2")
async def test_several_matches_are_chosen_from_and_confirmed_in_one_form(
    notes: Path, revision: Revision
) -> None:
    script = [Line("accept", {"note": "1", "confirm": True}, fields=("note", "confirm"))]
    said, here = await call("notes_delete", notes, revision, script, {"title": "plan"})
    assert said == f'Deleted "Plan" (2024, {notes}/2024/plan.md).'
    [waiting] = here.desk.seen
    assert isinstance(waiting.question, FormQuestion)
    choice = waiting.question.form.fields[0]
    assert isinstance(choice, Choice)
    assert [option.label for option in choice.options] == [
        f'"Plan" (2024, {notes}/2024/plan.md)',
        f'"Plan" (2026, {notes}/2026/plan.md)',
    ]
    assert files(notes) == ALL - {"2024/plan.md"}


async def test_a_choice_without_confirmation_deletes_nothing(notes: Path, revision: Revision) -> None:
    script = [Line("accept", {"note": "1", "confirm": False})]
    said, _ = await call("notes_delete", notes, revision, script, {"title": "plan"})
    assert said == "The person chose a note and did not confirm. Nothing was deleted."
    assert files(notes) == ALL


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (Line("decline"), "The person said no. Nothing was deleted. Do not ask again"),
        (Line("accept", {"answer": False}), "The person said no. Nothing was deleted. Do not ask again"),
        (Line("cancel"), "The person put the question aside. Nothing was deleted. You may offer it again"),
    ],
)
@pytest.mark.shows("O1", "O3")
async def test_a_no_and_a_later_are_different_sentences(
    line: Line, sentence: str, notes: Path, revision: Revision
) -> None:
    said, _ = await call("notes_delete", notes, revision, [line], {"title": "tea"})
    assert said.startswith(sentence)
    assert files(notes) == ALL


@pytest.mark.parametrize("tool", ["notes_delete", "notes_archive", "notes_schedule"])
@pytest.mark.shows("N5")
async def test_a_client_that_cannot_be_asked_is_told_so_and_nothing_happens(
    tool: str, notes: Path, revision: Revision
) -> None:
    said, _ = await call(tool, notes, revision, [], {"title": "tea"}, modes=())
    assert said.startswith("Nothing was ")
    assert "their client cannot show one" in said
    assert files(notes) == ALL


@pytest.mark.shows("O2")
async def test_nobody_answering_in_time_is_no_decline(notes: Path, revision: Revision) -> None:
    server = make_server(timeout=0.2)
    async with host(server, revision, [Line("leave")], roots=Roots([notes], allowed=True)) as here:

        async def say_yes_too_late() -> None:
            async for waiting in here.queue.changes():
                if waiting:
                    with anyio.move_on_after(0.3):  # the deadline itself is what is waited for
                        await anyio.sleep_forever()
                    here.queue.decide(waiting[0].id, Decision(Accepted({"answer": True}), by="agent"))
                    return

        async with anyio.create_task_group() as tasks:
            if revision.modern:
                tasks.start_soon(say_yes_too_late)
            said = text_of(await here.client.call_tool("notes_delete", {"title": "tea"}))
            tasks.cancel_scope.cancel()  # a slow machine: the question was over before the desk had it
    assert said.startswith("Nothing was deleted. The person did not answer in time.")
    assert files(notes) == ALL


@pytest.mark.shows("O6")
async def test_a_note_that_went_or_changed_meanwhile_is_not_deleted(notes: Path, revision: Revision) -> None:
    gone = Meanwhile((notes / "tea.md").unlink)
    said, _ = await call("notes_delete", notes, revision, [YES], {"title": "tea"}, gate=gone)
    assert said.startswith(f'Nothing was deleted. "Tea" (2026, {notes}/tea.md) is gone.')
    edited = Meanwhile(lambda: (notes / "2024/plan.md").write_text("# Plan\n\nNot so old any more."))
    script = [Line("accept", {"note": "1", "confirm": True})]
    said, _ = await call("notes_delete", notes, revision, script, {"title": "plan"}, gate=edited)
    assert "has changed" in said
    assert files(notes) == ALL - {"tea.md"}


@pytest.mark.shows("O6", "B3")
async def test_a_root_that_went_meanwhile_takes_its_notes_out_of_reach(
    notes: Path, revision: Revision, tmp_path: Path
) -> None:
    (tmp_path / "Other").mkdir()
    roots = Roots([notes], allowed=True)
    gate = Meanwhile(lambda: roots.change([tmp_path / "Other"], allowed=True))
    async with host(make_server(), revision, [YES], roots=roots, gate=gate) as here:
        said = text_of(await here.client.call_tool("notes_delete", {"title": "tea"}))
    assert f"the boundary ({tmp_path}/Other)" in said
    assert files(notes) == ALL


@pytest.mark.shows("U1")
async def test_archiving_asks_every_time_and_is_marked_destructive(notes: Path, revision: Revision) -> None:
    roots = Roots([notes], allowed=True)
    script = [YES, Line("decline"), YES]
    async with host(make_server(), revision, script, roots=roots) as here:
        tools = {tool.name: tool for tool in (await here.client.list_tools()).tools}
        for name in ("notes_archive", "notes_delete", "notes_clean"):
            annotations = tools[name].annotations
            assert annotations is not None
            assert annotations.destructive_hint is True
        said = text_of(await here.client.call_tool("notes_archive", {"title": "tea"}))
        assert said.endswith(f"It is {notes}/Archive/tea.md now.")
        put(notes, "tea.md", "# Tea\n\nAnother one.")
        said = text_of(await here.client.call_tool("notes_archive", {"title": "tea"}))
        assert said.startswith("The person said no. Nothing was archived.")
        said = text_of(await here.client.call_tool("notes_archive", {"title": "tea"}))
        assert said.endswith(f"It is {notes}/Archive/tea 2.md now.")
        assert len(here.desk.seen) == 3
        assert "Archive" not in text_of(await here.client.call_tool("notes_list", {}))


@pytest.mark.shows("U1")
async def test_cleaning_shows_the_real_count_and_wants_it_typed(notes: Path, revision: Revision) -> None:
    for number in range(46):
        put(notes, f"old/{number:02}.md", f"# Diary {number:02}", 2020)
    script = [Line("accept", {"answer": "delete notes"}), Line("accept", {"answer": "Delete 47 notes"})]
    said, here = await call("notes_clean", notes, revision, script, {"older_than": "2025-01-01"})
    assert said == "Deleted 47 notes."
    first, second = asked(here)
    assert first.startswith('Delete 47 notes last changed before 2025-01-01?\n\n- "Diary 00" (2020, ')
    assert '- and 37 more\n\nType "delete 47 notes" to go on.' in first
    assert "The last answer could not be used" in second
    assert files(notes) == {"tea.md", "2026/plan.md"}


async def test_few_notes_are_cleaned_with_a_click_and_none_without_a_question(
    notes: Path, revision: Revision
) -> None:
    old = {"older_than": "2025-01-01"}
    said, here = await call("notes_clean", notes, revision, [YES], old)
    assert said == "Deleted 1 note."
    assert asked(here)[0].startswith("Delete 1 note last changed before 2025-01-01?")
    said, here = await call("notes_clean", notes, revision, [], old)
    assert (said, here.desk.seen) == ("No note is older than 2025-01-01.", [])


@pytest.mark.shows("O6")
async def test_another_old_note_is_another_question(notes: Path, revision: Revision) -> None:
    appears = Meanwhile(lambda: put(notes, "older.md", "# Older", 2019))
    old = {"older_than": "2025-01-01"}
    said, _ = await call("notes_clean", notes, revision, [YES], old, gate=appears)
    assert said.startswith("Nothing was deleted. There are other old notes now.")
    assert files(notes) == ALL | {"older.md"}


@pytest.mark.shows("U2")
async def test_a_schedule_asks_for_what_it_does_not_know_one_after_the_other(
    notes: Path, revision: Revision
) -> None:
    script = [
        Line("accept", {"answer": "Berlin"}, message="time zone"),
        Line("accept", {"answer": "Europe/Berlin"}, message="Berlin is no time zone"),
        Line("accept", {"answer": "1999-12-31"}, message="By when"),
        Line("accept", {"answer": "2999-12-31"}, message="give a day that is still to come"),
        Line("accept", {"answer": "Ada, Grace"}, message="Who takes part"),
    ]
    said, _ = await call("notes_schedule", notes, revision, script, {"title": "tea"})
    assert said == "Tea: Due: 2999-12-31 (Europe/Berlin), with Ada, Grace"
    assert (notes / "tea.md").read_text().endswith("Due: 2999-12-31 (Europe/Berlin), with Ada, Grace\n")
    again = [Line("accept", {"answer": "2999-12-30"}, message="By when"), Line("decline", message="Who")]
    said, _ = await call("notes_schedule", notes, revision, again, {"title": "tea"})
    assert said.startswith("The person said no. Nothing was scheduled.")
    assert "2999-12-30" not in (notes / "tea.md").read_text()


async def test_set_up_keeps_preferences_and_new_notes_follow_them(notes: Path, revision: Revision) -> None:
    script = [
        Line("accept", {"folder": "../elsewhere", "week_starts": "monday", "sync": False}),
        Line("accept", {"folder": "Inbox/new", "week_starts": "sunday", "sync": False}),
    ]
    said, here = await call("notes_setup", notes, revision, script)
    assert said == f"New notes go to {notes}/Inbox/new."
    assert "Give a folder inside your notes" in asked(here)[1]
    said, _ = await call("notes_write", notes, revision, [], {"title": "Idea", "text": "!"})
    assert said == f"Written to {notes}/Inbox/new/Idea.md."


SYNC = Line("accept", {"folder": "Inbox", "week_starts": "monday", "sync": True}, fields=("sync",))
KEY = "sk-not-for-the-model-4711"


class Visiting(OpenGate):
    """A person who does something on the page once they agreed to open it."""

    def __init__(self, do: str) -> None:
        super().__init__()
        self._do = do
        self.visits: list[asyncio.Future[str]] = []

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        if isinstance(waiting.question, UrlQuestion) and isinstance(decision.answer, Accepted):
            visit = partial(fill_in, waiting.question.url, KEY, do=self._do)
            self.visits.append(asyncio.get_running_loop().run_in_executor(None, visit))


@pytest.mark.parametrize(
    ("do", "ending"),
    [("enter", "Sync is on."), ("decline", "Sync is off: the person did not enter the key.")],
)
@pytest.mark.shows("S1", "S5", "L1")
async def test_the_sync_key_is_entered_on_a_page_and_seen_by_nobody_else(
    do: str, ending: str, notes: Path, revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    gate = Visiting(do)
    page = "Key of your sync service"
    script = [SYNC, Line("accept", message=page), Line("leave", message=page, repeat=True)]
    async with host(make_server(), revision, script, gate=gate, roots=Roots([notes], allowed=True)) as here:
        with anyio.fail_after(60):
            said = text_of(await here.client.call_tool("notes_setup", {}))
            pages = [await visit for visit in gate.visits]  # read to their end before the server goes
    assert said.startswith(f"New notes go to {notes}/Inbox.")
    if revision.url_mode:
        assert ending in said
        assert KEY not in pages[0]
    else:
        assert "Sync is off: this client cannot open the page" in said
    seen = repr([here.events, here.desk.seen, caplog.records])
    assert KEY not in said + seen + caplog.text + (notes / ".notes.json").read_text()


async def test_the_sync_key_stays_off_when_the_page_is_not_wanted(notes: Path, revision: Revision) -> None:
    script = [SYNC, Line("decline", message="Key of your sync service")]
    said, _ = await call("notes_setup", notes, revision, script)
    assert "Sync is off" in said


@pytest.mark.shows("B2", "B4")
async def test_a_folder_outside_of_the_notes_is_refused_and_the_boundary_named(
    notes: Path, revision: Revision
) -> None:
    (notes.parent / "Notes-evil").mkdir()
    (notes / "link").symlink_to("../Notes-evil")
    for folder in ("../Notes-evil", f"{notes}-evil", "link", "/tmp"):
        arguments = {"title": "Plan", "text": "x", "folder": folder}
        said, here = await call("notes_write", notes, revision, [], arguments)
        assert f"the boundary ({notes})" in said
        assert here.desk.seen == []
    assert files(notes.parent / "Notes-evil") == set()


@pytest.mark.shows("B2", "B4")
async def test_without_roots_the_model_is_told_what_the_person_can_do(revision: Revision) -> None:
    for tool in ("notes_list", "notes_setup"):
        said, _ = await call(tool, None, revision)
        assert "the boundary, which is empty" in said
        assert "Ask the person to give their client roots" in said


@pytest.mark.shows("B1", "B3")
async def test_roots_that_the_user_changes_hold_from_then_on(notes: Path, revision: Revision) -> None:
    roots = Roots([notes / "2024"], allowed=True)
    async with host(make_server(), revision, roots=roots) as here:
        assert "2024/plan.md" in text_of(await here.client.call_tool("notes_list", {}))
        await here.client.change_roots([notes / "2026"], allowed=True)
        said = text_of(await here.client.call_tool("notes_list", {}))
    assert said == f'- "Plan" (2026, {notes}/2026/plan.md)'


@pytest.mark.shows("B1")
async def test_a_configured_folder_serves_clients_without_roots(notes: Path, revision: Revision) -> None:
    async with host(make_server([notes / "2024"]), revision) as here:
        said = text_of(await here.client.call_tool("notes_list", {}))
    assert said == f'- "Plan" (2024, {notes}/2024/plan.md)'


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(notes: Path, programs: Path) -> None:
    target = StdioServerParameters(
        command=str(programs / "python"), args=[str(SERVER), "--folder", str(notes)]
    )
    async with host(target, Revision.NOVEMBER_2025, [YES]) as here:
        said = text_of(await here.client.call_tool("notes_delete", {"title": "tea"}))
    assert said.startswith("Deleted")
    assert files(notes) == ALL - {"tea.md"}


@contextmanager
def served_over_http(programs: Path) -> Iterator[str]:
    """The notes server in a process of its own; the URL of its endpoint."""
    port = free_port()
    arguments = [str(programs / "python"), str(SERVER), "--http", str(port)]
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_open(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(10)


@pytest.mark.slow
async def test_the_server_runs_over_http(notes: Path, programs: Path) -> None:
    roots = Roots([notes], allowed=True)
    with served_over_http(programs) as url:
        async with host(url, Revision.JULY_2026, [YES], roots=roots) as here:
            said = text_of(await here.client.call_tool("notes_delete", {"title": "tea"}))
    assert said.startswith("Deleted")
    assert files(notes) == ALL - {"tea.md"}


@pytest.mark.slow
def test_help_tells_what_the_server_may_see(programs: Path) -> None:
    ran = subprocess.run([programs / "python", SERVER, "--help"], capture_output=True, text=True, check=True)
    assert "only the folders that the client names as its roots" in ran.stdout
    wrong = subprocess.run(
        [programs / "python", SERVER, "--folder", "/no/such"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "there is no folder /no/such" in wrong.stderr
