"""`handraise ledger`, as somebody at a terminal uses it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.another_user import (
    NOBODY,
    as_another,
    careless_umask,
    command_of_an_ordinary_user,
    shared_directory,
)
from tests.command import HANDRAISE, ROOT
from tests.ledger.examples import ABOUT, DELETE, a_trail, an_event, fill
from typer.testing import CliRunner, Result

from handraise.cli.app import app
from handraise.cli.ledger import how
from handraise.ledger import Ledger, Principal, ServerRecord
from handraise.ledger.events import AnswerUse

runner = CliRunner()
BOB = replace(ABOUT, server=ServerRecord("bank\x1b[31m"), principal=Principal("", "bob", "system"))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with two questions of notes and one of a bank."""
    path = tmp_path / "ledger.db"
    monkeypatch.setenv("HANDRAISE_LEDGER", str(path))
    monkeypatch.setenv("COLUMNS", "80")

    async def write() -> None:
        ledger = Ledger.at(path, keeping="all")
        await fill(ledger, 2)
        trail = a_trail(ledger, 9, about=BOB)
        await ledger.record(trail.refused(("You blocked this server.",)))
        await ledger.aclose()

    asyncio.run(write())
    return path


def handraise(*words: str) -> Result:
    return runner.invoke(app, ["ledger", *words])


@pytest.mark.shows("G6")
def test_show_is_a_table_of_eighty_columns_with_the_newest_last(path: Path) -> None:
    lines = handraise("show").output.splitlines()
    assert len(lines) == 6
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].split()[3:] == ["asked", "notes", "delete_no…", "form,", "which"]
    assert "accept by human" in lines[2]
    assert "refused" in lines[-1]
    assert "You blocked" in lines[-1]
    assert "\x1b" not in "".join(lines)


def test_show_fits_into_a_narrow_terminal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = handraise("show").output.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert lines[0].split() == ["no.", "when", "what", "server", "how"]
    assert lines[1].split()[2:] == ["asked", "notes", "form,", "which"]


@pytest.mark.shows("G6")
@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["--server", "notes"], [1, 2, 3, 4]),
        (["--person", "bob"], [5]),
        (["--person", '["token","https://login.example","ada"]'], [1, 2, 3, 4]),
        (["--tool", "delete_note", "--kind", "asked"], [1, 3]),
        (["--action", "accept"], [2, 4]),
        (["--action", "decline"], []),
        (["--since", "1h"], [1, 2, 3, 4, 5]),
        (["--until", "1h"], []),
        (["--since", "2999-01-01"], []),
        (["--limit", "2"], [4, 5]),
    ],
)
def test_show_filters(path: Path, words: list[str], numbers: list[int]) -> None:
    shown = [json.loads(line) for line in handraise("show", "--json", *words).output.splitlines()]
    assert [event["number"] for event in shown] == numbers


@pytest.mark.shows("G3")
def test_show_prints_messages_and_answers_only_if_they_were_kept_and_are_wanted(path: Path) -> None:
    assert "Which note?" not in handraise("show").output
    shown = handraise("show", "--contents", "--server", "notes").output.splitlines()
    assert [line[8:] for line in shown if line.startswith("        ")] == [
        "Which note?",
        "which: note 0",
        "Which note?",
        "which: note 1",
    ]
    told = [json.loads(line) for line in handraise("show", "--contents", "--json").output.splitlines()]
    assert [event.get("contents") for event in told[:2]] == [
        {"message": "Which note?"},
        {"answer": {"which": "note 0"}},
    ]
    handraise("erase", "--person", "ada")
    left = handraise("show", "--contents", "--server", "notes")
    assert "Which note?" not in left.stdout
    assert "No contents of these events were kept" in left.stderr


def test_a_kept_content_that_was_changed_is_not_shown(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("UPDATE contents SET body = x'00' WHERE body IS NOT NULL").rowcount
    changed = handraise("show", "--contents")
    assert changed.exit_code == 2
    assert "was changed; run `handraise ledger verify`" in changed.stderr


def test_show_says_when_there_is_nothing(path: Path) -> None:
    assert handraise("show", "--server", "nobody").output == "No such events.\n"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--kind", "guessed"],
        ["show", "--action", "shrug"],
        ["show", "--since", "whenever"],
        ["show", "--ledger", "/no/such/file"],
        ["verify", "--checkpoint", "/no/such/file"],
        ["export", "--format", "pdf"],
        ["erase"],
        ["erase", "--person", "a", "--record", "1"],
        ["retain", "--older-than", "long"],
        ["retain"],
    ],
)
def test_wrong_use_is_status_2_and_changes_nothing(path: Path, words: list[str]) -> None:
    before = path.read_bytes()
    assert handraise(*words).exit_code == 2
    assert path.read_bytes() == before


@pytest.mark.shows("G6", "G4")
def test_verify_says_sound_or_what_happened(path: Path, tmp_path: Path) -> None:
    note = tmp_path / "checkpoint.txt"
    note.write_text(handraise("checkpoint").output)
    sound = handraise("verify", "--checkpoint", str(note))
    assert sound.exit_code == 0
    assert sound.output.startswith("Sound: 5 records, 2 signed checkpoints agree.")
    assert "looks sound" in handraise("verify").output
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM events WHERE number = 3")
    broken = handraise("verify")
    assert broken.exit_code == 1
    assert "Broken:\n  Record 3 was removed.\n" in broken.output
    told = json.loads(handraise("verify", "--json").output)
    assert (told["verdict"], told["findings"][0]["record"]) == ("broken", 3)


@pytest.mark.shows("G4")
@pytest.mark.parametrize("how", ["removed", "emptied", "cut in half", "without events"])
def test_a_destroyed_ledger_is_broken_and_not_wrong_use(path: Path, how: str) -> None:
    match how:
        case "removed":
            path.unlink()
        case "emptied":
            path.write_bytes(b"")
        case "cut in half":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case _:
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("DROP TABLE events")
    told = handraise("verify")
    assert (told.exit_code, told.output.partition("\n")[0]) == (1, "Broken:")
    assert handraise("verify").exit_code == 1  # the first look changed nothing


@pytest.mark.shows("G4")
def test_a_hash_that_was_removed_is_not_called_a_removed_record(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM leaves WHERE number = 3")
    told = handraise("verify")
    assert told.exit_code == 1
    assert "Record 3 is still there: only its hash was removed from the tree." in told.output
    assert "Record 3 was removed" not in told.output


def test_a_checkpoint_that_cannot_be_read_is_named_with_the_next_step(path: Path, tmp_path: Path) -> None:
    there = tmp_path / "notes.txt"
    there.write_text("no checkpoint")
    told = handraise("verify", "--checkpoint", str(there))
    assert told.exit_code == 2
    assert "`handraise ledger checkpoint` prints one" in " ".join(told.output.split())
    missing = handraise("verify", "--checkpoint", str(tmp_path / "gone"))
    assert "Errno" not in missing.output


def rebuild(db: sqlite3.Connection) -> None:
    """Number the events anew and hash them into a new tree (RFC 6962), as somebody without the key can."""
    bodies = [body for (body,) in db.execute("SELECT body FROM events ORDER BY number")]
    hashes = [sha256(b"\0" + body).digest() for body in bodies]
    for number, (old,) in enumerate(db.execute("SELECT number FROM events ORDER BY number").fetchall(), 1):
        db.execute("UPDATE events SET number = ? WHERE number = ?", (number, old))
    db.execute("DELETE FROM leaves")
    db.executemany("INSERT INTO leaves VALUES (?, ?)", enumerate(hashes, 1))
    peaks = list[tuple[int, bytes]]()
    for leaf in hashes:
        peaks.append((1, leaf))
        while len(peaks) > 1 and peaks[-1][0] == peaks[-2][0]:
            (size, right), (_, left) = peaks.pop(), peaks.pop()
            peaks.append((2 * size, sha256(b"\1" + left + right).digest()))
    (head,) = db.execute("SELECT name FROM sqlite_master WHERE name IN ('tree', 'head')").fetchone()
    db.execute(f"UPDATE {head} SET size = ?, peaks = ?", (len(hashes), b"".join(hash for _, hash in peaks)))


ATTACKS = {
    "an edited decision": [
        "DELETE FROM notes",
        "UPDATE events SET body = CAST(REPLACE(body, '\"accept\"', '\"cancel\"') AS BLOB)",
    ],
    "a removed question": ["DELETE FROM notes", "DELETE FROM events WHERE question = 'q_0'"],
    "a cut tail": ["DELETE FROM notes", "DELETE FROM events WHERE number > 3"],
    "removed contents": ["DELETE FROM contents WHERE number = 2"],
    "a changed side column": ["UPDATE events SET question = 'q_9' WHERE number = 1"],
    "removed notes": ["DELETE FROM notes"],
}


@pytest.mark.shows("G4")
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_no_change_to_the_file_is_called_sound(path: Path, attack: list[str]) -> None:
    assert handraise("verify").exit_code == 0
    with closing(sqlite3.connect(path)) as db, db:
        for statement in attack:
            db.execute(statement)
        if attack[0] == "DELETE FROM notes":
            rebuild(db)
    found = handraise("verify")
    assert (found.exit_code, "Broken" in found.output) == (1, True), found.output


@pytest.mark.slow
@pytest.mark.shows("G6", "G4")
def test_a_ledger_in_a_folder_that_cannot_be_written_to_is_read_and_verified(path: Path) -> None:
    """As evidence is kept. SQLite wants to make files beside a file that it reads."""

    def as_reader(*words: str) -> tuple[int, str]:
        named = (f"HANDRAISE_LEDGER={kept / path.name}", f"HOME={kept}", f"PYTHONPATH={ROOT}")
        command = command_of_an_ordinary_user("env", *named, *HANDRAISE, "ledger", *words)
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    with shared_directory() as kept:
        for file in path.parent.glob(f"{path.name}*"):
            copied = shutil.copy(file, kept)
            os.chown(copied, NOBODY, NOBODY)
        kept.chmod(0o755)
        before = sorted(kept.iterdir())
        assert as_reader("verify")[1].startswith("Sound: 5 records")
        assert len(as_reader("show", "--json")[1].splitlines()) == 5
        assert len(as_reader("export", "--format", "jsonl")[1].splitlines()) == 5
        assert as_reader("checkpoint") == (
            2,
            f"handraise: {kept / path.name}: attempt to write a readonly database\n",
        )
        assert sorted(kept.iterdir()) == before


@pytest.mark.shows("G4")
def test_a_checkpoint_goes_where_the_policy_says_and_what_fails_is_told(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, copy = tmp_path / "handraise.toml", tmp_path / "elsewhere" / "checkpoints.txt"
    config.write_text(f'[ledger]\ncheckpoint_file = "{copy}"\n')
    monkeypatch.setenv("HANDRAISE_CONFIG", str(config))
    made = handraise("checkpoint")
    assert (made.exit_code, made.stderr) == (0, "")
    assert copy.read_text().rstrip() == made.stdout.rstrip()
    copy.unlink()
    copy.mkdir()
    failed = handraise("checkpoint")
    assert failed.exit_code == 1
    assert failed.stdout, "it is there, signed, and can be kept by hand"
    assert str(copy) in failed.stderr


@pytest.mark.shows("G6", "G4")
def test_verify_without_the_key_says_what_is_proved_and_what_to_do(path: Path, tmp_path: Path) -> None:
    note = tmp_path / "checkpoint.txt"
    note.write_text(handraise("checkpoint").output)
    path.with_name(f"{path.name}.signing.key").unlink()
    upto = handraise("verify", "--checkpoint", str(note))
    assert upto.exit_code == 0
    assert upto.output.startswith("Sound up to the given checkpoint: 5 records")
    nothing = handraise("verify")
    assert nothing.exit_code == 3
    assert nothing.output.startswith("Unproven:\n  Neither the ledger's key nor a checkpoint is here.")
    told = json.loads(handraise("verify", "--json").output)
    assert (told["verdict"], told["proven"], len(told["doubts"])) == ("unproven", 0, 1)


@pytest.mark.shows("G6")
def test_every_format_of_export_has_every_event_and_no_contents(path: Path, tmp_path: Path) -> None:
    lines = handraise("export").output.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["asked", "decided", "asked", "decided", "refused"]
    rows = list(csv.DictReader(io.StringIO(handraise("export", "--format", "csv").output)))
    assert [(row["number"], row["kind"]) for row in rows][-1] == ("5", "refused")
    assert rows[1]["decided_by"] == "human"
    cloud = [json.loads(line) for line in handraise("export", "--format", "cloudevents").output.splitlines()]
    assert {event["specversion"] for event in cloud} == {"1.0"}
    assert cloud[4]["type"] == "handraise.question.refused"
    assert cloud[0]["source"].startswith("urn:handraise:ledger:handraise-ledger-")
    (logs,) = (json.loads(line) for line in handraise("export", "--format", "otel").output.splitlines())
    records = logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert len(records) == 5
    assert records[4]["severityText"] == "WARN"
    assert records[0]["traceId"] == ABOUT.trace
    out = tmp_path / "out.jsonl"
    assert handraise("export", "-o", str(out), "--kind", "refused").output == ""
    assert len(out.read_text().splitlines()) == 1
    for name in ("jsonl", "csv", "cloudevents", "otel"):
        assert "Which note?" not in handraise("export", "--format", name).output


def test_an_export_that_fails_leaves_the_file_as_it_was(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE events SET body = x'7b7d' WHERE number = 3")
    failed = handraise("export", "-o", str(out))
    assert (failed.exit_code, out.read_text()) == (2, "before")
    assert "record 3 was changed" in failed.output
    assert [file for file in tmp_path.iterdir() if file.name.endswith(".part")] == []
    assert handraise("export", "--until", "1h", "-o", "/dev/null").exit_code == 2


@pytest.mark.shows("S6")
@pytest.mark.parametrize("command", ["export", "report"])
def test_another_user_can_read_neither_an_export_nor_a_report(path: Path, command: str) -> None:
    with careless_umask(), shared_directory() as shared:
        out, theirs = shared / "out", shared / "theirs"
        assert as_another("sh", "-c", f"umask 0; : > {theirs}; ln -s {theirs} {out}").returncode == 0
        assert handraise(command, "-o", str(out)).exit_code == 0
        assert "ada" in out.read_text()
        assert as_another("cat", str(out)).stdout == b""
        assert theirs.read_text() == ""
        out.chmod(0o644)
        assert handraise(command, "-o", str(out)).exit_code == 0
        assert as_another("cat", str(out)).stdout == b""


def test_a_servers_words_become_no_formula_in_a_spreadsheet(path: Path) -> None:
    async def write() -> None:
        ledger = Ledger.at(path)
        about = replace(ABOUT, server=ServerRecord("=cmd|calc", None, "+1"))
        await ledger.record(a_trail(ledger, about=about).asked())
        await ledger.aclose()

    asyncio.run(write())
    row = list(csv.DictReader(io.StringIO(handraise("export", "--format", "csv").output)))[-1]
    assert (row["server"], row["server_claims"]) == ("'=cmd|calc", "'+1")


def written(path: Path) -> bytes:
    """Everything that the ledger has on the disk."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


@pytest.mark.shows("G4b")
@pytest.mark.parametrize(
    "words", [("erase", "--person", "ada"), ("retain", "--older-than", "0s")], ids=["erase", "retain"]
)
def test_what_another_connection_keeps_on_the_disk_is_not_called_gone(
    path: Path, words: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        sealed = [body for (body,) in reader.execute("SELECT body FROM contents WHERE number <= 4")]
        assert len(sealed) == 4
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM contents").fetchone()
        told = handraise(*words)
        assert told.exit_code == 3
        assert f"{path}-wal" in told.output
        assert f"handraise ledger {words[0]}" in told.output
        assert all(body in written(path) for body in sealed)
    gone = handraise(*words)
    assert gone.exit_code == 0
    assert not any(body in written(path) for body in sealed)


def test_erasing_needs_to_know_whose_when_two_issuers_have_the_same_subject(path: Path) -> None:
    elsewhere = Principal("https://login.example:8443", "ada", "token")

    async def write() -> None:
        ledger = Ledger.at(path, keeping="all")
        await fill(ledger, 1, about=replace(ABOUT, principal=elsewhere))
        await ledger.aclose()

    asyncio.run(write())
    unclear = handraise("erase", "--person", "ada")
    assert unclear.exit_code == 2
    assert f"'{elsewhere.key}'" in unclear.output
    assert handraise("erase", "--person", elsewhere.key).output == "2 events; 2 contents erased.\n"


@pytest.mark.shows("G3")
def test_erase_and_retain_leave_a_sound_ledger(path: Path) -> None:
    assert handraise("erase", "--person", "bob").output == "1 event; 1 content erased.\n"
    assert handraise("erase", "--record", "1", "--record", "2").output == "2 events; 2 contents erased.\n"
    assert handraise("erase", "--person", "nobody").exit_code == 1
    assert handraise("retain", "--older-than", "90d").output == "0 events removed.\n"
    assert handraise("retain", "--older-than", "0s").output == "5 events removed.\n"
    assert "The first 5 were removed" in handraise("verify").output
    assert handraise("show").output == "The ledger is empty.\n"


@pytest.mark.shows("G6")
def test_the_report_is_one_page(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert handraise("report", "-o", str(out)).exit_code == 0
    assert out.read_text().startswith("<!doctype html>")


@pytest.mark.shows("O8", "G6")
def test_a_no_is_shown_found_and_reported_as_a_no(path: Path, tmp_path: Path) -> None:
    async def write() -> None:
        ledger = Ledger.at(path)
        trail = a_trail(ledger, 10)
        await ledger.record(trail.asked())
        await ledger.record(trail.decided("accept", "human", content={"which": False}, said_no=True))
        await ledger.aclose()

    asyncio.run(write())
    assert "said no by human" in handraise("show").output.splitlines()[-1]
    for action, numbers in (("said_no", [7]), ("accept", [2, 4])):
        lines = handraise("show", "--json", "--action", action).output.splitlines()
        assert [json.loads(line)["number"] for line in lines] == numbers
    out = tmp_path / "report.html"
    assert handraise("report", "-o", str(out)).exit_code == 0
    said = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", out.read_text()))
    assert "1 said no 25%" in said
    assert "2 accepted 50%" in said
    assert "the person answered a confirmation with no" in said


FOLLOW = """
    import sys
    from handraise.cli import main
    sys.argv = ["handraise", "ledger", "show", "--follow", "--json"]
    main()
"""


@pytest.mark.slow
@pytest.mark.shows("G6")
def test_follow_goes_on_with_new_events(path: Path) -> None:
    code = [sys.executable, "-u", "-c", textwrap.dedent(FOLLOW)]
    following = subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert following.stdout is not None
        assert [json.loads(following.stdout.readline())["number"] for _ in range(5)] == [1, 2, 3, 4, 5]

        async def write() -> None:
            ledger = Ledger.at(path)
            await fill(ledger, 1)
            await ledger.aclose()

        asyncio.run(write())
        assert [json.loads(following.stdout.readline())["number"] for _ in range(2)] == [6, 7]
    finally:
        following.kill()
        following.communicate()


@pytest.mark.parametrize("command", ["show", "verify", "checkpoint", "export", "report", "erase", "retain"])
def test_the_help_of_every_command_teaches_by_example(command: str) -> None:
    told = handraise(command, "--help").output
    assert f"handraise ledger {command}" in told.partition("Examples:")[2]


@pytest.mark.shows("G7")
@pytest.mark.parametrize(
    ("ended", "words"),
    [("result", "call ended: result"), ("error", "call ended: error"), ("stopped", "call stopped by a no")],
)
def test_show_says_what_became_of_the_call(ended: Any, words: str) -> None:
    assert how(an_event("used", used=AnswerUse(DELETE, ended))) == words


@pytest.mark.parametrize("command", ["show", "verify", "checkpoint", "export"])
def test_a_file_that_is_no_ledger_is_left_alone(command: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Not a database at all.")
    with closing(sqlite3.connect(tmp_path / "notes.db")) as db:
        db.execute("CREATE TABLE notes (title TEXT)")
    for file in (tmp_path / "notes.txt", tmp_path / "notes.db"):
        before = file.read_bytes()
        told = handraise(command, "--ledger", str(file))
        assert (told.exit_code, file.read_bytes()) == (2, before)
        assert "is no ledger; name another one with --ledger" in told.output
