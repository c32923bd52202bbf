"""Where the files are, which of them counts, and rules that survive programs and crashes."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.policy.asked import NOTES, facts

from handraise.errors import SetupError
from handraise.policy import OwnRule, Rulebook, Settings, load_policy, load_settings
from handraise.policy.files import OwnRules
from handraise.policy.places import data_directory

BLOCK = OwnRule("notes", "block", made=1.0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("config/handraise", "work"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "HOME": str(home),
        **more,
    }


def settings(home: Path, **more: str) -> Settings:
    return load_settings(environment=environment(home, **more), directory=home / "work")


def test_without_a_file_the_defaults_hold(home: Path) -> None:
    assert settings(home) == Settings()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these have their own places")
def test_the_named_file_goes_before_the_users_own_and_that_before_the_working_directorys(home: Path) -> None:
    (home / "work/handraise.toml").write_text("limits.per_call = 1")
    assert settings(home).limits.per_call == 1
    (home / "config/handraise/handraise.toml").write_text("limits.per_call = 2")
    assert settings(home).limits.per_call == 2
    (home / "named.toml").write_text("limits.per_call = 3")
    assert settings(home, HANDRAISE_CONFIG=str(home / "named.toml")).limits.per_call == 3


def test_a_cloned_project_cannot_name_a_command_unless_the_user_names_its_file(home: Path) -> None:
    file = home / "work/handraise.toml"
    file.write_text('headless = { rule = "hook", hook = ["/tmp/evil"] }')
    with pytest.raises(SetupError, match="somebody else's project"):
        settings(home)
    assert settings(home, HANDRAISE_CONFIG=str(file)).headless.hook == ("/tmp/evil",)


def test_a_named_file_that_is_not_there_is_an_error_and_not_the_defaults(home: Path) -> None:
    with pytest.raises(SetupError, match=r"nowhere\.toml: No such file"):
        settings(home, HANDRAISE_CONFIG=str(home / "nowhere.toml"))


def test_a_file_can_be_given_directly_and_has_to_be_text(home: Path) -> None:
    file = home / "given.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="not UTF-8"):
        load_settings(file)


@pytest.mark.shows("D5")
def test_a_kept_rule_is_there_for_the_next_program_and_a_session_rule_is_not(home: Path) -> None:
    rules = OwnRules(home / "rules.json")
    rules.add(BLOCK, keep=True)
    rules.add(OwnRule("shop", "mute", made=2.0), keep=False)
    assert [each.server for each in rules.book().entries] == ["notes", "shop"]
    assert [each.server for each in OwnRules(home / "rules.json").book().entries] == ["notes"]


@pytest.mark.shows("D5")
def test_a_running_program_notices_what_another_one_changes(home: Path) -> None:
    policy = load_policy(environment=environment(home), directory=home / "work")
    assert policy.judge(facts()).verdict == "allow"
    other = OwnRules(data_directory(environment(home)) / "rules.json")
    other.add(BLOCK, keep=True)
    assert policy.judge(facts()).verdict == "refuse"
    assert other.undo() == BLOCK
    assert policy.judge(facts()).verdict == "allow"


def test_a_later_kept_rule_goes_before_an_earlier_one_of_the_session(home: Path) -> None:
    rules = OwnRules(home / "rules.json")
    rules.add(OwnRule("notes", "block", made=5.0), keep=False)
    rules.add(OwnRule("notes", "allow", made=6.0), keep=True)
    found = rules.book().find(NOTES, "", now=7.0)
    assert found is not None
    assert found.asking == "allow"


@pytest.mark.skipif(sys.platform == "win32", reason="no file modes")
def test_the_rules_are_readable_by_their_owner_only(home: Path) -> None:
    rules = OwnRules(home / "data/handraise/rules.json")
    rules.add(BLOCK, keep=True)
    path = home / "data/handraise/rules.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1, "rules": [7]}'])
def test_damaged_rules_stop_everything_rather_than_unblock_a_server(home: Path, damage: str) -> None:
    path = home / "rules.json"
    rules = OwnRules(path)
    path.write_text(damage)
    with pytest.raises(SetupError, match="cannot be read"):
        rules.book()
    with pytest.raises(SetupError, match="cannot be read"):
        rules.add(BLOCK, keep=True)
    assert path.read_text() == damage


def test_a_crash_while_writing_leaves_the_rules_as_they_were(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = OwnRules(home / "rules.json")
    rules.add(BLOCK, keep=True)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SetupError, match="No space left"):
        rules.add(OwnRule("shop", "block", made=2.0), keep=True)
    assert OwnRules(home / "rules.json").book().entries == (BLOCK,)
    assert sorted(path.name for path in home.glob("*rules*")) == ["rules.json", "rules.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="no lock there")
def test_two_programs_that_make_rules_at_the_same_time_lose_none(home: Path) -> None:
    path = home / "rules.json"
    second = threading.Thread(
        target=lambda: OwnRules(path).add(OwnRule("shop", "block", made=2.0), keep=True)
    )

    class Slow(OwnRules):
        def _read(self) -> Rulebook:
            book = super()._read()
            second.start()
            second.join(timeout=0.2)  # without the lock it would be done by then, and lost
            return book

    Slow(path).add(BLOCK, keep=True)
    second.join()
    assert {each.server for each in OwnRules(path).book().entries} == {"notes", "shop"}


def test_a_rule_for_the_session_is_taken_back_like_a_kept_one(tmp_path: Path) -> None:
    rules = OwnRules(tmp_path / "rules.json")
    rules.add(BLOCK, keep=True)
    passing = replace(BLOCK, asking="mute", made=BLOCK.made + 1)
    rules.add(passing, keep=False)
    assert rules.undo("notes") == passing
    assert rules.book().entries == (BLOCK,)
    assert rules.undo(BLOCK) == BLOCK
    assert rules.undo() is None
