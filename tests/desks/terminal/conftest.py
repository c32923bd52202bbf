"""Whole screens are drawn here, which takes its time: the inner loop has one of them, and what draws none."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
QUICK = {"test_dates.py", "test_a_long_title_of_a_field_or_an_option_never_reaches_our_own_column"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and not QUICK & {item.path.name, item.name}:
            item.add_marker(pytest.mark.slow)
