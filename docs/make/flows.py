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
        "See how a question with one field travels, and how its answer comes back.",
        {"": call("greet", accept(answer="Ada"), says="Hello Ada")},
        {
            JUNE: "The client declares `elicitation` once, when it connects. The server sends a request while the call "
            "runs. There is no `mode`: every question is a form.",
            NOVEMBER: "The same as before, with two differences: the client declares its modes (form, URL), and the "
            "question names its mode.",
            JULY: "The server sends no requests. The client says in each request what it can be asked. The question is "
            "the result of the call. The client calls again with the answer and the `requestState` that it got.",
        },
        handshake=True,
    ),
    Flow(
        "two-questions",
        "Two questions",
        "order",
        "See how a tool asks twice, and makes a reservation in between. On every revision it makes only one.",
        {
            "": call(
                "order",
                accept(answer="green"),
                accept(answer=True),
                says="Bought, with reservation 1 of green tea.",
            )
        },
        {
            JUNE: "The server sends two requests, one after the other, inside one call.",
            NOVEMBER: "The server sends two requests, one after the other, inside one call.",
            JULY: "The client calls three times. Each round has its own `requestState`, which works once. The tool "
            "waits in between, and nothing in it runs again.",
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
        "See how a call ends when the client did not declare `elicitation`. The server sends no question, and `ask` "
        "raises `NotSupported`. This tool does not catch it. With the [gateway](gateway.md), a desk asks the person.",
        {"": call_unasked},
        {
            JUNE: "The tool result says what is missing, so that the model can tell the person.",
            NOVEMBER: "The tool result says what is missing, so that the model can tell the person.",
            JULY: "The call ends with error -32021. Its data names the capabilities that the request needs.",
        },
    ),
    Flow(
        "link",
        "A link",
        "checkout",
        "See how a link travels, and how the client learns that the person is done. `accept` means only that the "
        "person agreed to open the link. The tool goes on when the shop's own web server calls `complete`.",
        {"": pay},
        {
            JUNE: "This revision has no links, so the tool gets `NotSupported`.",
            NOVEMBER: "The question has an `elicitationId`. When the person is done, the client that was asked gets "
            "`notifications/elicitation/complete`, and then the result.",
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
            JULY: "This revision has no error -32042. The links come in an input-required round, like other questions.",
        },
    ),
    Flow(
        "roots",
        "Roots",
        "folders",
        "See how a server learns which folders it may use. The client answers from its configuration and asks nobody.",
        {"": tell_roots},
        {
            JUNE: "The server sends the request `roots/list`.",
            NOVEMBER: "The server sends the request `roots/list`.",
            JULY: "`roots/list` comes inside the round. It is deprecated on this revision, but works.",
        },
    ),
    Flow(
        "gateway",
        "Through the gateway",
        "greet",
        "See how the [gateway](../gateway.md) asks when the client cannot. These are the messages between client and "
        "gateway. The gateway holds the call (usually for 45 seconds, here only for a moment) and then parks it. The "
        "person answers at the desk; no message here shows that. The model gets the result with a ticket. The ticket "
        "is not enough to answer. `my notes` is the user's name for the server.",
        {"": park_and_resume},
        {
            JUNE: "The client makes two ordinary tool calls.",
            NOVEMBER: "The client makes two ordinary tool calls.",
            JULY: "The client makes two ordinary tool calls.",
        },
    ),
)
"""Every flow, in reading order."""
