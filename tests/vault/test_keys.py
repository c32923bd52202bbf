"""Keys come from a variable, a private file or the system's keyring, or the vault refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from handraise.errors import SetupError
from handraise.vault import KeyFile, KeyVariable, SystemKeyring, default_keys
from handraise.vault.keys import new_key
from handraise.vault.vault import KeyRing

A, B = new_key(), new_key()


def test_a_variable_holds_keys_newest_first_and_only_its_owner_changes_it() -> None:
    source = KeyVariable("KEY", {"KEY": f"{A.hex()}, {B.hex()}"})
    assert source.load() == (A, B)
    with pytest.raises(SetupError, match="rotate --keep-keys"):
        source.save([B])
    with pytest.raises(SetupError, match="new-key"):
        KeyVariable("KEY", {}).load()
    with pytest.raises(SetupError, match="hexadecimal") as caught:
        KeyVariable("KEY", {"KEY": "hunter2"}).load()
    assert "hunter2" not in str(caught.value)


@pytest.mark.shows("L11")
def test_a_key_file_is_private_or_refused(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    file.save([A, B])
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.load() == (A, B)
    file.path.chmod(0o640)
    with pytest.raises(SetupError, match="chmod 600"):
        file.load()
    with pytest.raises(SetupError, match="cannot be read"):
        KeyFile(tmp_path / "none").load()
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_short_key_is_no_key() -> None:
    with pytest.raises(SetupError):
        KeyRing([b"short"])
    with pytest.raises(SetupError):
        KeyRing([])


class Keyring:
    """A keyring that keeps."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


def test_the_systems_keyring_gets_a_key_when_it_is_first_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_keyring=lambda: backend))
    source = default_keys({})
    assert isinstance(source, SystemKeyring)
    (key,) = source.load()
    assert len(key) == 32
    assert source.load() == (key,)
    source.save([A])
    assert source.load() == (A,)


@pytest.mark.shows("L11")
@pytest.mark.parametrize("module", ["keyring.backends.fail", "keyring.backends.null", "keyrings.alt.file"])
def test_a_keyring_that_keeps_nothing_or_plain_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    pretender = type("Keyring", (), {"__module__": module})()
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_keyring=lambda: pretender))
    with pytest.raises(SetupError, match="HANDRAISE_VAULT_KEY"):
        default_keys({})


@pytest.mark.shows("L11")
def test_without_any_key_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SetupError, match=r"handraise\[keyring\]"):
        default_keys({})


def test_a_variable_comes_before_a_file_and_a_file_before_the_keyring(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    file.save([B])
    named = {"HANDRAISE_VAULT_KEY_FILE": str(file.path)}
    assert default_keys(named).load() == (B,)
    assert default_keys({**named, "HANDRAISE_VAULT_KEY": A.hex()}).load() == (A,)
