"""Settings that belong together agree. That every setting is documented as it is: tests/docs/test_made.py."""

from __future__ import annotations

import pytest

from handraise.policy.config import parse_settings
from handraise.policy.setting import Setting
from handraise.policy.settings import SETTINGS, Settings


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
