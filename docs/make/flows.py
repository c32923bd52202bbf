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
        "See how one question with one field travels, and its answer.",
        {"": call("greet", accept(answer="Ada"), says="Hello Ada")},
        {
            JUNE: "The client declares `elicitation` once, when it connects. The server sends a request while the call "
            "runs. There is no `mode`: every question is a form.",
            NOVEMBER: "The same, but the client declares its modes (form, URL), and the question names one.",
            JULY: "The server sends no requests. The client says in each request what it can be asked. The question is "
            "the result of the call. The client calls again with the answer and the `requestState` that it got.",
        },
        handshake=True,
    ),
    Flow(
        "two-questions",
        "Two questions",
        "order",
        "See how a tool asks twice and does something in between. It does that once, on every revision.",
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
        "See what happens when the person says no, or closes the question. Both are answers. `or_stop()` ends the call "
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
        "See how a call ends when the client did not declare `elicitation`. No question is sent, and the tool gets "
        "`NotSupported`, which this tool does not catch. With the [gateway](gateway.md), the person is asked anyway.",
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
        "See how a link travels, and how the client learns that the person is done. `accept` means that they agreed to "
        "open the link, not that they are done. The tool goes on when the shop's own web server calls `complete`.",
        {"": pay},
        {
            JUNE: "This revision has no links, so the tool gets `NotSupported`.",
            NOVEMBER: "The question has an `elicitationId`. When the person is done, the client that was asked gets "
            "`notifications/elicitation/complete`, then the result.",
            JULY: "There is no notice. The server answers the retry when the person is done.",
        },
    ),
    Flow(
        "link-first",
        "A link first",
        "receipts",
        "See how a tool gets something from the browser before it starts, with `ask.require`.",
        {"": require_permission},
        {
            JUNE: "This revision has no links, so the tool gets `NotSupported`.",
            NOVEMBER: "The call ends with error -32042, which lists the links. The client calls again after the "
            "completion notice, or when the person says that they are done.",
            JULY: "There is no -32042. The links come in an input-required round like any other.",
        },
    ),
    Flow(
        "roots",
        "Roots",
        "folders",
        "See how a server learns which folders it may use. The client answers from its configuration and asks nobody.",
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
        "See how the [gateway](../gateway.md) asks when the client cannot. You see the client's side of it. "
        "The call is held (usually 45 seconds, here almost none), then parked. The person answers at the desk; these "
        "messages do not show that. The model gets the result with a ticket. A ticket is not enough to answer. "
        "`my notes` is the user's name for the server.",
        {"": park_and_resume},
        {
            JUNE: "Two ordinary tool calls.",
            NOVEMBER: "Two ordinary tool calls.",
            JULY: "Two ordinary tool calls.",
        },
    ),
)
"""Every flow, in reading order."""
