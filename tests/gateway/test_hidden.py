"""Questions are judged and recorded wherever they hide: in errors, tasks, notices and requests, on every revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.outside import MODERN, Client, Place

pytestmark = [pytest.mark.slow, pytest.mark.shows("W3b")]

FINE = "https://notes.example.com/setup"
DANGEROUS = "javascript:alert(1)"
CALL = {"name": "look", "arguments": {}}
FORM = {"message": "Pay?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}


@pytest.fixture
def place(tmp_path: Path, programs: Path) -> Place:
    return Place(tmp_path, programs=programs)


def required(*urls: str) -> dict[str, Any]:
    """A response that says that links have to be opened first."""
    links = [{"mode": "url", "elicitationId": url, "url": url, "message": "Open this"} for url in urls]
    error = {"code": -32042, "message": "First", "data": {"elicitations": links}}
    return {"jsonrpc": "2.0", "id": "ID", "error": error}


def link(url: str) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "url", "url": url, "message": "Open this"}}


def called(client: Client, method: str = "tools/call", *, modern: bool) -> Any:
    return client.ask(5, method, {**CALL, **({"_meta": MODERN} if modern else {})})


def text_of(response: Any) -> str:
    """What a call was told, as a result or as an error."""
    if "error" in response:
        return str(response["error"]["message"])
    assert response["result"]["isError"]
    return str(response["result"]["content"][0]["text"])


same = pytest.mark.parametrize(
    ("modern", "era"), [(False, "legacy"), (True, "modern")], ids=["legacy", "modern"]
)
both = pytest.mark.parametrize(
    ("modern", "era"),
    [(False, "legacy"), (True, "modern"), (False, "modern"), (True, "legacy")],
    ids=["legacy", "modern", "legacy-to-modern", "modern-to-legacy"],
)


@both
@pytest.mark.parametrize("method", ["tools/call", "vendor/odd"])
def test_a_dangerous_link_in_an_error_reaches_no_client(
    place: Place, modern: bool, era: str, method: str
) -> None:
    server = place.server(era, {method: [required(FINE, DANGEROUS)]})
    with place.gateway(server=server) as client:
        client.begin(modern=modern)
        ended = called(client, method, modern=modern)
        assert DANGEROUS not in b"".join(client.lines).decode()
        if modern and era == "legacy" and method != "vendor/odd":  # the link becomes a question of a round
            (asked,) = ended["result"]["inputRequests"].values()
            assert asked["params"] == {**link(FINE)["params"], "elicitationId": FINE}
        else:
            assert "refused" in text_of(ended)
    refused = place.recorded("refused")
    assert [each["link"]["verdict"] for each in refused] == ["danger"]


@same
def test_a_harmless_link_in_an_error_passes_and_is_recorded(place: Place, modern: bool, era: str) -> None:
    with place.gateway(server=place.server(era, {"tools/call": [required(FINE)]})) as client:
        client.begin(modern=modern)
        assert called(client, modern=modern) == {**required(FINE), "id": 5}
    (asked,) = place.recorded("asked")
    assert asked["link"]["host"] == "notes.example.com"
    assert len(place.recorded("withdrawn")) == 1


@same
@pytest.mark.parametrize(
    "data",
    [None, {}, {"elicitations": []}, {"elicitations": [FINE]}, {"elicitations": [{"mode": "form", **FORM}]}],
    ids=["no data", "no list", "an empty list", "a text", "a form"],
)
def test_an_error_with_links_that_breaks_the_rules_is_not_passed_on(
    place: Place, modern: bool, era: str, data: Any
) -> None:
    broken = {"jsonrpc": "2.0", "id": "ID", "error": {"code": -32042, "message": "First", "data": data}}
    with place.gateway(server=place.server(era, {"tools/call": [broken]})) as client:
        client.begin(modern=modern)
        assert "refused" in text_of(called(client, modern=modern))
    assert len(place.recorded("refused")) == 1


def test_links_go_to_no_client_that_cannot_open_them(place: Place) -> None:
    with place.gateway(server=place.server(replies={"tools/call": [required(FINE)]})) as client:
        client.begin(capabilities={"elicitation": {"form": {}}})
        assert "refused" in text_of(called(client, modern=False))
        assert FINE not in b"".join(client.lines).decode()
    assert len(place.recorded("refused")) == 1


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list", "ping"])
def test_a_server_of_2026_07_28_asks_nothing_by_a_request(place: Place, method: str) -> None:
    asked = {"jsonrpc": "2.0", "id": 99, "method": method, "params": FORM}
    done = {"jsonrpc": "2.0", "id": "ID", "result": {"resultType": "complete", "content": []}}
    with place.gateway(server=place.server("modern", {"tools/call": [asked, done]})) as client:
        client.begin(modern=True)
        assert "result" in called(client, modern=True)
        client.settle(modern=True)
        client.until(lambda: place.noted("answered"), modern=True)
        assert method not in client.methods
    (answered,) = place.noted("answered")
    assert answered.startswith("99 ")
    assert "-32601" in answered
    (refused,) = place.recorded("refused")
    assert method in json.dumps(refused)


@pytest.mark.parametrize("where", ["tasks/get", "tools/call"])
@pytest.mark.parametrize("url", [FINE, DANGEROUS], ids=["fine", "dangerous"])
def test_a_question_in_a_result_that_ends_no_round_is_judged(place: Place, where: str, url: str) -> None:
    result = {"resultType": "complete", "status": "input_required", "inputRequests": {"q": link(url)}}
    told = {"jsonrpc": "2.0", "id": "ID", "result": result}
    with place.gateway(server=place.server("modern", {where: [told]})) as client:
        client.begin(modern=True)
        ended = called(client, where, modern=True)
        assert ("result" in ended and ended["result"] == result) is (url == FINE)
        assert (DANGEROUS in b"".join(client.lines).decode()) is False
    assert len(place.recorded("refused" if url == DANGEROUS else "asked")) == 1


@pytest.mark.parametrize("url", [FINE, DANGEROUS], ids=["fine", "dangerous"])
def test_a_question_in_a_notice_is_judged(place: Place, url: str) -> None:
    method = "notifications/tasks"
    notice = {"jsonrpc": "2.0", "method": method, "params": {"inputRequests": {"q": link(url)}}}
    done = {"jsonrpc": "2.0", "id": "ID", "result": {"content": []}}
    with place.gateway(server=place.server(replies={"tools/call": [notice, done]})) as client:
        client.begin()
        called(client, modern=False)
        if url == FINE:
            while method not in client.methods:
                client.next()
        else:
            assert len(place.recorded("refused")) == 1
            client.settle()
            assert method not in client.methods
    assert len(place.recorded("refused" if url == DANGEROUS else "asked")) == 1


UNREAD = {"placeholder": "Your password", "examples": ["hunter2"], "$comment": "secret", "x-hint": "PIN"}
SIZES = {"type": "string", "oneOf": [{"const": "s", "title": "Small", "description": "Type your password"}]}


@pytest.mark.parametrize("where", ["a request", "a round", "a task", "a notice"])
def test_texts_of_a_form_that_nobody_judges_reach_no_client(place: Place, where: str) -> None:
    fields = {"when": {"type": "string", "title": "When?", **UNREAD}, "size": {**SIZES, **UNREAD}}
    params = {"message": "When?", "requestedSchema": {"type": "object", "properties": fields, **UNREAD}}
    asked = {"method": "elicitation/create", "params": params}
    wanted = {"inputRequests": {"q": asked}}
    done = {"jsonrpc": "2.0", "id": "ID", "result": {"resultType": "complete", "content": []}}
    replies: dict[str, list[Any]] = {
        "a request": [{"jsonrpc": "2.0", "id": 99, **asked}, done],
        "a round": [{**done, "result": {"resultType": "input_required", **wanted}}],
        "a task": [{**done, "result": {"resultType": "complete", "status": "input_required", **wanted}}],
        "a notice": [{"jsonrpc": "2.0", "method": "notifications/tasks", "params": wanted}, done],
    }
    modern = where in {"a round", "a task"}
    server = place.server("modern" if modern else "legacy", {"tools/call": replies[where]})
    with place.gateway(server=server) as client:
        client.begin(modern=modern)
        params = {**CALL, **({"_meta": MODERN} if modern else {})}
        client.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
        while b"When?" not in (line := client.lines[-1] if client.lines else b""):
            client.next()
    for unread in (b"password", b"hunter2", b"secret", b"PIN"):
        assert unread not in line


@pytest.mark.parametrize("params", [None, [], "text", {}], ids=["none", "a list", "a text", "empty"])
def test_a_question_of_a_round_without_anything_to_ask_reaches_no_client(place: Place, params: Any) -> None:
    asked = {"method": "elicitation/create", **({} if params is None else {"params": params})}
    result = {"resultType": "input_required", "inputRequests": {"q": asked, "r": {"method": "roots/list"}}}
    told = {"jsonrpc": "2.0", "id": "ID", "result": {**result, "requestState": "s"}}
    with place.gateway(server=place.server("modern", {"tools/call": [told]})) as client:
        client.begin(modern=True)
        ended = called(client, modern=True)
        assert list(ended["result"]["inputRequests"]) == ["r"]
    assert len(place.recorded("refused")) == 1


def test_a_question_in_another_spelling_reaches_no_client(place: Place) -> None:
    result = {"ResultType": "input_required", "InputRequests": {"q": link(DANGEROUS)}}
    told = {"jsonrpc": "2.0", "id": "ID", "result": result}
    with place.gateway(server=place.server("modern", {"tools/call": [told]})) as client:
        client.begin(modern=True)
        assert "could not be read" in called(client, modern=True)["error"]["message"]


@pytest.mark.parametrize("method", ["Elicitation/Create", " elicitation/create", ["elicitation/create"]])
def test_a_question_whose_method_has_another_spelling_reaches_no_client(place: Place, method: Any) -> None:
    wanted = {"q": {**link(DANGEROUS), "method": method}}
    told = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
    replies: list[Any] = [
        {"jsonrpc": "2.0", "method": method, "params": link(DANGEROUS)["params"]},
        {"jsonrpc": "2.0", "id": 99, "method": method, "params": link(DANGEROUS)["params"]},
        {"jsonrpc": "2.0", "id": "ID", "result": told},
    ]
    with place.gateway(server=place.server("modern", {"tools/call": replies})) as client:
        client.begin(modern=True)
        assert "could not be read" in called(client, modern=True)["error"]["message"]
        assert DANGEROUS not in b"".join(client.lines).decode()


def test_a_question_before_the_first_message_reaches_no_client(place: Place) -> None:
    early = json.dumps({"jsonrpc": "2.0", "id": 99, "method": "elicitation/create", "params": FORM})
    command = ["sh", "-c", 'echo "$0"; read answer; echo "$answer" >&2; exec "$@"', early, *place.server()]
    with place.gateway(server=command) as client:
        client.begin()
        client.settle()
        assert "elicitation/create" not in client.methods
        assert any(b'"id":99' in line for line in client.errors)


ASKED = {"q": {"method": "elicitation/create", "params": FORM}}
ASKING = {"resultType": "complete", "taskId": "t", "status": "input_required", "inputRequests": ASKED}


@pytest.mark.parametrize("method", ["tasks/update", "vendor/odd"])
def test_a_secret_in_an_answer_to_a_task_reaches_no_server(place: Place, method: str) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
    done = {"jsonrpc": "2.0", "id": "ID", "result": {"resultType": "complete"}}
    asked = {"jsonrpc": "2.0", "id": "ID", "result": ASKING}
    with place.gateway(server=place.server("modern", {method: [done], "tasks/get": [asked]})) as client:
        client.begin(modern=True)
        client.ask(4, "tasks/get", {"taskId": "t", "_meta": MODERN})
        for number, text, ended in ((5, secret, "error"), (6, "Tuesday", "result")):
            answers = {"q": {"action": "accept", "content": {"when": text}}}
            params = {"taskId": "t", "inputResponses": answers, "_meta": MODERN}
            assert ended in client.ask(number, method, params)
    assert secret not in "".join(place.noted("line"))


def test_a_client_that_cannot_ask_answers_no_task(place: Place) -> None:
    done = {"jsonrpc": "2.0", "id": "ID", "result": {"resultType": "complete"}}
    asked = {"jsonrpc": "2.0", "id": "ID", "result": ASKING}
    cannot_ask = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    replies = {"tasks/update": [done], "tasks/get": [asked]}
    with place.gateway(server=place.server("modern", replies)) as client:
        client.begin(modern=True)
        answers = {"q": {"action": "accept", "content": {"ok": True}}}
        for number, meta, ended in ((5, cannot_ask, "error"), (7, MODERN, "result")):
            client.ask(number, "tasks/get", {"taskId": "t", "_meta": meta})
            params = {"taskId": "t", "inputResponses": answers, "_meta": meta}
            assert ended in client.ask(number + 1, "tasks/update", params)
    assert len([line for line in place.noted("line") if "inputResponses" in line]) == 1
    assert len(place.recorded("refused")) == 2  # the question that it was not shown, and its answer
