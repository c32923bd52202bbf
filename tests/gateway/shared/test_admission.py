"""The entrance of a gateway over HTTP: what opens it goes no further."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from handraise.gateway.http.exchange import Receive, Scope, Send
from handraise.gateway.http.server import PERSON
from handraise.gateway.shared.admission import Admission
from handraise.gateway.shared.people import PeopleFile, person_named

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]


async def test_tokens_and_cookies_are_taken_off_at_the_entrance(tmp_path: Path) -> None:
    people, passed = PeopleFile(tmp_path / "people.json"), list[Scope]()
    token = people.add("ann")

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("the body is not read at the entrance")

    async def send(message: MutableMapping[str, Any]) -> None:
        raise AssertionError(f"the entrance answered {message}")

    plain = [(b"host", b"gateway.example"), (b"accept", b"application/json")]
    opening = [
        (b"authorization", f"Bearer {token}".encode()),
        (b"proxy-authorization", b"Basic eDp5"),
        (b"cookie", b"desk=x"),
    ]
    entrance = Admission(gateway, hosts={"gateway.example"}, tokens=people)
    await entrance({"type": "http", "path": "/mcp", "headers": [*plain, *opening]}, receive, send)
    [scope] = passed
    assert scope[PERSON] == person_named("ann")
    assert scope["headers"] == plain
