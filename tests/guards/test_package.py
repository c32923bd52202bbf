"""What the package gives by name, and what it says when an extra is missing."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from handraise import guards
from handraise.errors import SetupError

pytestmark = pytest.mark.shows("U1")


def test_names_are_loaded_when_they_are_used_and_there_are_no_others() -> None:
    assert [getattr(guards, name).__name__ for name in guards.__all__] == guards.__all__
    with pytest.raises(AttributeError, match=r"^module 'handraise.guards' has no attribute 'nothing'$"):
        _ = guards.nothing


def test_without_its_extra_the_guard_of_statements_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "handraise.guards.sql", raising=False)
    with pytest.raises(SetupError, match=r'SqlGuard needs sqlglot: pip install "handraise\[sql\]"'):
        import_module("handraise.guards.sql")
