"""The error reference: every class of `errors.py` with its sentence, the remedy, and its form on the wire."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from docs.make.markdown import NOTICE, code, table

from handraise import errors
from handraise.errors import CATEGORY, HandraiseError
from handraise.revisions import Revision
from handraise.server.served import fault_of

NEXT: Final = {
    "HandraiseError": "Catch this class to catch every error of Handraise.",
    "DefinitionError": "Correct the question in your code. The log names the place.",
    "FormError": "Correct the field that it names. The protocol carries only flat fields of plain types.",
    "SecretInForm": "Ask with `ask.secret` on a page; see [pages](../pages.md).",
    "UnsafeUrl": "Send an https link without credentials, personal data or a pre-signed key; see `.reasons`.",
    "WireError": "Report it to the authors of the other side; `.rule` names the broken rule.",
    "NoAnswer": "Catch it and decide what to do without an answer, or let the model read the sentence.",
    "NotSupported": "Give `fallback=`, catch it, or put the [gateway](../gateway.md) in front of the client.",
    "Expired": "Give the question a longer `timeout=`, or use a store, which keeps questions for days.",
    "Withdrawn": "Nothing. The client left, or the server stops.",
    "Failed": "Look at `.error_code` and the client's log; [the trace](../trace.md) shows what it sent.",
    "CallError": "Call the tool again from the start.",
    "StateRefused": "Call the tool again from the start. Only the log has the reason.",
    "NotReplayable": "Call again. To survive a restart, declare the tool `@replayable` and use a store.",
    "Ambiguous": "Check whether it was done before you call again. A `@replayable` tool goes on by itself.",
    "TooManyQuestions": "Ask fewer questions, put several into one `ask.all`, or raise `max_questions`.",
    "NoRoom": "Try later, or raise `max_parked`.",
    "UnusableAnswer": "Ask in simpler words, or relax the form. `max_reasks` limits how often it is asked again.",
    "CompletionRefused": "Only the person who was asked can finish it, once, and before it expires.",
    "AccountError": "Try later; the log says what the service answered.",
    "Stopped": "Nothing. This is how a tool ends when the person says no.",
    "Stale": "Look at the thing again, then ask again.",
    "GuardRefused": "Do what the message says. A guard asks nobody about a call that it refuses.",
    "PasskeyRefused": "Use the passkey again; see [passkeys](../passkeys.md).",
    "OutsideBoundary": "Use a path inside the boundary, or have the person add the folder to their roots.",
    "UsageError": "Do what the message says. Asking works in tools, prompts and resources of a server with Handraise.",
    "SetupError": "Install or configure what the message names.",
    "StoreError": "Make sure that the store's file or database can be written. Nothing was asked.",
    "AnswerNotKept": "Make sure that the store can be written. The question still waits; then the same retry works.",
    "StepNotKept": "Make sure that the store can be written. Check whether the step has to be undone.",
    "LedgerError": "Make sure that the ledger can be written. If the message names a record, look at it.",
}
"""The remedy for each error."""

SAMPLE: Final[dict[str, Any]] = {
    "message": "…",
    "mode": "form",
    "rule": "the rule",
    "field": "name",
    "kind": "password",
    "action": "decline",
    "category": "guard_refused",
    "path": "notes.md",
    "why": "…",
    "boundary": (),
}
"""Arguments for creating one error of each class."""


_DRAWN: Final = re.compile(r"^ {4}([│├└─ ]*)(\w+)(?: +(.+))?$", re.MULTILINE)
"""A line of the tree: its branches, the class, and what that is about."""

INTRODUCTION: Final = """\
Look up an error: its cause, the next step, and the sentence that the other side reads. All errors are in one tree, in
`handraise.errors`. Each class has a stable `code` and one public sentence. The other side reads only that sentence.
`error.reason` is for your log, and may say more.
"""

ENDING: Final = f"""\
## How a call ends

| the error leaves | the call ends with |
|---|---|
| a tool | a tool result: `isError` is true, the text is the public sentence, `_meta["{CATEGORY}"]` is the code |
| a prompt or a resource | the JSON-RPC error that is named below |
| a tool, if it is `NotSupported` on 2026-07-28 | the JSON-RPC error too: [messages](../wire/cannot-be-asked.md) |

This is so for the errors of questions, `once` and `Boundary`. Another one, such as a `FormError` of `Form.of(…)`,
ends a tool like an error of your own code.

Two classes have another word in place of the code. For `Stopped` it is `user_declined` or `user_cancelled`. For
`GuardRefused` it is the reason.
"""


def errors_page() -> str:
    """The page."""
    opening = ["# Errors\n", NOTICE, INTRODUCTION, *outline(), "", ENDING]
    return "\n".join([*opening, *map(_section, error_classes())])


def outline() -> Iterator[str]:
    """The tree that `errors.py` draws, as a list: it fits a screen of any width, and leads to what it names."""
    _, tree, *_ = (errors.__doc__ or "").split("\n\n")
    for branch, name, meaning in _DRAWN.findall(tree):
        link = f"[{code(name)}](#{vars(errors)[name].code})"
        yield "    " * (len(branch) // 4) + (f"- {link}: {meaning}" if meaning else f"- {link}")


def error_classes(root: type[HandraiseError] = HandraiseError) -> Iterator[type[HandraiseError]]:
    """The tree, parents before children, in the order in which it is written."""
    yield root
    for kind in root.__subclasses__():
        # A server makes mixtures of its own with the framework's errors.
        if vars(errors).get(kind.__name__) is kind:
            yield from error_classes(kind)


def _section(kind: type[HandraiseError]) -> str:
    error = kind(**_needed(kind))
    legacy, modern = (fault_of(error, revision) for revision in (Revision.NOVEMBER_2025, Revision.JULY_2026))
    rows = [
        ("code", code(kind.code)),
        ("the other side reads", "the whole message" if kind.tells_all else kind.public),
        ("what to do", NEXT[kind.__name__]),
        (
            "JSON-RPC",
            _wire(legacy) if legacy == modern else f"{_wire(modern)} on 2026-07-28; {_wire(legacy)} before",
        ),
    ]
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    return f"## {kind.__name__} {{ #{kind.code} }}\n\n{summary}\n\n" + table(("", ""), rows)


def _needed(kind: type[HandraiseError]) -> dict[str, Any]:
    [_, *parameters] = inspect.signature(kind.__init__).parameters.values()
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        each.name: SAMPLE[each.name]
        for each in parameters
        if each.default is each.empty and each.kind not in open_ended
    }


def _wire(described: dict[str, Any]) -> str:
    data = described.get("data") or {}
    word = data.get("reason") or ("`data.rule` names the rule" if "rule" in data else "")
    return code(str(described["code"])) + (f", {code(word) if 'data' not in word else word}" if word else "")
