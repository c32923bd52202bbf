"""Nothing runs before consent: what keeps the promise passes, each way of breaking it is found."""

from __future__ import annotations

import pytest
from tests.testing.shop import Shop

from handraise.testing import assert_nothing_runs_before_consent

pytestmark = pytest.mark.anyio


async def test_a_tool_that_asks_first_passes() -> None:
    shop = Shop()
    await assert_nothing_runs_before_consent(
        shop.server, "asks_first", {"title": "a"}, state=lambda: shop.deleted
    )


@pytest.mark.parametrize(
    ("tool", "complaint"),
    [
        ("runs_first", r"runs_first on 2025-06-18: something ran before it asked 'Was that right\?'"),
        ("does_not_look", "something ran although the person declined"),
        ("takes_a_no_for_a_yes", "something ran although the person said no"),
        ("falls_back", "something ran although nobody could be asked"),
        ("never_asks", "never_asks on 2025-06-18 never asked"),
    ],
)
async def test_a_tool_that_does_not_is_named(tool: str, complaint: str) -> None:
    shop = Shop()
    with pytest.raises(AssertionError, match=complaint):
        await assert_nothing_runs_before_consent(
            shop.server, tool, {"title": "a"}, state=lambda: shop.deleted
        )
