"""Links that a host's person went to."""

from __future__ import annotations

import pytest

from handraise.client.calls import OpenLinks
from handraise.client.recording import HostRecord
from handraise.questions import UrlQuestion

pytestmark = pytest.mark.anyio


def link(id: str) -> UrlQuestion:
    return UrlQuestion("Set it up", "https://notes.example.com/setup", elicitation_id=id)


class Counting(HostRecord):
    """A record that counts how often its question was finished."""

    completions = 0

    async def completed(self) -> None:
        self.completions += 1


def test_who_waits_for_a_link_hears_of_it_and_of_no_other() -> None:
    flows = OpenLinks()
    this, other = flows.expect(link("this")), flows.expect(link("other"))
    flows.noticed("this")
    flows.noticed("nobody was asked about it")
    assert (this.is_set(), other.is_set()) == (True, False)
    for id in ("this", "other"):
        flows.forget(link(id))
    assert len(flows) == 0


async def test_a_link_is_finished_once() -> None:
    flows, record = OpenLinks(), Counting()
    flows.opened(link("this"), record)
    for _ in range(2):
        await flows.completed(link("this"))
    assert record.completions == 1


async def test_links_that_nobody_finishes_make_room() -> None:
    flows, records = OpenLinks(), [Counting() for _ in range(65)]
    for number, record in enumerate(records):
        flows.opened(link(str(number)), record)
    for number in range(65):
        await flows.completed(link(str(number)))
    assert [record.completions for record in records] == [0] + 64 * [1]
