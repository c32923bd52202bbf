"""Texts for the model about calls that wait for their person, and the tool that resumes them."""

from __future__ import annotations

from typing import Any, Final

from handraise.errors import WireError
from handraise.forms import SIZE_RULES
from handraise.gateway.call import RelayedCall
from handraise.gateway.messages import SERVER_FAULT, Message, error_response, response
from handraise.wire import REFUSALS

RESUME: Final = "handraise_resume"

_RESUME_TOOL: Final[dict[str, Any]] = {
    "name": RESUME,
    "title": "Resume a call that waits for the user",
    "description": (
        "Get the result of an earlier tool call that waits for the user to answer a question at their Handraise desk. "
        "Call it with the ticket from that call's result after the user said that they answered. It cannot answer "
        "the question."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"ticket": {"type": "string", "description": "The ticket from the earlier result."}},
        "required": ["ticket"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}

WAITING: Final = (
    "This call waits for the user. The server {server!r} asks something that only the user may answer, at their "
    "Handraise desk; {where}. Nothing is decided yet. Tell the user that a question waits. When "
    "they say that they answered, call the tool `handraise_resume` with the ticket {ticket!r} to get the result, or "
    "make the very same call again if you do not have that tool. Do not answer for them."
)
IN_BROWSER: Final = (
    "This call waits for the user. They opened a page that the server {server!r} needs, and finish it in their "
    "browser. When they say that they finished, call the tool `handraise_resume` with the ticket {ticket!r} to get "
    "the result, or make the very same call again if you do not have that tool."
)
AT_WORK: Final = (
    "This call waits for the server {server!r}, which is still at work. No question waits for the user now. Call the "
    "tool `handraise_resume` with the ticket {ticket!r} in a moment to get the result, or make the very same call "
    "again if you do not have that tool."
)
INBOX: Final = "Answer in your Handraise inbox: {inbox}"
BROWSER: Final = "Finish the page in your browser."
"""Progress messages of a held call: while a question waits, and while a page is open."""
NO_TICKET: Final = (
    "There is no call with this ticket: it ended long ago, belongs to somebody else, or never existed. Nothing was "
    "done. If the user still wants it, make the original call again."
)
AMBIGUOUS: Final = (
    "The server {server!r} ended while the user was being asked. Whether it had done anything before is not known; "
    "the call was not made again. Check with the user before you repeat it."
)
VOID: Final = (
    "An earlier question about the same call is void: the server {server!r} that asked it has ended. Whether that call "
    "had done anything before is not known. This is a new call."
)
FORGOTTEN: Final = (
    "The user answered, but the server {server!r} no longer knows this call; it may have restarted meanwhile. The "
    "answer had no effect; the desk tells the user so, too. Whether the server had done anything before it asked is "
    "not known. Check with the user before you make the call again."
)
REFUSED: Final = (
    "The server {server!r} asks the user for something first, and the user's Handraise rules refused that: {why}. "
    "Nothing was shown to the user. Tell them if it matters."
)
ANSWER_KEPT: Final = (
    "An answer holds what looks like a secret. It was not sent to the server: no form may ask for one."
)
ANSWER_TOO_LONG: Final = "The answers are longer than 256 KiB. They were not sent to the server."
UNASKED: Final = (
    "This answers a question that this client did not get through this gateway. It was not sent to the server. Read "
    "the task again."
)
CANNOT_ASK: Final = (
    "A question of the server could not be shown to the user, because their Handraise is not set up correctly; the "
    "reason is in its log. The user decided nothing. Tell them so."
)
NOT_OPENED: Final = "The user did not open what is needed first. Nothing was done."
LOST: Final = "The server {server!r} ended before it answered. The call was not made again."


def with_resume_tool(message: Message) -> Message:
    """The list of tools for a client whose calls may be parked.

    It has no output schemas, because a result that says "this waits" would not fit them.
    """
    result = message.result or {}
    tools = result.get("tools")
    if not isinstance(tools, list):
        return message
    kept = [
        {name: value for name, value in tool.items() if name != "outputSchema"}
        for tool in tools
        if isinstance(tool, dict) and tool.get("name") != RESUME
    ]
    ours = [] if result.get("nextCursor") else [_RESUME_TOOL]
    return message.with_(result={**result, "tools": [*kept, *ours]})


def not_shown(error: WireError) -> str:
    """A note for the model about a question that was too large, or broke a rule of its revision."""
    why = REFUSALS["size"] if error.rule in SIZE_RULES else f"{error.public} Rule: {error.rule}."
    return f"A question of the server was not shown to the user. {why} The user decided nothing."


def is_forgotten(call: RelayedCall, message: Message) -> bool:
    """Whether a server refuses the state of a round that we answered, because it forgot the call."""
    if "requestState" in call.message.params:
        return False
    return message.error.get("code") == -32602 and "requestState" in str(message.error.get("message"))


def in_era_of(call: RelayedCall, message: Message) -> Message:
    """The outcome of a call for a client of either era."""
    if message.result is None:
        return message
    plain = {name: value for name, value in message.result.items() if name != "resultType"}
    return message.with_(result={**_result_type(call), **plain})


def _result_type(call: RelayedCall) -> dict[str, str]:
    """The `resultType` member of our own results, if the client's revision has it."""
    return {"resultType": "complete"} if call.peer is not None and call.peer.modern else {}


def text_result(call: RelayedCall, text: str, *, failed: bool = False, **more: Any) -> Message:
    """A result that contains one text, or an error if the call is not a tool call. `more`: other members."""
    if call.message.method != "tools/call":
        return error_response(call.message.id, SERVER_FAULT, text)
    content = [{"type": "text", "text": text}]
    return response(call.message.id, {**_result_type(call), "content": content, "isError": failed, **more})
