"""JSON-RPC messages, and the places in them where questions hide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from handraise.forms import DEFAULT_LIMITS
from handraise.gateway.json_text import dump_json

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

_NESTED: Final = frozenset({"params", "result", "task", "tasks"})
"""Members in which a message has a result or a task. A task that failed has an error, a finished one a result."""


def object_in(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object in a member; an empty one if it has none."""
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(members: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a member that is a list."""
    value = members.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def links_in(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links that the person must open first, in a -32042."""
    return objects_in(object_in(error, "data"), "elicitations")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


LONGEST_NAME: Final = 1000
"""Characters of an id, and of other names that are remembered after their message is gone."""


def is_id(id: object) -> bool:
    """Whether a value is a valid id. The attack: ids of 16 MiB, of which thousands are remembered."""
    return (
        len(id) <= LONGEST_NAME if isinstance(id, str) else isinstance(id, int) and not isinstance(id, bool)
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
        wanted = (object_in(part, "inputRequests") for part in self.parts)
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
            for key, asked in object_in(part, "inputRequests").items()
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
        "lost",
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
        self.id: Id | None = id if is_id(id) else None
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
        self.lost = False
        """We made it for a server that is gone or forgot its session: an error response, or a cancel of its request."""
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
        return object_in(self.body, "params")

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the params, or an empty object."""
        return object_in(self.params, "_meta")

    @property
    def error(self) -> dict[str, Any]:
        """The error of a response, or an empty object."""
        return object_in(self.body, "error")

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
        return bool(self.error.get("code") == URL_REQUIRED)

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
        changed.lost = self.lost
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
