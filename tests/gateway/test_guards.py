"""The user's own guards: a server that never asks becomes one that does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.gateway.peers import NOTES, gateway
from tests.gateway.test_recording import events_in
from tests.server.peers import REVISIONS, Person, accept, text_of

from handraise import Accepted, Cancelled, Declined, Handraise, ask
from handraise.desks import Decision, Waiting, present
from handraise.desks.language import GERMAN
from handraise.desks.scripted import Line
from handraise.errors import CATEGORY
from handraise.gateway.call import RelayedCall
from handraise.gateway.guards import GuardQuestion, mistyped, question_for, refusal, rules_of
from handraise.gateway.messages import request
from handraise.gateway.options import Options
from handraise.gateway.upstreams import Source
from handraise.ledger import Ledger
from handraise.policy.files import parse_settings
from handraise.questions import Origin
from handraise.revisions import Revision
from handraise.this_user import local_person

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U3", "U3b")]

YES = Line("accept", {"answer": True})


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def files(ran: list[str]) -> MCPServer:
    """A server that never asks."""
    server = MCPServer("files")

    @server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
    def read(path: str) -> str:
        ran.append(f"read {path}")
        return "text"

    @server.tool(annotations=types.ToolAnnotations(destructive_hint=False))
    def append(path: str) -> str:
        ran.append(f"append {path}")
        return "appended"

    @server.tool()
    def remove(path: str, token: str = "") -> str:
        ran.append(f"remove {path}")
        return "removed"

    return server


def rules(text: str) -> Any:
    return rules_of(parse_settings(text).guards)


DESTRUCTIVE = rules('[guards.mine]\nhint = "destructive"\nmessage = "Really {so}?"')


def asked(text: str, arguments: dict[str, Any], server: str = "files", *names: str) -> GuardQuestion | None:
    return question_for(rules(text), server, names or ("remove",), arguments, None)


def test_the_rule_of_a_german_person_asks_in_german() -> None:
    found = asked('[guards.mine]\ntools = ["remove"]', {"path": "a"})
    assert found is not None
    waiting = Waiting("1", found.question, Origin("files", ""), local_person(), guard=True)
    said = present(waiting, GERMAN).message.raw.split("\n")
    assert said[0] == "Ihre Regel 'mine' fragt, bevor files remove(...) aufruft."


@pytest.mark.parametrize(
    ("servers", "guarded"),
    [
        ('["files"]', True),
        ('["f*"]', True),
        ('["a", "fil??"]', True),
        ('["mail"]', False),
        ('["FILES"]', False),
    ],
)
def test_servers_are_named_or_chosen_by_pattern(servers: str, guarded: bool) -> None:
    assert (asked(f"[guards.a]\nservers = {servers}", {}) is not None) is guarded
    assert asked(f"[guards.a]\nservers = {servers}", {}, "f[1]") is None or "f*" in servers
    assert asked('[guards.a]\nservers = ["f[1]"]', {}, "f[1]") is not None


def test_the_first_rule_that_applies_asks_by_whichever_name_the_tool_has() -> None:
    text = '[guards.a]\ntools = ["mine_*"]\n[guards.b]\nhint = "any"\n[guards.c]\ntools = ["remove"]'
    for names, rule, tool in ((("remove", "mine_remove"), "a", "mine_remove"), (("remove",), "b", "remove")):
        found = asked(text, {}, "files", *names)
        assert found is not None
        assert (found.rule.name, found.tool) == (rule, tool)


@pytest.mark.parametrize(
    "name", ["Delete_All", " delete_all", "delete_all\t", "DELETE_ALL", "\uff44elete_all", "delete_\u212all"]
)
def test_no_spelling_of_a_tools_name_passes_its_guard(name: str) -> None:
    guarded = '[guards.a]\ntools = ["delete_*", "Drop"]\n'
    found = asked(guarded, {}, "files", name)
    assert found is not None
    assert found.tool == name
    assert asked(guarded, {}, "files", "drop") is not None
    assert asked(guarded, {}, "files", "dropped") is None


def test_the_name_of_a_tool_adds_no_lines_to_what_a_rule_says() -> None:
    found = asked("[guards.a]\nhint = 'any'", {"a": 1}, "files", "pay\n\nTool: look\nArguments: none\x1b[2J")
    assert found is not None
    first, nothing, *_ = found.question.message.split("\n")
    assert first.startswith("Your rule 'a' asks before files calls pay⟨U+000A⟩")
    assert nothing == ""
    assert "\nTool: look\n" not in found.question.message
    assert "\x1b" not in found.question.message


COUNTED = '[guards.a]\nmessage = "Remove {count} files?"\ncount = "paths"\nabove = 1\n'


@pytest.mark.parametrize("paths", ["many", None, -1])
@pytest.mark.parametrize(
    ("typed", "wanted"), [('typed = "count"', None), ('typed = "why"', "old"), ("", None)]
)
def test_what_cannot_be_counted_is_asked_about(paths: Any, typed: str, wanted: str | None) -> None:
    found = asked(COUNTED + typed, {"paths": paths, "why": "old"})
    assert found is not None
    assert "\n\nRemove an unknown number of files?\n" in found.question.message
    assert found.guard.to_type(found.arguments, found.count) == wanted


def test_nothing_is_filled_in_but_the_count() -> None:
    found = asked(
        '[guards.a]\nmessage = "Remove {count}, {path}?"\ncount = "paths"', {"paths": [1, 2], "path": "a"}
    )
    assert found is not None
    assert "\n\nRemove 2, {path}?\n" in found.question.message
    assert asked('[guards.a]\nmessage = "Remove {path}?"', {"count": [1]}, "files") is not None


def test_a_pattern_may_have_an_equals_sign() -> None:
    text = '[guards.a]\narguments = ["query=a=*"]'
    assert asked(text, {"query": "a=b"}) is not None
    assert asked(text, {"query": "a"}) is None


TYPED = '[guards.a]\ntyped = "path"'
PLAIN = '[guards.a]\nhint = "any"'


@pytest.mark.parametrize(
    ("text", "content", "answer", "reason"),
    [
        (PLAIN, {"answer": True}, Accepted({"answer": True}), ""),
        (PLAIN, {"answer": False}, Declined(by="answer"), ""),
        (PLAIN, {}, Declined(by="answer"), ""),
        (PLAIN, None, Declined(by="answer"), ""),
        (TYPED, {"typed": "a"}, Accepted({"typed": "a"}), ""),
        (TYPED, {"typed": "b"}, Declined(by="answer"), "This is not what had to be typed."),
        (TYPED, {"answer": True}, Declined(by="answer"), "This is not what had to be typed."),
    ],
)
def test_an_answer_that_is_no_yes_counts_as_a_no(
    text: str, content: dict[str, Any] | None, answer: Any, reason: str
) -> None:
    found = asked(text, {"path": "a"})
    assert found is not None
    given = Decision(Accepted(content), desk="web")
    read = found.read(given)
    assert (read.answer, read.reason, read.desk) == (answer, reason, "web")
    assert mistyped(read) is bool(reason)
    for other in (Decision(Declined()), Decision(Cancelled(), reason="This is not what had to be typed.")):
        assert found.read(other) == other
        assert not mistyped(other)


NO_ANSWER = "no_answer: a guard of the user's asks first, and there is no answer ({})"


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision(Accepted({"answer": True})), None),
        (Decision(Accepted({"answer": False})), NO_ANSWER.format("nobody answered")),
        (Decision(Accepted(None)), NO_ANSWER.format("nobody answered")),
        (Decision(Declined()), "user_declined: the user declined this call of remove"),
        (Decision(Declined(by="answer")), "user_declined: the user declined this call of remove"),
        (
            Decision(Declined(by="answer"), reason="This is not what had to be typed."),
            "not_confirmed: the user did not type what had to be typed for a yes",
        ),
        (
            Decision(Cancelled(), desk="web"),
            "user_cancelled: the user dismissed the question without deciding",
        ),
        (Decision(Cancelled()), NO_ANSWER.format("nobody answered")),
        (Decision(Cancelled(), desk="web", reason="too late"), NO_ANSWER.format("too late")),
        (None, NO_ANSWER.format("nobody could be asked")),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["asked", "not asked"])
def test_whatever_is_no_yes_ends_the_call_with_a_sentence(
    decision: Decision | None, told: str | None, known: bool
) -> None:
    asks = request(7, "tools/call", {"name": "remove", "arguments": {}})
    call = RelayedCall(asks, None, None, 7, local_person(), Source(NOTES))
    ended = refusal(asked(PLAIN, {}) if known else None, decision, call)
    if told is None and known:
        assert ended is None
        return
    text = (
        f"{told or NO_ANSWER.format('nobody answered')}. The call did not reach the server; nothing was done."
    )
    assert ended is not None
    assert (ended.id, ended.result) == (
        7,
        {
            "content": [{"type": "text", "text": text}],
            "isError": True,
            "_meta": {CATEGORY: text.partition(":")[0]},
        },
    )


async def test_a_silent_tool_waits_for_the_user_and_then_runs(revision: Revision) -> None:
    ran: list[str] = []
    async with (
        gateway(server=files(ran), guards=DESTRUCTIVE, script=[YES]) as (seen, connect),
        connect(revision) as client,
    ):
        await client.list_tools()
        assert text_of(await client.call_tool("read", {"path": "a"})) == "text"
        assert text_of(await client.call_tool("append", {"path": "a"})) == "appended"
        result = await client.call_tool("remove", {"path": "a\u202e", "token": "hunter2"})
        assert text_of(result) == "removed"
    (event,) = seen.events
    message = event.waiting.question.message
    assert message.startswith(
        "Your rule 'mine' asks before my notes calls remove(...).\n\nReally {so}?\nIf you decline: "
    )
    assert "\nTool: remove\n" in message
    assert "Arguments:\n- path: a⟨U+202E⟩\n- token: [masked" in message
    assert (event.waiting.guard, event.waiting.ours) == (True, True)
    assert event.waiting.origin.name == "my notes"
    assert ran == ["read a", "append a", "remove a\u202e"]


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        (Line("decline"), "user_declined"),
        (Line("accept", {"answer": False}), "user_declined"),
        (Line("cancel"), "user_cancelled"),
    ],
    ids=["decline", "no", "cancel"],
)
async def test_without_a_yes_the_server_never_hears_of_the_call(
    revision: Revision, answer: Line, category: str
) -> None:
    ran: list[str] = []
    async with (
        gateway(server=files(ran), guards=DESTRUCTIVE, script=[answer]) as (seen, connect),
        connect(revision) as client,
    ):
        result = await client.call_tool("remove", {"path": "a"})
    assert result.is_error
    assert (result.meta or {})[CATEGORY] == category
    assert text_of(result).startswith(f"{category}: ")
    assert ran == []
    assert all(b'"tools/call"' not in message.raw for message in seen.link.sent)  # type: ignore[attr-defined]


@pytest.mark.shows("G7")
@pytest.mark.parametrize(
    ("script", "reasons"),
    [
        ([Line("decline")], [()]),
        ([Line("accept", {"answer": False})], [()]),
        ([Line("accept", {"typed": "4"}), Line("decline")], [("This is not what had to be typed.",), ()]),
    ],
    ids=["decline", "no", "mistyped"],
)
async def test_whatever_is_no_yes_is_on_record_as_a_decline(
    revision: Revision, script: list[Line], reasons: list[tuple[str, ...]], tmp_path: Path
) -> None:
    ledger = Ledger.at(tmp_path / "ledger.db")
    guards = rules(MANY) if len(script) > 1 else DESTRUCTIVE
    async with (
        gateway(server=many([]), guards=guards, ledger=ledger, script=script) as (_, connect),
        connect(revision) as client,
    ):
        assert (await client.call_tool("remove", {"paths": ["a", "b"]})).is_error
    await ledger.aclose()
    decided = [event for event in await events_in(tmp_path / "ledger.db") if event.kind == "decided"]
    assert [(event.action, tuple(event.reasons)) for event in decided] == [
        ("decline", each) for each in reasons
    ]


def tidy() -> MCPServer:
    """A server whose one tool asks, too."""
    server = MCPServer("tidy")
    Handraise().install(server)

    @server.tool()
    async def remove(path: str) -> str:
        return f"removed: {(await ask.text('Why?')).action}"

    return server


@pytest.mark.shows("G7")
@pytest.mark.parametrize("able", [True, False], ids=["client that asks", "client that cannot ask"])
async def test_a_yes_of_a_guard_is_joined_to_the_call_that_it_allowed(
    revision: Revision, able: bool, tmp_path: Path
) -> None:
    ledger = Ledger.at(tmp_path / "ledger.db")
    script = [YES] if able else [YES, Line("accept", {"answer": "old"})]
    async with (
        gateway(server=tidy(), guards=DESTRUCTIVE, ledger=ledger, script=script) as (_, connect),
        connect(revision, Person(accept(answer="old")) if able else None) as client,
    ):
        assert text_of(await client.call_tool("remove", {"path": "a"})) == "removed: accept"
    await ledger.aclose()
    events = await events_in(tmp_path / "ledger.db")
    uses = [event for event in events if event.used is not None]
    assert len({event.question for event in uses}) == 2  # the guard's, and the server's own
    assert {event.question for event in uses} == {event.question for event in events}
    for event in uses:
        assert event.used is not None
        assert (event.used.request, event.used.ended) == (event.about.request, "result")


async def test_without_a_desk_nobody_can_be_asked_and_nothing_runs(revision: Revision) -> None:
    ran: list[str] = []
    async with (
        gateway(server=files(ran), guards=DESTRUCTIVE, options=Options(desk="none")) as (_, connect),
        connect(revision) as client,
    ):
        result = await client.call_tool("remove", {"path": "a"})
    assert (result.meta or {})[CATEGORY] == "no_answer"
    assert ran == []


async def test_a_tool_that_was_never_listed_counts_as_destructive(revision: Revision) -> None:
    ran: list[str] = []
    async with (
        gateway(server=files(ran), guards=DESTRUCTIVE, script=[Line("decline")] * 3) as (_, connect),
        connect(revision) as client,
    ):
        result = await client.session.call_tool("remove", {"path": "a"})
        assert getattr(result, "is_error", False)
    assert ran == []


async def test_rules_choose_by_name_server_and_argument(revision: Revision) -> None:
    ran: list[str] = []
    chosen = rules(
        '[guards.a]\ntools = ["re*"]\nhint = "any"\narguments = ["path=/etc/*"]\nservers = ["my notes"]\n'
        '[guards.b]\nservers = ["other"]\nhint = "any"'
    )
    async with (
        gateway(server=files(ran), guards=chosen, script=[Line("decline")]) as (seen, connect),
        connect(revision) as client,
    ):
        await client.call_tool("remove", {"path": "/home/a"})
        await client.call_tool("append", {"path": "/etc/a"})
        await client.call_tool("read", {"path": "/etc/a"})
    assert ran == ["remove /home/a", "append /etc/a"]
    assert len(seen.events) == 1


MANY = (
    '[guards.many]\ntools = ["remove*"]\nhint = "any"\nmessage = "Remove {count} files?"\n'
    'count = "paths"\nabove = 1\ntyped = "count"\ncooldown = 60'
)


def many(ran: list[int]) -> MCPServer:
    server = MCPServer("files")

    @server.tool()
    def remove(paths: list[str]) -> str:
        ran.append(len(paths))
        return "removed"

    return server


@pytest.mark.shows("U1")
async def test_a_number_is_counted_from_the_arguments_and_typed(revision: Revision) -> None:
    ran: list[int] = []
    async with (
        gateway(server=many(ran), guards=rules(MANY), script=[Line("accept", {"typed": "3"})]) as (
            seen,
            connect,
        ),
        connect(revision) as client,
    ):
        assert text_of(await client.call_tool("remove", {"paths": ["a"]})) == "removed"
        assert text_of(await client.call_tool("remove", {"paths": ["a", "b", "c"]})) == "removed"
    assert ran == [1, 3]
    assert "\n\nRemove 3 files?" in seen.events[0].waiting.question.message


FOUR = Line("accept", {"typed": "4"})
ALWAYS = Line("accept", {"typed": "4"}, repeat=True)


@pytest.mark.shows("U1")
@pytest.mark.parametrize(
    ("then", "outcome", "asked"),
    [
        ([FOUR, FOUR, FOUR, Line("accept", {"typed": "3"})], None, 4),
        ([FOUR, FOUR, FOUR, FOUR], "not_confirmed", 4),
        ([FOUR, Line("decline")], "user_declined", 2),
        ([FOUR, Line("cancel")], "user_cancelled", 2),
    ],
    ids=["then right", "always", "then declined", "then cancelled"],
)
async def test_who_mistypes_is_asked_again_with_the_reason_three_times_at_most(
    revision: Revision, then: list[Line], outcome: str | None, asked: int
) -> None:
    ran: list[int] = []
    async with (
        gateway(server=many(ran), guards=rules(MANY), script=then) as (seen, connect),
        connect(revision) as client,
    ):
        result = await client.call_tool("remove", {"paths": ["a", "b", "c"]})
    assert (result.meta or {}).get(CATEGORY) == outcome
    assert ran == ([] if outcome else [3])
    first, *again = [each.question.message for each in seen.desk.seen]
    assert len(again) == asked - 1
    reason = "The last answer could not be used:\n- This is not what had to be typed."
    assert [message for message in again if message != f"{first}\n\n{reason}"] == []


async def test_after_anything_else_the_user_is_asked_at_once(revision: Revision) -> None:
    ran: list[int] = []
    script = [Line("cancel"), Line("accept", {"typed": "2"}), Line("decline")]
    async with (
        gateway(server=many(ran), guards=rules(MANY), script=script) as (seen, connect),
        connect(revision) as client,
    ):
        found = [await client.call_tool("remove", {"paths": [name] * 2}) for name in "abc"]
    assert [(each.meta or {}).get(CATEGORY) for each in found] == ["user_cancelled", None, "user_declined"]
    assert (ran, len(seen.desk.seen)) == ([2], 3)


async def test_a_guard_that_cannot_ask_lets_nothing_pass(
    revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []
    typed = rules('[guards.a]\ntyped = "paths"')
    async with gateway(server=many(ran), guards=typed) as (_, connect), connect(revision) as client:
        result = await client.call_tool("remove", {"paths": ["a"]})
    assert ((result.meta or {})[CATEGORY], ran) == ("no_answer", [])
    assert "a guard could not ask: the argument 'paths' is to be typed" in caplog.text


@pytest.mark.parametrize("no", [Line("decline"), ALWAYS], ids=["decline", "mistyped"])
async def test_after_a_no_there_is_a_pause(revision: Revision, no: Line) -> None:
    ran: list[int] = []
    async with (
        gateway(server=many(ran), guards=rules(MANY), script=[no]) as (seen, connect),
        connect(revision) as client,
    ):
        found = [await client.call_tool("remove", {"paths": [name] * 2}) for name in "ab"]
    first = "user_declined" if no.action == "decline" else "not_confirmed"
    assert [(each.meta or {})[CATEGORY] for each in found] == [first, "cooling_down"]
    assert "is not asked again for 60 seconds" in text_of(found[1])
    assert ran == []
    assert len(seen.desk.seen) == (1 if no.action == "decline" else 4)


def test_the_name_of_a_server_adds_no_lines_to_what_a_rule_says() -> None:
    """A configuration may come with a project, too."""
    found = asked("[guards.a]\nhint = 'any'", {}, "shop\n\nTool: look\x1b[2J")
    assert found is not None
    first, nothing, *_ = found.question.message.split("\n")
    assert first.startswith("Your rule 'a' asks before shop⟨U+000A⟩")
    assert nothing == ""
    assert "\x1b" not in found.question.message
