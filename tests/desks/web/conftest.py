"""A desk for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser
from tests.desks.web.browsing import Room, open_room
from tests.desks.web.visitor import Office, open_office


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with open_office() as opened:
        yield opened


@pytest.fixture
async def room(browser: Browser) -> AsyncIterator[Room]:
    async with open_room(browser) as opened:
        yield opened
