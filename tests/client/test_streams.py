"""An ear on a transport hears every message, both ways, and changes none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.client.hosts import host, over_http
from tests.client.test_consent import server
from tests.server.peers import REVISIONS, text_of

from handraise.cli.common import client_target
from handraise.desks.scripted import Line
from handraise.gateway.upstreams import Upstream
from handraise.revisions import Revision
from handraise.sdk.streams import tapped
from handraise.trace import Direction, Trace


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_what_crosses_over_http_is_heard(revision: Revision) -> None:
    heard: list[tuple[Direction, Any]] = []
    async with over_http(server().streamable_http_app()) as url:
        transport = tapped(streamable_http_client(url), lambda *message: heard.append(message))
        async with host(transport, revision, [Line("accept", {"answer": "Ada"})]) as here:
            assert text_of(await here.client.call_tool("greet")) == "Hello Ada"
    calls = [message for direction, message in heard if message.get("method") == "tools/call"]
    assert len(calls) == (2 if revision.modern else 1)
    answers = [message for direction, message in heard if '"answer": "Ada"' in json.dumps(message)]
    assert answers
    assert {direction for direction, _ in heard} == {"to server", "to client"}


async def test_a_server_that_the_user_named_by_its_url_can_be_traced() -> None:
    lines: list[str] = []
    async with over_http(server().streamable_http_app()) as url:
        target = client_target(Upstream("asker", url=url), Trace(lines.append).message)
        async with host(target, Revision.JULY_2026, [Line("decline")]) as here:
            await here.client.call_tool("greet")
    assert "tools/call: input required, 1 question" in "".join(lines)
