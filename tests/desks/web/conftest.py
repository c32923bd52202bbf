"""A desk for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.desks.web.visitor import Office, open_office


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with open_office() as opened:
        yield opened
