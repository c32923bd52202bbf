"""The entrance of a gateway over HTTP: what opens it goes no further."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from handraise.access import AccessCheck
from handraise.gateway.http.admission import Admission, OwnUserOnly
from handraise.gateway.http.exchange import Receive, Scope, Send
from handraise.gateway.http.server import PERSON
from handraise.gateway.people import PeopleFile, person_named
from handraise.site.listener import CONNECTION

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]


async def test_tokens_and_cookies_are_taken_off_at_the_entrance(tmp_path: Path) -> None:
    people, passed = PeopleFile(tmp_path / "people.json"), list[Scope]()
    token = people.add("ann")

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope)

    async def send(message: MutableMapping[str, Any]) -> None:
        raise AssertionError(f"the entrance answered {message}")

    plain = [(b"host", b"gateway.example"), (b"accept", b"application/json")]
    opening = [
        (b"authorization", f"Bearer {token}".encode()),
        (b"proxy-authorization", b"Basic eDp5"),
        (b"cookie", b"desk=x"),
    ]
    entrance = Admission(gateway, hosts={"gateway.example"}, tokens=people)
    await entrance({"type": "http", "path": "/mcp", "headers": [*plain, *opening]}, _no_body, send)
    [scope] = passed
    assert scope[PERSON] == person_named("ann")
    assert scope["headers"] == plain


@pytest.mark.shows("W9")
async def test_a_connection_that_was_let_in_is_not_checked_again_and_one_that_was_refused_is() -> None:
    admitted = list[Scope]()

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        admitted.append(scope)

    async def is_let_in(ends: tuple[Any, Any], facts: dict[str, Any]) -> bool:
        before, statuses = len(admitted), list[int]()

        async def send(message: MutableMapping[str, Any]) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        scope = {"type": "http", "method": "POST", "client": ends[0], "server": ends[1], CONNECTION: facts}
        await OwnUserOnly(gateway, AccessCheck())(scope, _no_body, send)
        assert (len(admitted) > before) != (statuses == [403])
        return len(admitted) > before

    facts: dict[str, Any] = {}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as client:
            ends = client.getsockname(), listening.getsockname()
            assert not await is_let_in((("127.0.0.1", 1), ends[1]), facts), "nobody is there"
            assert await is_let_in(ends, facts)
        assert await is_let_in(ends, facts)
        assert not await is_let_in(ends, {}), "the next connection from the same port is checked"


@pytest.mark.shows("W7", "W9")
async def test_a_web_page_does_not_make_a_client_of_the_persons_browser() -> None:
    """A client's family is kept away from the desk, where the person answers with this browser."""
    access, statuses = AccessCheck(), list[int]()

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("this is no message")

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        ends = {"client": client.getsockname(), "server": listening.getsockname()}
        for method in ("GET", "HEAD", "OPTIONS"):
            scope = {"type": "http", "method": method, "headers": [], **ends}
            await OwnUserOnly(gateway, access)(scope, _no_body, send)
    assert statuses == [405] * 3
    assert access.dump_families() == []


async def _no_body() -> MutableMapping[str, Any]:
    raise AssertionError("the body is not read at the entrance")
