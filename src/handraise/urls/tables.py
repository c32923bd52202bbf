"""The lists that the checks go by. They are data files, read at first use."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def read_data(name: str) -> str:
    """The text of a data file of this package."""
    return files("handraise.urls").joinpath("data", name).read_text(encoding="utf-8")


@cache
def read_table(name: str) -> dict[str, Any]:
    """A TOML file of this package, as it stands."""
    return tomllib.loads(read_data(name))


@cache
def words(name: str, key: str) -> frozenset[str]:
    """A list of words in a TOML file of this package."""
    return frozenset(read_table(name)[key].split())
