"""One reader and one writer: each message that is read is written as one line, and means what was judged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.gateway.json_text import dump_json, parse_json, plain
from handraise.gateway.messages import SUBSCRIPTION_KEY, Message, error_response, notice, request, response
from handraise.gateway.reading import Unreadable, parse_message

pytestmark = pytest.mark.shows("W3")

texts = st.text(st.characters(exclude_categories=()), max_size=20)
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
bodies = st.builds(
    lambda method, id, params, extra: {
        "vendor": extra,
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": params,
    },
    texts,
    st.integers() | texts,
    st.dictionaries(texts, values, max_size=4),
    values,
)


def read(raw: bytes) -> Message | None:
    try:
        return parse_message(raw)
    except Unreadable:
        return None


def holds(message: Message) -> None:
    """What passes is one line of ASCII, valid JSON, and equal to what was judged, for any other reader, too."""
    assert message.raw.isascii()
    assert len(message.raw.splitlines()) == 1
    assert json.loads(message.raw) == message.body
    assert parse_message(message.raw).raw == message.raw


@given(bodies, st.sampled_from([None, 0, 2, "\r", "\t"]), st.booleans())
def test_what_is_read_is_written_on_one_line_and_means_the_same(body: Any, indent: Any, ascii: bool) -> None:
    text = json.dumps(body, indent=indent, ensure_ascii=ascii)
    message = read(text.encode("utf-8", "replace"))
    if message is not None:
        holds(message)


@pytest.mark.parametrize(
    "method", ["tools/\x1b]0;owned\x07", "tools/" + "x" * 10_000, " " * 10_000 + "tools/call"]
)
def test_an_error_about_a_method_is_short_and_harmless_in_a_terminal(method: str) -> None:
    with pytest.raises(Unreadable) as refused:
        parse_message(notice(method, {"name": "x"}).raw)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


ONE = {"method": "elicitation/create", "params": {"message": "?"}}
MANY: list[dict[str, Any]] = [
    {"result": {"inputRequests": dict.fromkeys(map(str, range(65)), ONE)}},
    {"result": {"tasks": [{"inputRequests": {"q": ONE}}] * 65}},
    {"error": {"code": -32042, "message": "", "data": {"elicitations": [{"mode": "url"}] * 65}}},
]


@pytest.mark.parametrize("told", MANY, ids=["round", "tasks", "links"])
def test_a_message_with_too_many_questions_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(Unreadable, match="asks more than 64 questions at once") as refused:
        parse_message(Message({"jsonrpc": "2.0", "id": 1, **told}).raw)
    assert refused.value.is_response


LONG = "x" * 1001
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"vendor": "x" * 300_000}}
LONG_LINK = {"mode": "url", "elicitationId": LONG}
REMEMBERED: list[tuple[dict[str, Any], str]] = [
    ({"id": LONG, "method": "vendor/ask"}, "its id is neither"),
    ({"id": LONG, "result": {}}, "its id is neither"),
    ({"method": "notifications/cancelled", "params": {"requestId": LONG}}, "its requestId is neither"),
    ({"id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": LONG}}}, "its progressToken"),
    ({"method": "notifications/tasks/status", "params": {"taskId": LONG}}, "its taskId"),
    ({"id": 1, "result": {"tasks": [{"taskId": LONG}]}}, "its taskId"),
    ({"id": 1, "method": "elicitation/create", "params": LONG_LINK}, "an elicitationId"),
    (
        {"id": 1, "error": {"code": -32042, "message": "", "data": {"elicitations": [LONG_LINK]}}},
        "an elicitationId",
    ),
    ({"id": 1, "method": "initialize", "params": HELLO}, "it greets with more than 256 KiB"),
]


@pytest.mark.parametrize(("told", "why"), REMEMBERED)
def test_what_is_remembered_when_its_message_is_gone_is_short(told: dict[str, Any], why: str) -> None:
    with pytest.raises(Unreadable, match=why) as refused:
        parse_message(Message({"jsonrpc": "2.0", **told}).raw)
    assert len(refused.value.refusal().raw) < 500


@pytest.mark.parametrize("state", [7, {"x": 1}, ["s"], True])
def test_a_state_that_is_no_text_is_refused(state: object) -> None:
    """The gateway could not recognise the retry, and would not judge its answers."""
    for told in (
        {"result": {"inputRequests": {"q": ONE}, "requestState": state}},
        {"method": "tools/call", "params": {"name": "x", "requestState": state}},
    ):
        with pytest.raises(Unreadable, match="its requestState is not a string"):
            parse_message(Message({"jsonrpc": "2.0", "id": 1, **told}).raw)


@given(bodies, st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=3))
def test_hostile_bytes_are_refused_or_read_in_one_way(body: Any, changes: list[tuple[int, bytes]]) -> None:
    raw = json.dumps(body).encode()
    for at, put in changes:
        raw = raw[:at] + put + raw[at + len(put) // 2 :]
    message = read(raw)
    if message is not None:
        holds(message)


@given(st.lists(numbers, max_size=5))
def test_numbers_keep_their_text(given: list[str]) -> None:
    text = f"[{','.join(given)}]"
    value = parse_json(text.encode())
    assert dump_json(value) == text
    assert plain(value) == json.loads(text)
    assert all(type(each) in (int, float) for each in plain(value))


def test_half_an_emoji_is_read_as_the_replacement_character() -> None:
    params = rb'{"t":"\ud83d\ude00 \ud83d","l":["\ude00"]}'
    message = parse_message(rb'{"jsonrpc":"2.0","id":1,"method":"a","params":%b}' % params)
    assert message.params == {"t": "\U0001f600 \ufffd", "l": ["\ufffd"]}
    with pytest.raises(Unreadable, match="twice"):
        parse_message(rb'{"jsonrpc":"2.0","id":1,"method":"a","params":{"\ud83d":1,"\ude00":2}}')


@pytest.mark.parametrize("levels", [200, 201])
def test_two_hundred_levels_are_read(levels: int) -> None:
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":'
        + b"[" * (levels - 2)
        + b"]" * (levels - 2)
        + b"}}"
    )
    assert (read(raw) is not None) is (levels == 200)


@pytest.mark.parametrize(
    "message",
    [
        notice("vendor/event", {}),
        notice("notifications/vendor", {"inputRequests": {}}),
        request("", "vendor/ask"),
        request(0, "tools/call", {"name": "a", "arguments": {"Name": 1, "name": 2}}),
        response(-1, {"Name": 1, "content": []}),
    ],
    ids=lambda message: message.raw.decode(),
)
def test_what_has_one_meaning_is_read(message: Message) -> None:
    assert parse_message(message.raw).body == message.body


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}',
        b'{"jsonrpc":"2.0","id":1,"result":null}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
    ],
)
def test_a_member_that_is_null_counts_as_absent(raw: bytes) -> None:
    assert parse_message(raw).raw == raw


@pytest.mark.parametrize(
    ("raw", "id", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"x":', 7, True),
        (b'{"result":{"x":NaN,"x":],"jsonrpc":"2.0","id":"a-1"}', "a-1", True),
        (b'{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":1,"x":2}}', 7, False),
        (b"Listening on port 7", None, False),
    ],
)
def test_the_id_of_an_unreadable_message_is_found_where_it_can_be(raw: bytes, id: Any, answers: bool) -> None:
    with pytest.raises(Unreadable) as refused:
        parse_message(raw)
    assert (refused.value.id, refused.value.is_response) == (id, answers)
    assert refused.value.refusal().id == (None if answers else id)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": ["pay"]}),
        ("tools/call", {"name": {"a": 1}}),
        ("tools/call", {"name": None}),
        ("tools/call", {}),
        ("tools/call", {"name": "pay", "arguments": "{}"}),
        ("tools/call", {"name": "pay", "arguments": [{"path": "/etc"}]}),
        ("prompts/get", {"name": 1}),
        ("resources/read", {"uri": ["a://b"]}),
        ("vendor/odd", {"_meta": []}),
        ("vendor/odd", {"_meta": {"progressToken": []}}),
        ("vendor/odd", {"_meta": {SUBSCRIPTION_KEY: {}}}),
        ("vendor/odd", {"inputRequests": [{"method": "elicitation/create"}]}),
        ("vendor/odd", {"inputRequests": {"q": "elicitation/create"}}),
    ],
)
def test_a_call_of_which_no_guard_can_tell_what_it_is_about_is_refused(method: str, params: Any) -> None:
    with pytest.raises(Unreadable) as refused:
        parse_message(request(1, method, params).raw)
    assert refused.value.is_request


@pytest.mark.parametrize("wanted", [[], "text", ["q"], {"q": "text"}, {"q": []}, {"q": None}])
def test_what_a_server_wants_is_an_object_of_objects(wanted: Any) -> None:
    with pytest.raises(Unreadable) as refused:
        parse_message(response(1, {"resultType": "input_required", "inputRequests": wanted}).raw)
    assert refused.value.is_response


@pytest.mark.parametrize("id", [[], {}, 1.5, True])
def test_a_request_is_cancelled_by_an_id(id: Any) -> None:
    with pytest.raises(Unreadable):
        parse_message(notice("notifications/cancelled", {"requestId": id}).raw)


@pytest.mark.parametrize("version", ["", '"jsonrpc":"1.0",', '"jsonrpc":2.0,', '"jsonrpc":null,'])
def test_a_message_says_that_it_is_json_rpc_2_0(version: str) -> None:
    with pytest.raises(Unreadable, match="jsonrpc"):
        parse_message(f'{{{version}"id":1,"method":"a"}}'.encode())


@pytest.mark.parametrize("value", [b"1.10", b"{}", b"[]", b'""', b'{"a":1}'])
def test_a_text_of_too_many_values_is_refused_before_it_takes_memory(value: bytes) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[%b]}}'
    with pytest.raises(Unreadable, match="values") as refused:
        parse_message(raw % b",".join([value] * 1_000_001))
    assert refused.value.id == 1


def test_signs_within_a_text_are_no_values() -> None:
    sent = request(1, "a", {"x": 'a,b:[{\\"' * 500_000})
    assert parse_message(sent.raw).params == sent.params


@pytest.mark.parametrize("method", ["tools/call", "tasks/update", "vendor/odd"])
def test_answers_with_two_readings_are_refused(method: str) -> None:
    answers = {"q": {"action": "decline", "Action": "accept"}}
    sent = request(1, method, {"name": "look", "taskId": "t", "inputResponses": answers})
    with pytest.raises(Unreadable, match="Action"):
        parse_message(sent.raw)


OPTION = {"const": "a", "title": "A", "Title": "Password"}


@pytest.mark.parametrize(
    "schema",
    [
        {"Properties": {"password": {"type": "string"}}},
        {"properties": {"name": {"type": "string", "Title": "Password"}}},
        {"properties": {"name": {"type": "string", "de\u017fcription": "Your password"}}},
        {"properties": {"name": {"type": "string", "oneOf": [OPTION]}}},
        {"properties": {"name": {"type": "array", "items": {"anyOf": [OPTION]}}}},
        {"properties": {"name": {"type": "array", "items": {"Enum": ["password"]}}}},
    ],
    ids=["form", "field", "long s", "option", "option of several", "items"],
)
@pytest.mark.parametrize("place", ["request", "round", "task", "error"])
def test_a_form_with_two_readings_is_refused(schema: dict[str, Any], place: str) -> None:
    params = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}, **schema}}
    asked = {"q": {"method": "elicitation/create", "params": params}}
    sent = {
        "request": request(1, "elicitation/create", params),
        "round": response(1, {"resultType": "input_required", "inputRequests": asked}),
        "task": notice("notifications/tasks", {"inputRequests": asked}),
        "error": error_response(1, -32042, "First", {"elicitations": [params]}),
    }[place]
    with pytest.raises(Unreadable, match="which some programs read as"):
        parse_message(sent.raw)
