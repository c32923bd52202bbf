"""Read messages from bytes, once and under limits.

Nothing passes that two programs could read in two ways, or that asks what nobody could judge.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from handraise.forms.rules import FORM, ITEMS, OPTION, TEXT, drop_unread
from handraise.gateway.json_text import LONGEST, JsonError, parse_json
from handraise.gateway.messages import (
    CANCELLED,
    ELICIT,
    INVALID_REQUEST,
    LONGEST_NAME,
    MOST_ASKED,
    NAMED,
    PARSE_ERROR,
    SERVER_FAULT,
    SUBSCRIPTION_KEY,
    Id,
    Message,
    error_response,
    is_id,
    links_in,
    object_in,
    objects_in,
)

_LARGE: Final = 256 * 1024
"""Bytes from which parsing a message takes noticeable time."""


class Unreadable(Exception):
    """A message that cannot be parsed. It is refused and never passed on. `id` is its id, if it could be read."""

    def __init__(self, why: str, code: int, id: Id | None, *, is_request: bool, is_response: bool) -> None:
        super().__init__(why)
        self.id = id
        self.is_request = is_request
        self.is_response = is_response
        self._code = code

    def refusal(self) -> Message:
        """The error for the sender. For a response it has no id: the sender may have a request with the same id."""
        id = None if self.is_response else self.id
        return error_response(id, self._code, f"This message was not passed on: {self}.")

    def replacement(self) -> Message:
        """The error that the receiver gets instead of an unreadable response."""
        return error_response(
            self.id, SERVER_FAULT, f"The answer could not be read and was not passed on: {self}."
        )


def parse_message(raw: bytes) -> Message:
    """Parse one message. `Unreadable` for anything that two programs could read in two ways."""
    try:
        body = parse_json(raw)
    except JsonError as error:
        if error.value is None:
            raise unparsable(str(error), raw) from None
        raise _refused(str(error), error.value) from None
    if not isinstance(body, dict):
        batch = "it is a batch, which no revision that asks has; send each message by itself"
        raise _refused(batch if isinstance(body, list) else "it is not an object", body)
    message = Message(body)
    if message.method == "initialize" and len(raw) > _LARGE:  # it is remembered, and repeated to some servers
        raise _refused(f"it greets with more than {_LARGE // 1024} KiB", body)
    for problem in (_problem, _problem_of_shape, _asks_too_much, _misspelled):
        if (why := problem(message)) is not None:
            raise _refused(why, body)
    _drop_unjudged(message)
    return message


async def parse_off_loop(raw: bytes) -> Message:
    """Like `parse_message`; a large message is parsed in a thread."""
    return await asyncio.to_thread(parse_message, raw) if len(raw) > _LARGE else parse_message(raw)


_ID: Final = rb'(-?\d{1,15}|"[\w.:-]{1,64}")'
_BEGINNING: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*%b\s*,\s*)?"(result|error|method)"\s*:' % _ID
)
_END: Final = re.compile(rb'"id"\s*:\s*%b\s*\}\s*\Z' % _ID)


def unparsable(why: str, raw: bytes) -> Unreadable:
    """The error for bytes that are too long or not JSON. It looks for the id where SDKs write one."""
    found = _BEGINNING.match(raw)
    if found is None:
        return Unreadable(why, PARSE_ERROR, None, is_request=False, is_response=False)
    at_end = _END.search(raw[-200:])
    id = found[1] or (None if at_end is None else at_end[1])
    asks = found[2] == b"method"
    return Unreadable(
        why, PARSE_ERROR, None if id is None else json.loads(id), is_request=asks, is_response=not asks
    )


def too_long(start: bytes) -> Unreadable:
    """The error for a message over the size limit, from its first bytes."""
    return unparsable(f"it is longer than {LONGEST // 2**20} MiB", start)


def _refused(why: str, body: Any) -> Unreadable:
    members = body if isinstance(body, dict) else {}
    id, has_method = members.get("id"), members.get("method") is not None
    known_id = id if is_id(id) else None
    answers = not has_method and ("result" in members or "error" in members)
    return Unreadable(
        why,
        INVALID_REQUEST,
        known_id,
        is_request=has_method and known_id is not None,
        is_response=answers and known_id is not None,
    )


_REQUESTS: Final = (
    *("initialize", "ping", "server", "tools", "prompts", "resources", "completion", "logging"),
    *("sampling", "roots", "elicitation", "tasks", "subscriptions"),
)
"""First parts of the protocol's request methods. Some servers run such a method even if it comes without an id."""


def _problem(message: Message) -> str | None:
    """Why an object is not a JSON-RPC message; None when it is one. A null member counts as absent."""
    body = message.body
    method, error = body.get("method"), body.get("error")
    if body.get("jsonrpc") != "2.0":
        return "its member jsonrpc is not 2.0"
    answers = [name for name in ("result", "error") if body.get(name) is not None]
    if method is not None:
        return "it is a request and a response at once" if answers else _problem_of_request(body, method)
    if "result" not in body and "error" not in body:
        return "it is neither a request nor a response"
    if len(answers) == 2:
        return "it has a result and an error"
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("code"), int | float)):
        return "its error has no code"
    if not is_id(body.get("id")) and not (error is not None and body.get("id") is None):
        return "its id is neither a string nor an integer"
    return None


def _problem_of_request(body: dict[str, Any], method: object) -> str | None:
    params = body.get("params")
    if not isinstance(method, str):
        return "its method is not a string"
    if params is not None and not isinstance(params, dict):
        return "its params are not an object"
    if (why := _problem_of_call(method, params or {})) is not None:
        return why
    if "id" not in body:
        first = method.partition("/")[0]
        return f"a request of the method {_shown(method)} needs an id" if first in _REQUESTS else None
    if not is_id(body["id"]):
        return "its id is neither a string nor an integer"
    return "it is a notification, which has no id" if method.startswith("notifications/") else None


def _problem_of_call(method: str, params: Mapping[str, Any]) -> str | None:
    """Why a guard could not judge a call: a server may read `["pay"]` as the name `pay`."""
    if method in NAMED and not isinstance(params.get(NAMED[method]), str):
        return f"its {NAMED[method]} is not a string"
    if method in NAMED and not isinstance(params.get("arguments"), dict | None):
        return "its arguments are not an object"
    if method == CANCELLED and not (params.get("requestId") is None or is_id(params["requestId"])):
        return "its requestId is neither a string nor an integer"
    return None


def _problem_of_shape(message: Message) -> str | None:
    """Why members that carry questions have a wrong type; None when they are fine."""
    for part in message.inside.parts:
        meta = part.get("_meta")
        if not isinstance(meta, dict | None):
            return "its _meta is not an object"
        for name in ("progressToken", SUBSCRIPTION_KEY):
            if not isinstance(token := (meta or {}).get(name), int | float | str | None):
                return f"its {name} is neither a string nor a number"
            if _is_too_long(token):
                return f"its {name} is longer than {LONGEST_NAME} characters"
        if _is_too_long(part.get("taskId")):
            return f"its taskId is longer than {LONGEST_NAME} characters"
        if not isinstance(part.get("requestState"), str | None):
            return "its requestState is not a string"
        wanted = part.get("inputRequests")
        if wanted is not None and not (
            isinstance(wanted, dict) and all(map(_is_input_request, wanted.values()))
        ):
            return "its inputRequests are not an object of requests"
    if any(_is_too_long(question.get("elicitationId")) for question in _questions(message)):
        return f"an elicitationId is longer than {LONGEST_NAME} characters"
    return None


def _is_too_long(name: object) -> bool:
    """Whether a name is too long to be remembered after its message is gone."""
    return isinstance(name, str) and len(name) > LONGEST_NAME


def _asks_too_much(message: Message) -> str | None:
    """Why a message asks too much at once: judging 100,000 questions would hold up everybody for minutes."""
    lists = (object_in(error, "data").get("elicitations") for error in message.inside.errors)
    links = sum(len(each) for each in lists if isinstance(each, list))
    if links + len(message.inside.asked) > MOST_ASKED:
        return f"it asks more than {MOST_ASKED} questions at once"
    return None


def _is_input_request(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("method"), str)


def _names(text: str) -> Mapping[str, str]:
    return {name.casefold(): name for name in text.split()}


_LONGEST_NAME: Final = 60
_ENVELOPE: Final = _names("jsonrpc id method params result error")
_CALL: Final = _names("_meta name uri arguments task taskId inputResponses requestState")
_QUESTION: Final = _names("_meta mode message url elicitationId requestedSchema task")
_ROUND: Final = _names("resultType inputRequests requestState")
_NOTICE: Final = _names("inputRequests")
_INPUT: Final = _names("method params")
_ANSWER: Final = _names("action content")
_ERROR: Final = _names("code message data")
_LINKS: Final = _names("elicitations")
_METHODS: Final = _names(
    " ".join([*NAMED, ELICIT, CANCELLED, "initialize tasks/get tasks/result tasks/update"])
)
_LISTED: Final = ("oneOf", "anyOf")
_PART: Final = _names(
    "type properties required title description default enum enumNames oneOf anyOf items const format"
)


def _misspelled(message: Message) -> str | None:
    """Why a message has two readings; None when it has one.

    The attack: some programs ignore the case of member names, and the last one counts. Only members and methods that
    decide about calls and questions are checked.
    """
    for members, names in _decisive(message):
        for member in members:
            spelled = names.get(member.casefold())
            if spelled is not None and member != spelled:
                return f"it has a member {_shown(member)}, which some programs read as {spelled!r}"
    for method in (message.method or "", *(asked["method"] for asked in message.inside.asked)):
        read = _METHODS.get(unicodedata.normalize("NFKC", method).strip().casefold(), method)
        if method != read:
            return f"it has the method {_shown(method)}, which some programs read as {read!r}"
    return None


def _shown(name: str) -> str:
    """A name for an error and the log. The attack: a name with terminal escapes, or of 16 MiB."""
    return ascii(name[:_LONGEST_NAME])


def _decisive(message: Message) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """The objects that decide about calls and questions, each with the members that are read of it."""
    inside, method, params = message.inside, message.method, message.params
    yield message.body, _ENVELOPE
    if method in NAMED or (method is not None and method.startswith("tasks/")):
        yield params, _CALL
    elif method != ELICIT:
        yield params, _NOTICE
    for answer in object_in(params, "inputResponses").values():
        if isinstance(answer, dict):
            yield answer, _ANSWER
    for part in inside.parts:
        if part is not params:
            yield part, _ROUND
    for asked in inside.asked:
        yield asked, _INPUT
    for error in inside.errors:
        yield error, _ERROR
        yield object_in(error, "data"), _LINKS
    for question in _questions(message):
        yield question, _QUESTION
        for part, _ in _parts_of_form(question):
            yield part, _PART


def _questions(message: Message) -> Iterator[dict[str, Any]]:
    """The params of every question in a message: of a request, a round, a task, a notice or a -32042."""
    if message.method == ELICIT:
        yield message.params
    for asked in message.inside.questions:
        yield object_in(asked, "params")
    for error in message.inside.errors:
        yield from links_in(error)


def _drop_unjudged(message: Message) -> None:
    """Remove the members of questions that nobody judges.

    The attack: a `title` or a `placeholder` that asks for a password. The client shows it; nobody judged it.
    """
    for asked in message.inside.questions:
        _keep_only(asked, _INPUT)
    for params in _questions(message):
        _keep_only(params, _QUESTION)
        for part, known in _parts_of_form(params):
            drop_unread(part, known)


def _keep_only(members: dict[str, Any], names: Mapping[str, str]) -> None:
    for member in [each for each in members if each.casefold() not in names]:
        del members[member]


def _parts_of_form(params: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Mapping[str, type]]]:
    """The schema of a question, its fields and their options, each with the members that are read of it."""
    schema = object_in(params, "requestedSchema")
    yield schema, FORM
    for field in object_in(schema, "properties").values():
        if isinstance(field, dict):
            items = object_in(field, "items")
            yield field, TEXT
            yield items, ITEMS
            for part in (field, items):
                yield from ((option, OPTION) for name in _LISTED for option in objects_in(part, name))
