"""JSON-RPC messages: parsed from bytes once under limits, and written anew."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from handraise.forms import DEFAULT_LIMITS
from handraise.forms.rules import FORM, ITEMS, OPTION, TEXT, drop_unread
from handraise.gateway.json_text import LONGEST, JsonError, dump_json, parse_json

ELICIT: Final = "elicitation/create"
COMPLETE: Final = "notifications/elicitation/complete"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"

NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods during which a server may ask, and the member of their params that names the target."""

Id: TypeAlias = int | str

URL_REQUIRED: Final = -32042
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
SERVER_FAULT: Final = -32000
ACCOUNT_NEEDED: Final = -32090
"""Our error code for: the server wants the person to connect an account."""

MOST_ASKED: Final = DEFAULT_LIMITS.answers
"""Questions and other input requests in one message."""
_LARGE: Final = 256 * 1024
"""Bytes from which parsing a message takes noticeable time."""


_NESTED: Final = frozenset({"params", "result", "task", "tasks"})
"""Members in which a message has a result or a task. A task that failed has an error, a finished one a result."""


def _object(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def _objects(members: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = members.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


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


class Inside:
    """The parts of a message in which questions hide, however it spells the members that lead to them."""

    __slots__ = ("asked", "errors", "parts")

    def __init__(self, body: dict[str, Any]) -> None:
        self.parts: list[dict[str, Any]] = []
        """Its params or result, and the results and tasks in it."""
        self.errors: list[dict[str, Any]] = []
        for part in self._with_parts(body):
            for name, value in part.items():
                if (folded := name.casefold()) == "error" and isinstance(value, dict):
                    self.errors.append(value)
                elif folded in _NESTED:
                    self.parts += [each for each in _listed(value) if isinstance(each, dict)]
        wanted = (_object(part, "inputRequests") for part in self.parts)
        self.asked = [each for requests in wanted for each in requests.values() if isinstance(each, dict)]
        """Its input requests: in a round, a task, or a notice about a task."""

    def _with_parts(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield body
        yield from self.parts  # it grows meanwhile

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The input requests that are questions."""
        return [each for each in self.asked if each.get("method") == ELICIT]

    @property
    def required_links(self) -> list[Any]:
        """The data of every -32042: of a response, or of a task that failed."""
        return [error.get("data") for error in self.errors if error.get("code") == URL_REQUIRED]

    @property
    def carries_questions(self) -> bool:
        """Whether there are questions in a message that is no question itself."""
        return bool(self.questions or self.required_links)

    def questions_by_key(self, task: str) -> set[tuple[str, str]]:
        """The questions of tasks, by task and key. `task`: the one that the message is about if it names none."""
        return {
            (str(part.get("taskId", task)), key)
            for part in self.parts
            for key, asked in _object(part, "inputRequests").items()
            if asked.get("method") == ELICIT
        }


class Message:
    """One message. `body` is the parsed message, and `raw` is the body written anew."""

    __slots__ = (
        "_inside",
        "_raw",
        "about",
        "among",
        "body",
        "bridged",
        "id",
        "method",
        "opens_links",
        "room",
        "round",
        "source",
        "status",
    )

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self._raw: bytes | None = None
        self._inside: Inside | None = None
        id, method = body.get("id"), body.get("method")
        self.id: Id | None = id if _is_id(id) else None
        self.method: str | None = method if isinstance(method, str) else None
        self.about: Id | None = None
        """The request that a server's message belongs to, if the transport says so."""
        self.among: tuple[Id, ...] = ()
        """Candidates for that request, if the transport does not say."""
        self.source: Any = None
        """The server that sent it. For a call that passed its guards: the server that it is for."""
        self.round: dict[str, Any] | None = None
        """The 2026-07-28 round that this request was made from."""
        self.bridged = False
        """A round that we made from a live call: its state is valid in this process only."""
        self.status: int | None = None
        """The HTTP status of the response it came in."""
        self.opens_links = False
        """Whether its client can be asked to open a link while this request runs."""
        self.room: object = None
        """What it takes up of its person's share of the memory, while anybody refers to it."""

    @property
    def raw(self) -> bytes:
        """The message as one line of ASCII."""
        if self._raw is None:
            self._raw = dump_json(self.body).encode("ascii")
        return self._raw

    @property
    def inside(self) -> Inside:
        """Where questions are in it."""
        if self._inside is None:
            self._inside = Inside(self.body)
        return self._inside

    @property
    def params(self) -> dict[str, Any]:
        """The params, or an empty object."""
        return _object(self.body, "params")

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_notice(self) -> bool:
        return self.method is not None and self.id is None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of a response; None for an error."""
        result = self.body.get("result")
        return result if isinstance(result, dict) else None

    @property
    def asks(self) -> bool:
        """Whether it is a round: a result that asks for input."""
        return self.result is not None and self.result.get("resultType") == "input_required"

    @property
    def requires_links(self) -> bool:
        """Whether it is a -32042: the person must open links first."""
        error = self.body.get("error")
        return isinstance(error, dict) and error.get("code") == URL_REQUIRED

    @property
    def failed(self) -> bool:
        """Whether it is an error, or a tool's result that says it failed."""
        return self.result is None or self.result.get("isError") is True

    def with_(self, **changes: Any) -> Message:
        """A copy with other members."""
        changed = Message({**self.body, **changes})
        changed.about, changed.source = self.about, self.source
        changed.round, changed.status, changed.among = self.round, self.status, self.among
        changed.bridged, changed.opens_links, changed.room = self.bridged, self.opens_links, self.room
        return changed


def cancel_for(cancel: Message, key: Id) -> Message:
    """The cancel notice for the request with this id."""
    params = cancel.params
    return cancel if params.get("requestId") == key else cancel.with_(params={**params, "requestId": key})


def id_key(id: Id | None) -> Id:
    """The id as a dictionary key; "" for none, which no dictionary contains."""
    return "" if id is None else id


def request(id: Id, method: str, params: Mapping[str, Any] | None = None) -> Message:
    """A new request."""
    return Message({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params or {})})


def notice(method: str, params: Mapping[str, Any]) -> Message:
    """A new notification."""
    return Message({"jsonrpc": "2.0", "method": method, "params": dict(params)})


def response(id: Id | None, result: Mapping[str, Any]) -> Message:
    """A new response with a result."""
    return Message({"jsonrpc": "2.0", "id": id, "result": dict(result)})


def error_response(id: Id | None, code: int, message: str, data: Any = None) -> Message:
    """A new response with an error."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Message({"jsonrpc": "2.0", "id": id, "error": error})


def unknown_target(id: Id | None) -> Message:
    """The error for a request that no server can serve."""
    return error_response(id, -32602, "None of the servers has this.")


MOST_ROUNDS: Final = 20
"""How often a server may ask in one call. The attack: it asks for ever what the policy refuses, which nobody sees."""


def too_many_rounds(id: Id | None) -> Message:
    """The error for a call whose server asks more often than that."""
    return error_response(id, -32603, "The server asked too many questions in one call.")


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
    known_id = id if _is_id(id) else None
    answers = not has_method and ("result" in members or "error" in members)
    return Unreadable(
        why,
        INVALID_REQUEST,
        known_id,
        is_request=has_method and known_id is not None,
        is_response=answers and known_id is not None,
    )


def _is_id(id: object) -> bool:
    return isinstance(id, int | str) and not isinstance(id, bool)


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
    if not _is_id(body.get("id")) and not (error is not None and body.get("id") is None):
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
    if not _is_id(body["id"]):
        return "its id is neither a string nor an integer"
    return "it is a notification, which has no id" if method.startswith("notifications/") else None


def _problem_of_call(method: str, params: Mapping[str, Any]) -> str | None:
    """Why a guard could not judge a call: a server may read `["pay"]` as the name `pay`."""
    if method in NAMED and not isinstance(params.get(NAMED[method]), str):
        return f"its {NAMED[method]} is not a string"
    if method in NAMED and not isinstance(params.get("arguments"), dict | None):
        return "its arguments are not an object"
    if method == CANCELLED and not (params.get("requestId") is None or _is_id(params["requestId"])):
        return "its requestId is neither a string nor an integer"
    return None


def _problem_of_shape(message: Message) -> str | None:
    """Why members that carry questions have a wrong type; None when they are fine."""
    for part in message.inside.parts:
        meta = part.get("_meta")
        if not isinstance(meta, dict | None):
            return "its _meta is not an object"
        for name in ("progressToken", SUBSCRIPTION_KEY):
            if not isinstance((meta or {}).get(name), int | float | str | None):
                return f"its {name} is neither a string nor a number"
        wanted = part.get("inputRequests")
        if wanted is not None and not (
            isinstance(wanted, dict) and all(map(_is_input_request, wanted.values()))
        ):
            return "its inputRequests are not an object of requests"
    return None


def _asks_too_much(message: Message) -> str | None:
    """Why a message asks too much at once: judging 100,000 questions would hold up everybody for minutes."""
    lists = (_object(error, "data").get("elicitations") for error in message.inside.errors)
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
    for answer in _object(params, "inputResponses").values():
        if isinstance(answer, dict):
            yield answer, _ANSWER
    for part in inside.parts:
        if part is not params:
            yield part, _ROUND
    for asked in inside.asked:
        yield asked, _INPUT
    for error in inside.errors:
        yield error, _ERROR
        yield _object(error, "data"), _LINKS
    for question in _questions(message):
        yield question, _QUESTION
        for part, _ in _parts_of_form(question):
            yield part, _PART


def _questions(message: Message) -> Iterator[dict[str, Any]]:
    """The params of every question in a message: of a request, a round, a task, a notice or a -32042."""
    if message.method == ELICIT:
        yield message.params
    for asked in message.inside.questions:
        yield _object(asked, "params")
    for error in message.inside.errors:
        yield from _objects(_object(error, "data"), "elicitations")


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
    schema = _object(params, "requestedSchema")
    yield schema, FORM
    for field in _object(schema, "properties").values():
        if isinstance(field, dict):
            items = _object(field, "items")
            yield field, TEXT
            yield items, ITEMS
            for part in (field, items):
                yield from ((option, OPTION) for name in _LISTED for option in _objects(part, name))
