"""A server with Handraise traces as the SDK alone does, and does nothing for it where nobody traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.mcpserver import MCPServer
from mcp.shared import _otel
from opentelemetry import trace
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.revisions import Revision

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
NAMED: Any = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


KEPT = mock.Mock(spec=trace.Span)
"""A span that somebody keeps, by means of their own."""
KEPT.get_span_context.return_value = trace.INVALID_SPAN_CONTEXT


class Keeper(trace.NoOpTracer, trace.NoOpTracerProvider):
    """A tracer that remembers which of its spans a server's were."""

    def __init__(self) -> None:
        self.served: list[str] = []

    def get_tracer(self, *_names: Any, **_options: Any) -> Keeper:
        return self

    def start_span(self, name: str, *args: Any, **options: Any) -> trace.Span:
        if options["kind"] is trace.SpanKind.SERVER:
            self.served.append(name)
        return super().start_span(name, *args, **options)


def make_server(around: trace.Span = trace.INVALID_SPAN) -> MCPServer:
    """The SDK's server with a tool that tells in which span it runs, and maybe a span around all that it does."""
    server = MCPServer("traced", log_level="CRITICAL")

    async def in_a_span(ctx: Any, call_next: Any) -> Any:
        with trace.use_span(around):
            return await call_next(ctx)

    if around is not trace.INVALID_SPAN:
        server._lowlevel_server.middleware.insert(0, in_a_span)

    @server.tool()
    async def work() -> str:
        span = trace.get_current_span()
        return f"{type(span).__name__} {trace.format_trace_id(span.get_span_context().trace_id)}"

    return server


@contextmanager
def nobody() -> Iterator[Keeper]:
    """Nobody traces."""
    with mock.patch.object(_otel, "_tracer", trace.ProxyTracer("mcp-python-sdk")):
        yield Keeper()


@contextmanager
def a_provider() -> Iterator[Keeper]:
    """The process has a provider."""
    with nobody() as keeper, mock.patch.object(trace, "_TRACER_PROVIDER", keeper):
        yield keeper


@contextmanager
def a_tracer() -> Iterator[Keeper]:
    """Only the SDK was given a tracer."""
    keeper = Keeper()
    with mock.patch.object(_otel, "_tracer", keeper):
        yield keeper


@pytest.mark.parametrize("tracing", [nobody, a_provider, a_tracer])
@pytest.mark.parametrize("around", [trace.INVALID_SPAN, KEPT], ids=["no span", "a span"])
@pytest.mark.parametrize("meta", [None, {}, {"shop": "one"}, NAMED], ids=["none", "empty", "other", "trace"])
async def test_calls_are_traced_as_by_the_sdk_alone(
    revision: Revision, tracing: Any, around: trace.Span, meta: Any
) -> None:
    told = []
    for server in (make_server(around), Handraise().install(make_server(around))):
        with tracing() as keeper:
            async with connect(server, revision) as client:
                told.append((text_of(await client.call_tool("work", meta=meta)), keeper.served))
    assert told[0] == told[1]
    assert (TRACE in told[0][0]) is (meta is NAMED)
    assert ("tools/call work" in told[0][1]) is (tracing is not nobody)


async def test_where_nobody_traces_no_span_is_made(revision: Revision) -> None:
    server = Handraise().install(make_server())
    with nobody(), mock.patch.object(OpenTelemetryMiddleware, "__call__", side_effect=AssertionError):
        async with connect(server, revision) as client:
            assert not (await client.call_tool("work", progress_callback=_heard)).is_error


async def _heard(progress: float, total: float | None, message: str | None) -> None:
    """The client wants to know how far it is."""


async def test_a_provider_that_comes_late_is_told_of_every_call_from_then_on(revision: Revision) -> None:
    server = Handraise().install(make_server())
    with nobody() as keeper:
        async with connect(server, revision) as client:
            await client.call_tool("work")
            assert keeper.served == []
            with mock.patch.object(trace, "_TRACER_PROVIDER", keeper):
                await client.call_tool("work")
    assert keeper.served == ["tools/call work"]


async def test_a_question_is_asked_in_the_trace_that_its_call_names(revision: Revision) -> None:
    server = make_server()
    Handraise().install(server)

    @server.tool()
    async def asks() -> str:
        await ask.text("Go?")
        return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)

    async with connect(server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool("asks", meta=NAMED)) == TRACE
