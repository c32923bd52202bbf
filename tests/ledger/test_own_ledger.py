"""The user's own ledger: where it is, and how the configuration wants it."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from pathlib import Path

import pytest

from handraise.ledger.own_ledger import (
    CheckpointCommand,
    CheckpointFile,
    checkpoint_copies,
    ledger_place,
    own_ledger,
    policy_version,
    send_copies,
)
from handraise.policy import Settings
from handraise.policy.settings import LedgerSettings


def test_it_is_in_the_data_directory_or_where_the_environment_says() -> None:
    home = {"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}
    assert ledger_place(home) == Path("/data/handraise/ledger.db")
    assert ledger_place({**home, "HANDRAISE_LEDGER": "/elsewhere/l.db"}) == Path("/elsewhere/l.db")


def test_a_database_is_not_taken_for_a_file() -> None:
    url = "postgresql://db.internal/handraise"
    assert ledger_place({"HANDRAISE_LEDGER": url}) == url
    assert ledger_place({"HANDRAISE_LEDGER": "/x/y.db"}) == Path("/x/y.db")


def test_it_is_on_unless_the_unsafe_switch_says_otherwise(tmp_path: Path) -> None:
    environment = {"HANDRAISE_LEDGER": str(tmp_path / "l.db")}
    assert own_ledger(Settings(), environment) is not None
    with pytest.warns(UserWarning, match="unsafe_no_ledger"):
        assert (
            own_ledger(replace(Settings(), ledger=LedgerSettings(unsafe_no_ledger=True)), environment) is None
        )
    assert list(tmp_path.iterdir()) == []  # nothing is written before there is something to write


def test_checkpoints_go_where_the_configuration_says() -> None:
    wanted = LedgerSettings(checkpoint_file="/mnt/c.txt", checkpoint_command=("/bin/mail", "auditor"))
    assert checkpoint_copies(replace(Settings(), ledger=wanted)) == (
        CheckpointFile(Path("/mnt/c.txt")),
        CheckpointCommand(("/bin/mail", "auditor")),
    )
    assert checkpoint_copies(Settings()) == ()


def test_a_command_that_does_not_end_in_time_is_ended_and_told_as_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.ledger.own_ledger._TIMEOUT", 0)
    for _ in range(3):
        problems = asyncio.run(send_copies("note", (CheckpointCommand(("/bin/sleep", "60")),)))
        assert problems == ["a checkpoint did not reach /bin/sleep: TimeoutError"]
    gc.collect()  # a process that still ran when its loop was closed would complain now


def test_the_version_of_the_policy_changes_with_its_settings() -> None:
    assert policy_version(Settings()) == policy_version(Settings())
    assert policy_version(Settings()) != policy_version(Settings(default="block"))
