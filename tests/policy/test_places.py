"""Where this user's files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from handraise.policy.places import config_directory, data_directory, find_config


@pytest.mark.parametrize(
    ("platform", "variables", "config", "data"),
    [
        ("linux", {}, "/h/.config/handraise", "/h/.local/share/handraise"),
        ("linux", {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}, "/c/handraise", "/d/handraise"),
        ("linux", {"XDG_CONFIG_HOME": "relative"}, "/h/.config/handraise", "/h/.local/share/handraise"),
        ("darwin", {}, *["/h/Library/Application Support/handraise"] * 2),
        ("win32", {}, "/h/AppData/Roaming/handraise", "/h/AppData/Local/handraise"),
    ],
)
def test_each_system_has_its_places(platform: str, variables: dict[str, str], config: str, data: str) -> None:
    known = {"HOME": "/h", **variables}
    assert config_directory(known, platform) == Path(config)
    assert data_directory(known, platform) == Path(data)


def test_a_file_in_the_working_directory_is_known_as_not_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "handraise.toml").touch()
    found = find_config({"HOME": "/h"}, tmp_path)
    assert found is not None
    assert not found.own
