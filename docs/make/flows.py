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
    """What is run, under the heading that it gets; one without a heading is the whole flow."""
    notes: Mapping[Revision, str]
    """What to look at, on each revision."""
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
            JUNE: "The client declares `elicitation` once, when it connects. The server asks with a request of its "
            "own while the call is under way. There is no `mode`: every question is a form.",
            NOVEMBER: "The same, with modes: the client names those it has, and the question names its own.",
            JULY: "No request ever goes from the server to the client. The client says with each request what it "
            "can be asked. The question is the result of the call, and the client calls again with the answer and "
            "the `requestState` that it got.",
        },
        handshake=True,
    ),
    Flow(
        "two-questions",
        "Two questions",
        "order",
        "A tool asks twice, and something happens between the questions. It happens once on every revision.",
        {
            "": call(
                "order",
                accept(answer="green"),
                accept(confirm=True),
                says="Bought, with reservation 1 of green tea.",
            )
        },
        {
            JUNE: "Two requests of the server's, one after the other, inside one call.",
            NOVEMBER: "Two requests of the server's, one after the other, inside one call.",
            JULY: "Three calls. Each round has a `requestState` of its own, and each is used once. The body of the "
            "tool waits in between: nothing in it runs again.",
        },
    ),
    Flow(
        "decline-and-cancel",
        "Decline and cancel",
        "greet",
        "The person says no, or dismisses the question without deciding. Both are answers. `or_stop()` ends the call "
        "with a sentence for the model and, in `_meta`, a word for programs.",
        {
            "Decline": call("greet", DECLINE, says="The person declined. Nothing was done."),
            "Cancel": call(
                "greet", CANCEL, says="The person dismissed the question. Nothing was done; ask again later."
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
        "The client did not declare `elicitation`, so nothing is sent to it. The tool gets `NotSupported`; when it "
        "does not catch that, the call ends like this. The [gateway](gateway.md) has the person asked all the same.",
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
        "The person is sent to the browser. `accept` is consent to open the link, and says nothing about what "
        "happened there; the tool goes on when the shop's own web server calls `complete`.",
        {"": pay},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The question has an `elicitationId`. When the person is done, the client that was asked gets "
            "`notifications/elicitation/complete`, then the result.",
            JULY: "No id and no notice. The retry is answered when the person is done.",
        },
    ),
    Flow(
        "link-first",
        "A link first",
        "receipts",
        "A tool cannot start before something was done in the browser: `ask.require`.",
        {"": require_permission},
        {
            JUNE: "This revision has no links: `NotSupported`.",
            NOVEMBER: "The call ends with error -32042, which lists the links. When the completion notice came, or "
            "the person says that they are done, the client calls again.",
            JULY: "-32042 is gone: an input-required round like any other.",
        },
    ),
    Flow(
        "roots",
        "Roots",
        "folders",
        "Not a question to a person: which folders may the server use? The client answers by itself, as its user "
        "configured it.",
        {"": tell_roots},
        {
            JUNE: "`roots/list`, a request of the server's.",
            NOVEMBER: "`roots/list`, a request of the server's.",
            JULY: "`roots/list` inside the round. Deprecated on this revision, and still there.",
        },
    ),
    Flow(
        "gateway",
        "Through the gateway",
        "greet",
        "The client cannot be asked, and the [gateway](../gateway.md) stands in between. This is the client's side "
        "of it: the call is held (45 seconds; here next to none), then parked. Meanwhile the person answers at the "
        "desk, which no message here shows. The model resumes with a ticket, which does not suffice to answer. "
        "`my notes` is what the user calls the server.",
        {"": park_and_resume},
        {
            JUNE: "Two ordinary tool calls.",
            NOVEMBER: "Two ordinary tool calls.",
            JULY: "Two ordinary tool calls.",
        },
    ),
)
"""Every flow, in reading order."""
