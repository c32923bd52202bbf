"""A desk's history, from the ledger: whose, since when, and never what was said."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.client.test_recording import asked, consent_with, events_of
from tests.desks.questions import ADA, EVERY_KIND
from tests.desks.web.visitor import InThisProcess, Visitor

from handraise.desks import Decision, Queue
from handraise.desks.past import Past
from handraise.desks.web import WebDesk
from handraise.errors import LedgerError
from handraise.ledger import Ledger
from handraise.ledger.earlier import earlier
from handraise.questions import Declined, FormQuestion, Person

EVE = Person("", "eve", "system")


async def declined_before(path: Path) -> Ledger:
    ledger = Ledger.at(path)
    await asked(consent_with(ledger), FormQuestion("Confidential?", EVERY_KIND), Decision(Declined()))
    await events_of(ledger)
    return ledger


@pytest.mark.shows("G2")
async def test_the_page_shows_what_was_decided_before_this_run_to_the_person_who_was_asked(
    tmp_path: Path,
) -> None:
    ledger = await declined_before(tmp_path / "ledger.db")
    desk = WebDesk(
        Queue(), port=7070, access=InThisProcess(), earlier=earlier(ledger), now=lambda: time.time() + 3600
    )
    for person, sees in ((None, True), (ADA, True), (EVE, False)):
        visitor = await Visitor(desk).sign_in(desk.sign_in_url(person))
        await visitor.get(f"{visitor.place}history")
        assert ("Before this run" in visitor.page) is sees
        assert ("A person declined it 1 hour ago." in visitor.page) is sees
        assert "Confidential" not in visitor.page
    await ledger.aclose()


async def test_what_is_decided_in_this_run_is_not_told_twice(tmp_path: Path) -> None:
    ledger = await declined_before(tmp_path / "ledger.db")
    assert await earlier(ledger)(None, time.time() - 60) == []
    assert len(await earlier(ledger)(None, time.time() + 60)) == 1
    await ledger.aclose()


async def test_a_ledger_that_cannot_be_read_is_told_and_the_page_stays() -> None:
    async def broken(person: Person | None, before: float) -> Sequence[Past]:
        raise LedgerError("no")

    visitor = await Visitor(WebDesk(Queue(), port=7070, access=InThisProcess(), earlier=broken)).sign_in()
    assert (await visitor.get(f"{visitor.place}history")).status_code == 200
    assert "The ledger cannot be read now" in visitor.page
