"""Settings that belong together agree. That every setting is documented as it is: tests/docs/test_made.py."""

from __future__ import annotations

import pytest

from handraise.errors import SetupError
from handraise.policy.files import parse_settings
from handraise.policy.setting_types import Setting
from handraise.policy.settings import SETTINGS, ChosenValue, Settings, choose, flag_of, variable_of


def test_the_limits_of_one_server_are_the_same_settings() -> None:
    common = {
        setting.key.removeprefix("limits.") for setting in SETTINGS if setting.key.startswith("limits.")
    }
    own = {
        s.key.removeprefix("servers.NAME.limits.")
        for s in SETTINGS
        if s.key.startswith("servers.NAME.limits.")
    }
    assert common == own


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_default_is_a_value_that_the_setting_accepts(setting: Setting) -> None:
    if setting.default is not None:
        given = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        assert setting.accepts.take(given) == setting.default


def test_what_weakens_safety_is_called_unsafe_is_off_and_never_comes_with_a_project() -> None:
    unsafe = [setting for setting in SETTINGS if "unsafe" in setting.key]
    assert unsafe
    assert all(s.key.rpartition(".")[2].startswith("unsafe_") for s in unsafe)
    assert all(s.default is False and s.own_file_only for s in unsafe)
    assert Settings().unsafe() == ()


def test_the_strict_preset_in_code_is_the_one_in_the_file() -> None:
    assert Settings(preset="strict") == parse_settings('preset = "strict"')
    assert Settings(preset="strict").forms.personal_data == "refuse"


FILE = "/home/ann/handraise.toml"
SET = parse_settings('gateway = { hold = 10, browser = true }\nstore.url = "~/all.db"')


def test_a_flag_goes_before_the_environment_that_before_the_file_and_that_before_the_default() -> None:
    around = {"HANDRAISE_GATEWAY_HOLD": "20"}
    assert choose("gateway.hold", 30.0, around, SET, FILE) == ChosenValue(30.0, "--hold")
    assert choose("gateway.hold", None, around, SET, FILE) == ChosenValue(20.0, "HANDRAISE_GATEWAY_HOLD")
    assert choose("gateway.hold", None, {}, SET, FILE) == ChosenValue(10.0, FILE)
    assert choose("gateway.hold", None, {}, Settings(), None) == ChosenValue(45.0, "default")
    assert choose("gateway.wait", None, {}, SET, FILE) == ChosenValue(86400.0, "default")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("No", False), ("0", False)])
def test_the_environment_switches_on_and_off(text: str, value: bool) -> None:
    assert choose("gateway.browser", None, {"HANDRAISE_GATEWAY_BROWSER": text}, SET, FILE).value is value


def test_a_switch_of_the_file_can_be_taken_back_by_a_flag() -> None:
    assert choose("gateway.browser", False, {}, SET, FILE) == ChosenValue(False, "--browser")


@pytest.mark.parametrize(
    ("key", "flag", "around", "problem"),
    [
        ("gateway.hold", 1e9, {}, "--hold: use a number of seconds"),
        ("gateway.desk", "mine", {}, '--desk: use "auto"'),
        ("gateway.hold", None, {"HANDRAISE_GATEWAY_HOLD": "soon"}, "HANDRAISE_GATEWAY_HOLD: use a number"),
        ("gateway.notify", None, {"HANDRAISE_GATEWAY_NOTIFY": "?"}, "HANDRAISE_GATEWAY_NOTIFY: use true"),
        ("gateway.http", "nowhere", {}, "--http: use a host and a port"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_with_where_it_stands(
    key: str, flag: object, around: dict[str, str], problem: str
) -> None:
    with pytest.raises(SetupError, match=problem):
        choose(key, flag, around, Settings(), None)


def test_a_store_may_be_named_freely_but_for_the_file() -> None:
    with_password = "postgresql://ann:pw@db/x"
    assert choose("store.url", None, {"HANDRAISE_STORE": with_password}, SET, FILE).value == with_password
    assert choose("store.url", "notes.db", {}, SET, FILE) == ChosenValue("notes.db", "--store")
    assert choose("store.url", None, {}, SET, FILE) == ChosenValue("~/all.db", FILE)


@pytest.mark.parametrize("url", ["postgresql://ann:hunter2@db/x", "db.sqlite", "mysql://db/x"])
def test_the_file_names_no_password_and_no_place_that_depends_on_where_one_stands(url: str) -> None:
    with pytest.raises(SetupError, match=r"handraise.toml:2: store.url: use the full path") as caught:
        parse_settings(f'[store]\nurl = "{url}"')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("line", ['desk = "none"', 'http = "0.0.0.0:80"'])
def test_a_cloned_project_cannot_open_a_port_or_take_the_desk_away(line: str) -> None:
    with pytest.raises(SetupError, match="somebody else's project"):
        parse_settings(f"[gateway]\n{line}", own_file=False)


def test_flags_and_variables_are_named_after_their_settings() -> None:
    assert (flag_of("gateway.desk"), variable_of("gateway.desk")) == ("--desk", "HANDRAISE_GATEWAY_DESK")
    assert (flag_of("store.url"), variable_of("store.url")) == ("--store", "HANDRAISE_STORE")
