"""The report as a page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.desks.web.browsing import open_browser
from tests.ledger.report.years import PEOPLE, START, made_up

from handraise.ledger import EventContext, LedgerEvent, ServerRecord
from handraise.ledger.report import LedgerStatus, render_report
from handraise.ledger.report.page import lasting, percent

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
SOUND = LedgerStatus("ledger.db", 5_000, "root", "sound")

pytestmark = pytest.mark.shows("G6")


def test_the_page_needs_nothing_from_anywhere() -> None:
    page = render_report(made_up(200), now=NOW, standing=SOUND)
    assert not re.search(r"""(?:src|href)\s*=|<script|@import|url\((?!#)""", page)


def test_an_empty_ledger_says_so() -> None:
    assert "Nothing was asked in this time." in render_report([], now=NOW)


def test_a_ledger_that_does_not_verify_is_said_so_before_any_number() -> None:
    broken = LedgerStatus("ledger.db", 7, "root", "broken", ("record 3 was changed",))
    page = render_report(made_up(50), now=NOW, standing=broken)
    assert page.index("does not verify") < page.index("At a glance")
    assert "record 3 was changed" in page


@pytest.mark.shows("G4")
def test_a_ledger_that_nothing_proves_is_not_called_verified() -> None:
    unproven = LedgerStatus("ledger.db", 7, "root", "unproven", ("The ledger's key is not here.",))
    page = render_report(made_up(50), now=NOW, standing=unproven)
    assert page.index("Nothing proves this ledger") < page.index("At a glance")
    assert "key is not here" in page
    assert "The ledger verifies" not in page


@pytest.mark.shows("D7")
def test_what_servers_call_themselves_is_inert() -> None:
    hostile = EventContext(ServerRecord("</style><script>alert(1)</script>\u202e", "x\x1b[2J"), PEOPLE[0])
    page = render_report([LedgerEvent("e", "q", "expired", START, hostile)], now=NOW)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        render_report([], now=datetime(2026, 11, 2))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (None, "–"),
        (40, "0.0 s"),
        (9_400, "9.4 s"),
        (46_000, "46 s"),
        (600_000, "10 min"),
        (7_200_000, "2.0 h"),
    ],
)
def test_times_are_said_as_people_say_them(milliseconds: float | None, said: str) -> None:
    assert lasting(milliseconds) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "–"), (0, 5, "0%"), (1, 1000, "<1%"), (999, 1000, "99%"), (5, 5, "100%")],
)
def test_a_share_is_never_rounded_to_none_or_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


@pytest.mark.stranger
async def test_five_thousand_events_fit_a_screen_a_phone_and_paper(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(made_up(5_000), now=NOW, standing=SOUND), encoding="utf-8")
    complaints: list[str] = []
    async with open_browser() as browser:
        for width, media in ((1_000, "screen"), (390, "screen"), (688, "print")):
            page = await browser.new_page(viewport={"width": width, "height": 900})
            page.on("console", lambda message: complaints.append(message.text))
            await page.emulate_media(media="print" if media == "print" else "screen")
            await page.goto(file.as_uri())
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert await page.locator("svg.chart").count() == 2
            drawn = "strips => Math.min(...strips.map(strip => strip.getBoundingClientRect().width))"
            assert await page.locator(".breakdown .strip").evaluate_all(drawn) > 60, "every row has its bar"
            await page.close()
    assert complaints == []
