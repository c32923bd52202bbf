"""The everyday questions, each on three revisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.client.hosts import OpenGate, host
from tests.server.peers import text_of

import everyday
from handraise.desks.scripted import Line
from handraise.revisions import Revision


@pytest.fixture(autouse=True)
def done() -> list[str]:
    everyday.done.clear()
    return everyday.done


async def call(
    revision: Revision, tool: str, arguments: dict[str, Any], script: Iterable[Line], **options: Any
) -> tuple[str, list[str]]:
    """What the tool said, and the messages that the person saw."""
    async with host(everyday.server, revision, script, **options) as here:
        said = text_of(await here.client.call_tool(tool, arguments))
        return said, [waiting.question.message for waiting in here.desk.seen]


@pytest.mark.shows("U2", "U1")
async def test_a_deployment_goes_where_the_person_says_or_nowhere(
    revision: Revision, done: list[str]
) -> None:
    def target(confirm: bool) -> Line:
        return Line("accept", {"environment": "production", "confirm": confirm})

    said, asked = await call(revision, "deploy", {"version": "v2"}, [target(True)])
    assert said == "v2 is on production."
    assert asked == ["Deploy v2?\nWhy: It replaces what is running there."]
    assert done == ["deployed v2 to production"]
    for line in (target(False), Line("decline")):
        said, _ = await call(revision, "deploy", {"version": "v3"}, [line])
        assert said == "The person does not want v3 deployed. Nothing was started."
    said, _ = await call(revision, "deploy", {"version": "v3"}, [Line("cancel")])
    assert said.startswith("The person put it aside.")
    assert len(done) == 1


@pytest.mark.shows("U2")
async def test_the_person_says_which_repository_when_the_name_fits_several(
    revision: Revision, done: list[str]
) -> None:
    issue = {"repository": "notes", "title": "Typo"}
    said, asked = await call(revision, "open_issue", issue, [Line("accept", {"answer": "work/notes"})])
    assert said == "Opened 'Typo' in work/notes."
    assert asked[0].startswith('"Typo": in which repository?')
    said, _ = await call(revision, "open_issue", issue, [Line("decline")])
    assert said == "The person named no repository. No issue was opened."
    said, asked = await call(revision, "open_issue", {**issue, "repository": "engine"}, [])
    assert (said, asked) == ("Opened 'Typo' in ada/engine.", [])
    assert done == ["issue in work/notes", "issue in ada/engine"]


@pytest.mark.shows("U2")
async def test_the_person_says_which_account(revision: Revision, done: list[str]) -> None:
    said, _ = await call(revision, "list_buckets", {}, [Line("accept", {"answer": "0815"})])
    assert said.startswith("Private (0815) has 3 buckets")
    said, _ = await call(revision, "list_buckets", {}, [Line("cancel")])
    assert said == "The person chose no account. Nothing was read."
    assert done == ["read 0815"]


@pytest.mark.shows("U1", "O6")
async def test_a_mass_mail_shows_the_real_count_and_wants_it_typed(
    revision: Revision, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [Line("accept", {"answer": 200}), Line("accept", {"answer": 2000})]
    said, asked = await call(revision, "send_newsletter", {"subject": "Hello"}, script)
    assert said == "Sent to 2,000 contacts."
    assert asked[0].startswith('Send "Hello" to 2,000 contacts?')
    assert "It is 2,000 contacts." in asked[1]
    assert done == ["mailed 2000"]
    said, _ = await call(revision, "send_newsletter", {"subject": "Hello"}, [Line("decline")])
    assert said == "The person did not agree. Nothing was sent."

    class Grows(OpenGate):
        def admit(self, waiting: Any, now: float) -> Any:
            monkeypatch.setattr(everyday, "CONTACTS", [*everyday.CONTACTS, "new@example.com"])
            return super().admit(waiting, now)

    agreed = [Line("accept", {"answer": 2000})]
    said, _ = await call(revision, "send_newsletter", {"subject": "Hello"}, agreed, gate=Grows())
    assert said.startswith("This changed while the person was deciding.")
    assert done == ["mailed 2000"]


@pytest.mark.shows("U2")
async def test_a_time_zone_is_asked_for_and_checked_and_never_guessed(
    revision: Revision, done: list[str]
) -> None:
    script = [Line("accept", {"answer": "Mars"}), Line("accept", {"answer": "Europe/Berlin"})]
    reminder = {"what": "Train", "at": "2026-12-24T18:00:00"}
    said, asked = await call(revision, "remind", reminder, script)
    assert said == "Train: 2026-12-24T18:00:00+01:00"
    assert "Mars is no time zone I know." in asked[1]
    said, asked = await call(revision, "remind", {"what": "Train", "at": "2026-12-24T18:00:00Z"}, [])
    assert asked == []
    said, _ = await call(revision, "remind", reminder, [Line("decline")])
    assert said == "Without a time zone there is no reminder."
    assert len(done) == 2


@pytest.mark.shows("U2")
@pytest.mark.parametrize(
    ("chosen", "booked"), [("03 April 2026", "2026-04-03"), ("04 March 2026", "2026-03-04")]
)
async def test_the_person_says_how_dates_are_written_where_they_live(
    revision: Revision, done: list[str], chosen: str, booked: str
) -> None:
    said, asked = await call(
        revision, "book", {"room": "Blue", "on": "03/04/2026"}, [Line("accept", {"answer": chosen})]
    )
    assert said == f"Blue is yours on {chosen}."
    assert len(asked) == 1
    said, asked = await call(revision, "book", {"room": "Blue", "on": "24/12/2026"}, [])
    assert (said, asked) == ("Blue is yours on 24 December 2026.", [])
    assert done == [f"booked {booked}", "booked 2026-12-24"]


@pytest.mark.shows("N5")
async def test_a_client_that_cannot_be_asked_gets_a_sentence_and_nothing_is_done(
    revision: Revision, done: list[str]
) -> None:
    async with host(everyday.server, revision, modes=()) as here:
        for tool, arguments in (("deploy", {"version": "v2"}), ("send_newsletter", {"subject": "Hello"})):
            try:
                said = text_of(await here.client.call_tool(tool, arguments))
                assert revision.legacy
            except MCPError as refused:
                said = f"{refused.code} {refused.message}"
                assert revision.modern
            assert "their client cannot" in said
    assert done == []
