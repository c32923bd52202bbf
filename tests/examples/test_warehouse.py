"""The warehouse: it asks once, with names and numbers, and a decline is on record and joined to no result."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from tests.gateway.peers import gateway
from tests.gateway.test_holding import LEAVE, QUICK, ended, ticket_in, waiting
from tests.server.peers import DECLINE, REVISIONS, Person, accept, connect, free_port, text_of

from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.errors import CATEGORY
from handraise.ledger import Ledger
from handraise.questions import Accepted, Declined
from handraise.revisions import Revision
from warehouse.server import __file__ as program
from warehouse.server import arguments, make_warehouse

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.shows("U4")]
SMALL: dict[str, Any] = {"people": 50, "orders": 3000, "rows": 1000}
SEVENTH = "SELECT email FROM people WHERE id = 7"
PROGRAM = Path(program)


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_decline_is_on_record_and_joined_to_no_result(revision: Revision, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    person = Person(DECLINE)
    async with connect(make_warehouse(**SMALL, ledger=file), revision, person) as client:
        assert "people" in text_of(await client.call_tool("describe", {}))
        assert text_of(await client.call_tool("query", {"sql": "SELECT 1 AS one"})) == "one\n1\n"
        result = await client.call_tool("query", {"sql": "SELECT contact FROM buyers"})
    assert (result.meta or {})[CATEGORY] == "user_declined"
    assert "people.email (contact)" in person.messages[0]
    assert "rows; you are asked above 1,000." in person.messages[0]
    ledger = Ledger.at(file)
    events = [event async for _, event in ledger.events()]
    await ledger.aclose()
    assert [event.kind for event in events] == ["asked", "decided"]
    assert (events[1].action, events[1].decided_by) == ("decline", "client")
    assert not [event for event in events if event.used is not None]


@pytest.mark.shows("G7")
@pytest.mark.parametrize(("yes", "used"), [(True, ["result"]), (False, [])], ids=["yes", "no"])
async def test_only_a_yes_is_joined_to_what_became_of_the_call(
    revision: Revision, tmp_path: Path, yes: bool, used: list[str]
) -> None:
    file = tmp_path / "ledger.db"
    async with connect(make_warehouse(**SMALL, ledger=file), revision, Person(accept(answer=yes))) as client:
        told = text_of(await client.call_tool("query", {"sql": SEVENTH}))
    assert (told == "email\nperson7@example.org\n") is yes
    ledger = Ledger.at(file)
    events = [event async for _, event in ledger.events()]
    await ledger.aclose()
    assert [event.kind for event in events] == ["asked", "decided", *["used"] * yes]
    assert [event.used.ended for event in events if event.used is not None] == used


@pytest.mark.parametrize(
    ("sql", "reasons"),
    [
        ("SELECT 1 AS one", ["- It goes through about 1 row; you are asked above 1,000."]),
        (
            "SELECT name FROM people",
            [
                "- It reads: people.",
                "- It reaches personal data: people.name (identity).",
                "- It goes through about 50 rows; you are asked above 1,000.",
            ],
        ),
    ],
    ids=["harmless", "personal"],
)
async def test_an_export_is_one_question_about_the_file_and_the_statement(
    revision: Revision, tmp_path: Path, sql: str, reasons: list[str]
) -> None:
    person = Person(DECLINE, accept(answer=True), accept(answer=True))
    async with connect(make_warehouse(**SMALL, exports=tmp_path), revision, person) as client:

        async def export(file: str) -> Any:
            return await client.call_tool("export", {"sql": sql, "file": file})

        assert ((await export("out.csv")).meta or {})[CATEGORY] == "user_declined"
        assert os.listdir(tmp_path) == []
        assert "written to out.csv" in text_of(await export("out.csv"))
        await export("out.csv")
        for wrong in ("../out.csv", "/tmp/out.csv", "out.txt", "a\n.csv", ".csv"):
            assert "Nothing was written" in text_of(await export(wrong)), wrong
    told = [message.split("\n\n")[1].split("\n") for message in person.messages]
    assert told == [
        ["- It makes the file out.csv.", *reasons],
        ["- It makes the file out.csv.", *reasons],
        ["- It replaces the file out.csv.", *reasons],
    ]


async def test_a_long_result_says_that_there_is_more(revision: Revision) -> None:
    async with connect(make_warehouse(people=300, orders=1), revision, Person()) as client:
        told = text_of(await client.call_tool("query", {"sql": "SELECT id FROM people ORDER BY id"}))
    assert told.endswith("\n199\n\nThere is more; only 200 rows are shown.")
    assert len(told.splitlines()) == 203


@pytest.fixture(scope="module")
def over_http(programs: Path) -> Iterator[str]:
    port = free_port()
    command = [
        str(programs / "python"),
        str(PROGRAM),
        "--people",
        "50",
        "--orders",
        "3000",
        "--http",
        str(port),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert f"http://127.0.0.1:{port}/mcp" in process.stderr.readline()
            for line in process.stderr:
                if "running on" in line:
                    break
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_it_is_ready_to_run_on_both_transports(
    revision: Revision, transport: str, over_http: str, programs: Path
) -> None:
    over_pipes = StdioServerParameters(
        command=str(programs / "python"), args=[str(PROGRAM), "--people", "50", "--orders", "3000"]
    )
    target = over_http if transport == "http" else over_pipes
    person = Person(DECLINE, accept(answer=True))
    async with connect(target, revision, person) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"query", "describe", "export"}
        declined = await client.call_tool("query", {"sql": SEVENTH})
        assert (declined.meta or {})[CATEGORY] == "user_declined"
        assert "person7@" in text_of(await client.call_tool("query", {"sql": SEVENTH}))
        refused = await client.call_tool("query", {"sql": "SELECT * FROM '/etc/passwd'"})
        assert (refused.meta or {})[CATEGORY] == "cannot_parse"
    assert len(person.asked) == 2


def test_help_teaches_how_to_try_it() -> None:
    shown = arguments().format_help()
    assert all(
        word in shown for word in ("--http", "--ledger", "handraise gateway --", "SELECT contact FROM buyers")
    )
    assert max(map(len, shown.splitlines())) <= 88


@pytest.mark.parametrize(
    "answer", [Line("decline"), Line("accept", {"answer": True})], ids=lambda a: a.action
)
async def test_through_the_gateway_a_client_that_cannot_be_asked_is_served(
    revision: Revision, answer: Line
) -> None:
    async with (
        gateway(server=make_warehouse(**SMALL), script=[answer], guards=()) as (seen, connect_to),
        connect_to(revision) as client,
    ):
        told = text_of(await client.call_tool("query", {"sql": "SELECT email FROM people WHERE id = 7"}))
    assert len(seen.events) == 1
    assert ("person7@example.org" in told) == (answer.action == "accept")


@pytest.mark.shows("U3")
@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
async def test_a_call_that_is_parked_at_the_gateway_runs_after_a_yes_only(
    revision: Revision, yes: bool
) -> None:
    delete = {"sql": "DELETE FROM orders"}
    count = {"sql": "SELECT count(*) AS n FROM orders"}
    async with (
        gateway(
            server=make_warehouse(
                **SMALL,
            ),
            script=LEAVE,
            options=QUICK,
            guards=(),
        ) as (seen, connect_to),
        connect_to(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("query", delete))
        question = await waiting(seen)
        assert "3000" in text_of(await client.call_tool("query", count))  # nothing ran before consent
        answer = Accepted({"answer": True}) if yes else Declined()
        assert seen.queue.decide(question, Decision(answer, by="agent", desk="test")) == "taken"
        done = text_of(await ended(client, ticket))
        assert done.startswith("Count") if yes else done.startswith("user_declined")
        left = text_of(await client.call_tool("query", count))
    assert left == ("n\n0\n" if yes else "n\n3000\n")
