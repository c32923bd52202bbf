"""The flows whose messages the documentation shows, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docs.make.runs import Run, call, call_unasked, park_and_resume, pay, require_permission, tell_roots
from tests.server.peers import CANCEL, DECLINE, accept

from handraise.revisions import Revision

JUNE, NOVEMBER, JULY = Revision


@dataclass(frozen=True, slots=True)
class Flow:
    """One way in which somebody is asked."""

    name: str
    title: str
    tool: str
    words: str
    runs: Mapping[str, Run]
    """The run under each heading; a run without a heading is the whole flow."""
    notes: Mapping[Revision, str]
    """Points to notice, on each revision."""
    handshake: bool = False
    """Whether the handshake of 2025-06-18 and 2025-11-25 is shown too."""


FLOWS: Final = (
    Flow(
        "form",
        "A form",
        "greet",
        "One question with one field, and the person answers it.",
        {"": call("greet", accept(answer="Ada"), says="Hello Ada")},
        {
            JUNE: "The client declares `elicitation` once, when it connects. The server sends a request while the call "
            "runs. There is no `mode`: every question is a form.",
            NOVEMBER: "The same, with modes: the client declares its modes, and the question names one.",
            JULY: "The server sends no requests. The client says in each request what it can be asked. The question is "
            "the result of the call. The client calls again with the answer and the `requestState` that it got.",
        },
        handshake=True,
    ),
    Flow(
        "two-questions",
        "Two questions",
        "order",
        "A tool asks twice and does something in between. That happens once, on every revision.",
        {
            "": call(
                "order",
                accept(answer="green"),
                accept(answer=True),
                says="Bought, with reservation 1 of green tea.",
            )
        },
        {
            JUNE: "Two requests from the server, one after the other, inside one call.",
            NOVEMBER: "Two requests from the server, one after the other, inside one call.",
            JULY: "Three calls. Each round has its own `requestState`, which is used once. The tool waits in between; "
            "nothing in it runs again.",
        },
    ),
    Flow(
        "decline-and-cancel",
        "Decline and cancel",
        "greet",
        "The person says no, or closes the question without deciding. Both are answers. `or_stop()` ends the call "
        "with a sentence for the model, and with a word for programs in `_meta`.",
        {
            "Decline": call("greet", DECLINE, says="The person declined."),
            "Cancel": call(
                "greet", CANCEL, says="The person dismissed the question without an answer. Ask again later."
            ),
        },
        {
            JUNE: "The client's answer has an `action` and no `content`.",
            NOVEMBER: "The client's answer has an `action` and no `content`.",
            JULY: "The action travels in `inputResponses`, and the call ends in its second round.",
        },
    ),
    Flow(
        "cannot-be-asked",
        "A client that cannot be asked",
        "greet",
        "The client did not declare `elicitation`, so no question is sent. The tool gets `NotSupported`. If it does "
        "not catch that, the call ends like this. With the [gateway](gateway.md), the person is asked anyway.",
        {"": call_unasked},
        {
            JUNE: "A tool result that says what is missing, for the model to tell the person.",
            NOVEMBER: "A tool result that says what is missing, for the model to tell the person.",
            JULY: "Error -32021 with the capabilities that the request needs.",
        },
    ),
    Flow(
        "link",
        "A link",
        "checkout",
        "The person goes to the browser. `accept` means that they agreed to open the link, not that they are done. The "
        "tool goes on when the shop's own web server calls `complete`.",
        {"": pay},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The question has an `elicitationId`. When the person is done, the client that was asked gets "
            "`notifications/elicitation/complete`, then the result.",
            JULY: "No notice. The retry is answered when the person is done.",
        },
    ),
    Flow(
        "link-first",
        "A link first",
        "receipts",
        "A tool needs something from the browser before it starts: `ask.require`.",
        {"": require_permission},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The call ends with error -32042, which lists the links. The client calls again after the "
            "completion notice, or when the person says that they are done.",
            JULY: "There is no -32042. It is an input-required round like any other.",
        },
    ),
    Flow(
        "roots",
        "Roots",
        "folders",
        "Which folders may the server use? The client answers from its configuration, without asking the person.",
        {"": tell_roots},
        {
            JUNE: "`roots/list`, a request from the server.",
            NOVEMBER: "`roots/list`, a request from the server.",
            JULY: "`roots/list` inside the round. It is deprecated on this revision, but works.",
        },
    ),
    Flow(
        "gateway",
        "Through the gateway",
        "greet",
        "The client cannot ask, and the [gateway](../gateway.md) stands in between. You see the client's side: the "
        "call is held (45 seconds; here almost none), then parked. The person answers at the desk, which these "
        "messages do not show. The model resumes with a ticket. A ticket is not enough to answer. `my notes` is "
        "the user's name for the server.",
        {"": park_and_resume},
        {
            JUNE: "Two ordinary tool calls.",
            NOVEMBER: "Two ordinary tool calls.",
            JULY: "Two ordinary tool calls.",
        },
    ),
)
"""Every flow, in reading order."""
