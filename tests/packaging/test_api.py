"""The public names, pinned: one that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import pytest

PINNED: dict[str, list[str]] = json.loads((Path(__file__).parent / "api.json").read_text())
MODULES = [
    "handraise",
    "handraise.client",
    "handraise.forms",
    "handraise.guards",
    "handraise.guards.sql",
    "handraise.ledger",
    "handraise.pages",
    "handraise.pages.oauth",
    "handraise.policy",
    "handraise.server",
    "handraise.stores",
    "handraise.stores.postgres",
    "handraise.testing",
    "handraise.urls",
    "handraise.vault",
]
"""Where users import from."""


def exported(module: str) -> list[str]:
    loaded = importlib.import_module(module)
    return sorted(getattr(loaded, "__all__", ()))


def test_every_public_module_is_pinned() -> None:
    assert sorted(PINNED) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_the_names_are_those_that_were_pinned(module: str) -> None:
    assert exported(module) == PINNED[module]


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there_and_says_what_it_is_for(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in PINNED[module]:
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"{module}.{name}"
