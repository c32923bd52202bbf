"""What a gateway is told to do, by whoever says it first."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from handraise.errors import SetupError
from handraise.gateway.options import OPTIONS, Options, choices, options_of
from handraise.policy.settings import GatewaySettings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any configuration."""
    for name in ("HANDRAISE_CONFIG", "HANDRAISE_STORE", "XDG_CONFIG_HOME", "HANDRAISE_GATEWAY_HTTP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def choose_options(flags: dict[str, object]) -> Options:
    return options_of(choices(flags, os.environ))


def write(home: Path, text: str) -> Path:
    file = home / ".config/handraise/handraise.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_without_a_word_from_anybody_the_defaults_are_those_of_the_settings() -> None:
    told = asdict(choose_options({}))
    assert told == asdict(Options())
    assert {name: told.get(name, "") for name in OPTIONS} == asdict(GatewaySettings())


def test_a_flag_goes_before_a_variable_and_that_before_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, '[gateway]\nhold = 1\nwait = 2\nbrowser = true\n[store]\nurl = "~/all.db"')
    monkeypatch.setenv("HANDRAISE_GATEWAY_WAIT", "3")
    monkeypatch.setenv("HANDRAISE_GATEWAY_HOLD", "4")
    assert choose_options({"hold": 5.0}) == Options(hold=5.0, wait=3.0, browser=True, store="~/all.db")


def test_a_variable_alone_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_STORE", "all.db")
    assert choose_options({"desk": "always"}) == Options(desk="always", store="all.db")


def test_a_wrong_file_is_told_with_its_line(home: Path) -> None:
    file = write(home, "[gateway]\n\nholds = 1\n")
    with pytest.raises(
        SetupError, match=f"{file}:3: gateway.holds: there is no such setting; did you mean hold"
    ):
        choose_options({})
