"""The kit for hosts: each question passes parser, policy, desk and checker, and so does what leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from tests.client.hosts import ADA, NOTES, OpenGate, host
from tests.desks.questions import form_question, link_question
from tests.server.peers import REVISIONS, text_of
from tests.waiting import until

from handraise import Handraise, UrlQuestion, ask, complete
from handraise.client import Consent
from handraise.client.calls import CALL, HostCall, cause_of
from handraise.client.consent import checked, dump_as_answer
from handraise.desks import Decision, Queue
from handraise.desks.fill import fill, suggest
from handraise.desks.gate import PolicyGate
from handraise.desks.scripted import Line
from handraise.forms import Flag, Form, Text
from handraise.policy import Policy, PolicyRuling, Settings
from handraise.policy.settings import DeskSettings
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.revisions import Revision
from handraise.server.served import current_call
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def server() -> MCPServer:
    made = Handraise().install(MCPServer("asker"))

    @made.tool()
    async def greet(greeting: str = "Hello") -> str:
        answer = await ask.text("Who are you?")
        return f"{greeting} {answer.or_stop()}"

    @made.tool()
    async def what_you_can() -> str:
        can = current_call().can
        return " ".join(name for name, declared in (("form", can("form")), ("url", can("url"))) if declared)

    @made.tool()
    async def files() -> str:
        await ask.require(UrlQuestion("Permission, please.", URL, "flow"))
        return "files"

    return made


async def test_an_accepted_answer_reaches_the_tool(revision: Revision) -> None:
    async with host(server(), revision, [Line("accept", {"answer": "Ada"})]) as here:
        assert text_of(await here.client.call_tool("greet")) == "Hello Ada"
        assert here.desk.seen[0].origin == NOTES
        assert here.events[0].decision.answer == Accepted({"answer": "Ada"})


@dataclass(frozen=True)
class Untouched:
    """A person at a desk who changes nothing, or clears one field."""

    clears: str | None = None

    async def answer(self, queue: Queue) -> None:
        async for waiting in queue.changes():
            for one in waiting:
                assert isinstance(one.question, FormQuestion)
                form = one.question.form
                entries = {name: entry for name, entry in suggest(form).items() if name != self.clears}
                queue.decide(one.id, Decision(Accepted(fill(form, entries).content), by="agent"))


@pytest.mark.parametrize(
    ("clears", "sent"),
    [(None, {"city": "Oslo", "window": True, "quiet": False}), ("quiet", {"city": "Oslo", "window": True})],
)
async def test_untouched_defaults_are_sent_and_cleared_ones_are_not(
    revision: Revision, clears: str | None, sent: dict[str, object]
) -> None:
    made = Handraise().install(MCPServer("asker"))
    form = Form.by_hand(
        Text("city", default="Oslo", required=False),
        Flag("window", default=True),
        Flag("quiet", default=False, required=False),
        Text("name", required=False),
    )
    if revision is Revision.JUNE_2025:  # has defaults for flags only
        sent = {name: value for name, value in sent.items() if name != "city"}

    @made.tool()
    async def book() -> str:
        given = (await ask("Book it?", form)).or_stop()
        return repr({name: value for name, value in given.items() if value is not None})

    async with host(made, revision, [Line("leave")]) as here, anyio.create_task_group() as tasks:
        tasks.start_soon(Untouched(clears).answer, here.queue)
        assert text_of(await here.client.call_tool("book")) == repr(sent)
        assert here.events[0].decision.answer == Accepted(sent)
        tasks.cancel_scope.cancel()


@pytest.mark.shows("O1")
@pytest.mark.parametrize(
    ("action", "sentence"), [("decline", "The person declined"), ("cancel", "The person dismissed")]
)
async def test_decline_and_cancel_stay_different(revision: Revision, action: str, sentence: str) -> None:
    async with host(server(), revision, [Line(action)]) as here:
        assert text_of(await here.client.call_tool("greet")).startswith(sentence)


@pytest.mark.shows("D1")
async def test_the_desk_is_told_which_tool_asks_with_which_arguments(revision: Revision) -> None:
    async with host(server(), revision, [Line("accept", {"answer": "Ada"})]) as here:
        await here.client.call_tool("greet", {"greeting": "Hi"})
        cause = here.desk.seen[0].cause
        assert cause is not None
        assert cause.calls == (("greet", {"greeting": "Hi"}),)
        assert cause.certain


@pytest.mark.shows("D1")
async def test_where_the_host_cannot_tell_which_call_asks_it_says_so() -> None:
    cause = cause_of([HostCall("greet", {"greeting": "one"}), HostCall("greet", {"greeting": "two"})])
    assert cause is not None
    assert not cause.certain
    assert len(cause.calls) == 2


@pytest.mark.shows("N1", "N4")
async def test_exactly_the_modes_of_the_desk_are_declared(revision: Revision) -> None:
    for modes in (("form",), ("url",), ("form", "url")):
        expected = [mode for mode in modes if mode == "form" or revision.url_mode]
        async with host(server(), revision, modes=modes) as here:
            assert text_of(await here.client.call_tool("what_you_can")).split() == expected


@pytest.mark.shows("N4")
async def test_without_a_desk_nothing_is_declared(revision: Revision) -> None:
    async with host(server(), revision, modes=()) as here:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await here.client.call_tool("greet")
            assert refused.value.code == -32021
        else:
            assert "their client cannot" in text_of(await here.client.call_tool("greet"))


@pytest.mark.shows("N4")
async def test_without_a_desk_the_sdks_own_client_declares_nothing_either() -> None:
    consent = Consent(Queue(), origin=NOTES, person=ADA, gate=OpenGate(), modes=())
    async with Client(server(), mode="2026-07-28", elicitation_callback=consent) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("greet")
        assert refused.value.code == -32021


def asks_itself(params: dict[str, Any]) -> MCPServer:
    """A server that sends what it is told, past every check of ours."""
    made = MCPServer("raw")

    @made.tool()
    async def send(ctx: Context) -> str:
        channel = ctx.session._request_outbound
        try:
            result = await channel.send_raw_request("elicitation/create", params)
        except MCPError as error:
            return f"{error.code} {error.message}"
        return str(result["action"])

    return made


@pytest.mark.shows("N3")
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_mode_that_was_not_declared_is_answered_with_32602(revision: Revision) -> None:
    link = {"mode": "url", "message": "Look", "url": URL, "elicitationId": "x"}
    async with host(asks_itself(link), revision, modes=("form",)) as here:
        assert text_of(await here.client.call_tool("send")).startswith("-32602")


@pytest.mark.shows("N3")
async def test_a_mode_that_was_not_declared_ends_the_call_on_the_modern_revision() -> None:
    calls: list[Any] = []

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="send", input_schema={"type": "object"})])

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.InputRequiredResult:
        calls.append(params)
        link = types.ElicitRequestURLParams(message="Look", url=URL, elicitation_id="")
        return types.InputRequiredResult(input_requests={"link": types.ElicitRequest(params=link)})

    undeclared: Server[Any] = Server("raw", on_list_tools=list_tools, on_call_tool=call_tool)
    async with host(undeclared, Revision.JULY_2026, modes=("form",)) as here:
        with pytest.raises(MCPError) as refused:
            await here.client.call_tool("send")
        assert refused.value.code == -32602
    assert len(calls) == 1


@pytest.mark.shows("N3")
async def test_a_request_without_a_mode_is_never_a_link() -> None:
    """It is a form. The SDK's client loses the form of one that also has a `url`, so that one is refused."""
    schema = {"type": "object", "properties": {}}
    async with host(
        asks_itself({"message": "Hm?", "requestedSchema": schema}),
        Revision.NOVEMBER_2025,
        [Line("accept", {})],
    ) as here:
        assert text_of(await here.client.call_tool("send")) == "accept"
        assert here.desk.seen[0].question.mode == "form"
    both = {"message": "Hm?", "url": URL, "requestedSchema": schema}
    async with host(asks_itself(both), Revision.NOVEMBER_2025) as here:
        assert text_of(await here.client.call_tool("send")).startswith("-32602")
        assert here.desk.seen == []


async def test_a_form_that_the_protocol_does_not_allow_is_refused_by_rule() -> None:
    nested = {
        "message": "Hm?",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
    }
    async with host(asks_itself(nested), Revision.NOVEMBER_2025) as here:
        assert text_of(await here.client.call_tool("send")).startswith("-32602")
        assert here.desk.seen == []


@pytest.mark.shows("O2")
async def test_what_the_policy_refuses_is_cancelled_and_nobody_sees_it(revision: Revision) -> None:
    gate = OpenGate(PolicyRuling("refuse", ("This server is blocked.",)))
    async with host(server(), revision, gate=gate) as here:
        assert text_of(await here.client.call_tool("greet")).startswith(
            "The person's client could not deliver"
        )
        assert here.desk.seen == []
        refused = Decision(Cancelled(), by="policy", reason="This server is blocked.", refusal="policy")
        assert here.events[0].decision == refused
        assert [told.reason for _, told in here.queue.past()] == ["This server is blocked."]


@pytest.mark.shows("D5")
async def test_nothing_is_said_about_a_server_that_was_muted() -> None:
    gate = OpenGate(PolicyRuling("refuse", ("This server is muted.",), silent=True))
    async with host(server(), Revision.NOVEMBER_2025, gate=gate) as here:
        await here.client.call_tool("greet")
        assert here.queue.past() == ()


async def test_what_the_policy_warns_of_is_shown_with_its_reasons(revision: Revision) -> None:
    gate = OpenGate(PolicyRuling("warn", ("It asks rather often.",)))
    async with host(server(), revision, [Line("accept", {"answer": "Ada"})], gate=gate) as here:
        await here.client.call_tool("greet")
        assert here.desk.seen[0].warnings == ("It asks rather often.",)


@pytest.mark.shows("S4")
@pytest.mark.parametrize("around", ["", "and so on " * 2000], ids=["short", "long"])
async def test_a_secret_that_was_typed_does_not_leave(revision: Revision, around: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    async with host(server(), revision, [Line("accept", {"answer": f"{around}{token}"})]) as here:
        assert token not in text_of(await here.client.call_tool("greet"))
        assert here.events[0].decision.reason == "the answer held a secret"


async def test_a_gate_that_breaks_is_a_cancel_and_the_host_lives(revision: Revision) -> None:
    class Broken(OpenGate):
        def admit(self, waiting: Any, now: float) -> PolicyRuling:
            raise RuntimeError("bug")

    async with host(server(), revision, gate=Broken()) as here:
        assert text_of(await here.client.call_tool("greet")).startswith(
            "The person's client could not deliver"
        )


@pytest.mark.shows("O7")
async def test_a_cancelled_call_withdraws_its_question(revision: Revision) -> None:
    async with host(server(), revision, [Line("leave")]) as here:
        queue = here.queue
        async with anyio.create_task_group() as calls:
            calls.start_soon(here.client.call_tool, "greet")
            await until(lambda: len(queue.waiting()) == 1)
            calls.cancel_scope.cancel()
        await until(lambda: not queue.waiting())
        await until(lambda: isinstance(here.gate.seen[-1], Decision))


@pytest.mark.shows("L3")
async def test_what_is_required_first_is_asked_for_and_the_call_is_made_again() -> None:
    script = [Line("accept", message="Permission"), Line("leave", message="Permission")]
    async with host(server(), Revision.NOVEMBER_2025, script) as here, anyio.create_task_group() as tasks:

        async def finish() -> None:
            await until(lambda: len(here.desk.seen) == 2)
            await complete("flow", person=local_person())

        tasks.start_soon(finish)
        assert text_of(await here.client.call_tool("files")) == "files"
        assert [waiting.browsing for waiting in here.desk.seen] == [False, True]
        assert here.queue.waiting() == ()


@pytest.mark.shows("L3")
@pytest.mark.parametrize(
    ("revision", "modes"),
    [
        (Revision.JUNE_2025, ("form", "url")),
        (Revision.NOVEMBER_2025, ("form",)),
        (Revision.JULY_2026, ("form", "url")),
    ],
)
async def test_32042_is_only_an_error_where_the_revision_or_the_client_has_no_links(
    revision: Revision, modes: tuple[str, ...]
) -> None:
    made = MCPServer("raw")
    link = {"mode": "url", "message": "Permission, please.", "url": URL, "elicitationId": "flow"}

    @made.tool()
    async def files() -> str:
        raise MCPError(-32042, "first", {"elicitations": [link]})

    async with host(made, revision, [Line("accept")], modes=modes) as here:
        with pytest.raises(MCPError) as refused, anyio.fail_after(60):
            await here.client.call_tool("files")
        assert refused.value.code == -32042
        assert here.desk.seen == []


@pytest.mark.shows("L3")
async def test_a_server_that_goes_on_asking_for_more_is_left_after_a_few_times() -> None:
    """The person says "done" each time; the server never agrees."""
    async with host(server(), Revision.NOVEMBER_2025, [Line("accept", repeat=True)]) as here:
        with pytest.raises(MCPError) as needed:
            await here.client.call_tool("files")
        assert needed.value.code == -32042
        assert [(waiting.browsing, waiting.asked_again) for waiting in here.desk.seen] == [
            (False, False),
            (True, False),
            (True, True),
            (True, True),
        ]


@pytest.mark.shows("L3")
@pytest.mark.parametrize("script", [[Line("decline")], [Line("accept"), Line("cancel")]])
async def test_a_decline_or_a_cancel_in_between_ends_it(script: list[Line]) -> None:
    async with host(server(), Revision.NOVEMBER_2025, script) as here:
        with pytest.raises(MCPError) as needed:
            await here.client.call_tool("files")
        assert needed.value.code == -32042


@pytest.mark.shows("L2")
async def test_a_completion_notice_counts_for_the_id_that_was_asked_about_and_for_no_other() -> None:
    def notice(elicitation_id: str) -> types.ElicitCompleteNotification:
        params = types.ElicitCompleteNotificationParams(elicitation_id=elicitation_id)
        return types.ElicitCompleteNotification(params=params)

    script = [Line("accept"), Line("leave"), Line("cancel")]
    async with host(server(), Revision.NOVEMBER_2025, script) as here, anyio.create_task_group() as tasks:
        hear: Any = here.client.message_handler
        queue = here.queue
        await hear(notice("flow"))  # nobody was asked about it yet

        async def finish() -> None:
            await until(lambda: len(here.desk.seen) == 2)
            await hear(notice("other"))
            for _ in range(3):  # time enough for whatever it could have set off
                await here.client.list_tools()
            assert [waiting.browsing for waiting in queue.waiting()] == [True]
            await hear(notice("flow"))

        tasks.start_soon(finish)
        with pytest.raises(MCPError):  # called again, and cancelled by the script
            await here.client.call_tool("files")
        assert len(here.desk.seen) == 3


async def test_consent_works_as_the_plain_callback_of_the_sdks_client(revision: Revision) -> None:
    from tests.server.peers import connect

    from handraise.desks.scripted import ScriptedDesk

    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=OpenGate())
    desk = ScriptedDesk(queue, [Line("accept", {"answer": "Ada"})])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.run)
        async with connect(server(), revision, consent) as client:
            assert text_of(await client.call_tool("greet")) == "Hello Ada"
        tasks.cancel_scope.cancel()


@pytest.mark.shows("D6")
async def test_the_same_question_asked_twice_by_one_call_is_shown_once_and_one_answer_serves_both() -> None:
    queue = Queue()
    consent = Consent(queue, origin=NOTES, person=ADA, gate=PolicyGate(Policy()))
    question = FormQuestion("Who are you?", Form.by_hand(Text("name")))
    decisions: list[Decision] = []
    CALL.set(HostCall("greet", {}))

    async def asked() -> None:
        decisions.append(await consent.ask(question))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked)
        tasks.start_soon(asked)
        await until(lambda: bool(queue.waiting()))
        await anyio.sleep(0.01)
        assert len(queue.waiting()) == 1
        queue.decide(queue.waiting()[0].id, Decision(Accepted({"name": "Ada"}), by="agent"))
    assert [decision.answer for decision in decisions] == [Accepted({"name": "Ada"})] * 2


@pytest.mark.shows("W9b", "D6")
async def test_each_question_that_needs_a_passkey_waits_for_one_of_its_own() -> None:
    """The policy says that it needs one; two equal ones of one call are shown twice."""
    queue, decisions = Queue(), []
    gate = PolicyGate(Policy(Settings(desk=DeskSettings(passkey=("shared",)))), shared=True)
    consent = Consent(queue, origin=NOTES, person=ADA, gate=gate)
    CALL.set(HostCall("greet", {}))

    async def asked() -> None:
        decisions.append(await consent.ask(FormQuestion("Who are you?", Form.by_hand(Text("name")))))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked)
        tasks.start_soon(asked)
        await until(lambda: len(queue.waiting()) == 2)
        yes, no = Decision(Accepted({"name": "Ada"}), by="agent"), Decision(Declined(), by="agent")
        for waiting in queue.waiting():
            assert waiting.passkey
            assert queue.decide(waiting.id, yes) == "needs passkey"
            assert queue.decide(waiting.id, no) == "taken"
    assert [decision.answer for decision in decisions] == [Declined(), Declined()]


@pytest.mark.slow
@pytest.mark.shows("D6")
async def test_hundreds_of_questions_from_one_call_become_a_handful_and_a_refusal() -> None:
    made = MCPServer("flood")

    @made.tool()
    async def flood(ctx: Context) -> str:
        channel = ctx.session._request_outbound
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        actions = []
        for number in range(500):
            params = {"message": f"Question {number}", "requestedSchema": schema}
            actions.append((await channel.send_raw_request("elicitation/create", params))["action"])
        return f"{actions.count('accept')} {actions.count('cancel')}"

    gate: Any = PolicyGate(Policy())
    script = [Line("accept", {"a": "x"}, repeat=True)]
    async with host(made, Revision.NOVEMBER_2025, script, gate=gate) as here:
        answered, cancelled = map(int, text_of(await here.client.call_tool("flood")).split())
        assert answered == len(here.desk.seen)
        assert 1 <= answered <= 20
        assert answered + cancelled == 500
        assert here.queue.waiting() == ()


@pytest.mark.shows("W9b")
async def test_what_needs_a_passkey_is_not_passed_on_to_somebody_who_asks_for_none() -> None:
    gate = OpenGate(PolicyRuling("allow", passkey="a guard asks"))
    consent = Consent(Queue(), origin=NOTES, person=ADA, gate=gate)
    question = FormQuestion("Go on?", Form.by_hand(Flag("confirm")))
    (why,) = await consent.pass_on(question, Revision.JULY_2026)
    assert "passkey" in why
    assert (
        await Consent(Queue(), origin=NOTES, person=ADA, gate=OpenGate()).pass_on(
            question, Revision.JULY_2026
        )
        == ()
    )


NAME = form_question(form=Form.by_hand(Text("name", min_length=2)))


@pytest.mark.parametrize(
    ("content", "by", "reason"),
    [
        ({"name": "x"}, "agent", "the answer did not fit the form"),
        ({"name": "sk-ant-api03-" + "Ab3" * 31 + "AA"}, "policy", "the answer held a secret"),
    ],
)
def test_an_answer_that_may_not_leave_becomes_a_cancel_that_says_why(
    content: dict[str, Any], by: Any, reason: str
) -> None:
    left = checked(NAME, Decision(Accepted(content), desk="web"))
    assert left == Decision(Cancelled(), by=by, desk="web", reason=reason, refusal="answer")
    assert dump_as_answer(left) == {"action": "cancel", "_meta": {"handraise/refused": "answer"}}


@pytest.mark.parametrize(
    ("decision", "sent"),
    [
        (Decision(Accepted({"name": "Ada"})), {"action": "accept", "content": {"name": "Ada"}}),
        (Decision(Declined()), {"action": "decline"}),
        (Decision(Cancelled()), {"action": "cancel"}),
    ],
)
def test_what_may_leave_is_sent_as_it_was_decided(decision: Decision, sent: dict[str, Any]) -> None:
    assert checked(NAME, decision) is decision
    assert dump_as_answer(decision) == sent


@pytest.mark.shows("O8")
def test_a_no_is_noted_as_a_no_and_sent_as_an_accept_with_false() -> None:
    asked = form_question("Delete 47 files?", Form.by_hand(Flag("answer")))
    said = checked(asked, Decision(Accepted({"answer": False})))
    assert said.said_no
    assert dump_as_answer(said) == {"action": "accept", "content": {"answer": False}}
    assert not checked(asked, Decision(Accepted({"answer": True}))).said_no
    assert not checked(asked, Decision(Declined())).said_no


def test_a_link_is_agreed_to_without_content() -> None:
    agreed = Decision(Accepted(None))
    assert checked(link_question(), agreed) is agreed
    assert dump_as_answer(agreed) == {"action": "accept"}
