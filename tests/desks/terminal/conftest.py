"""Whole screens are drawn here, which takes its time: the inner loop has one of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = f"{Path(__file__).parent}{os.sep}"
QUICK = "test_a_long_title_of_a_field_or_an_option_never_reaches_our_own_column"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(HERE) and item.name != QUICK:
            item.add_marker(pytest.mark.slow)
