"""An authorization server for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.pages.oauth.authority import Authority, open_authority


@pytest.fixture
async def authority() -> AsyncIterator[Authority]:
    async with open_authority() as opened:
        yield opened
