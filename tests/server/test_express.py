"""The short way of a request to the client is taken only where nobody would miss what the long one does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from opentelemetry import trace
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.revisions import Revision

LEGACY = [Revision.JUNE_2025, Revision.NOVEMBER_2025]


class Recording(trace.NonRecordingSpan):
    """A span that somebody keeps."""

    def is_recording(self) -> bool:
        return True


@pytest.fixture
def long_way() -> Iterator[mock.Mock]:
    """The SDK's own way of a request, watched."""
    own = JSONRPCDispatcher.send_raw_request
    with mock.patch.object(JSONRPCDispatcher, "send_raw_request", autospec=True, side_effect=own) as watched:
        yield watched


def sent_to_the_client(long_way: mock.Mock) -> int:
    return sum(call.args[1] == "elicitation/create" for call in long_way.call_args_list)


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize(
    ("provider", "kept", "long"),
    [(None, True, 0), ("somebody's", False, 0), ("somebody's", True, 1)],
    ids=["nobody traces", "this call is not sampled", "this call is traced"],
)
async def test_a_question_in_a_call_that_is_traced_is_a_span(
    revision: Revision,
    provider: Any,
    kept: bool,
    long: int,
    long_way: mock.Mock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = MCPServer("traced")
    Handraise().install(server)
    span = (Recording if kept else trace.NonRecordingSpan)(trace.INVALID_SPAN_CONTEXT)

    @server.tool()
    async def greet() -> str:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider and trace.NoOpTracerProvider())
        with trace.use_span(span):
            return f"Hello, {(await ask('Your name?', str)).or_stop()}"

    async with connect(server, revision, Person(accept(value="Ada"))) as client:
        assert text_of(await client.call_tool("greet")) == "Hello, Ada"
    assert sent_to_the_client(long_way) == long
