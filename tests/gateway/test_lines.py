"""Lines out of bytes, however they are cut, and none that would take all memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.waiting import until

from handraise.gateway.lines import LineReader, LineWriter
from handraise.gateway.messages import Message, notice, request, response
from handraise.gateway.reading import too_long
from handraise.gateway.servers import ProcessLink, ServerSet, inert, start
from handraise.gateway.upstreams import Source, Upstream


@pytest.mark.parametrize("size", [1, 3, 100])
def test_lines_arrive_whole_and_a_longer_one_than_any_message_does_not(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.lines.LONGEST", 10)
    lines: list[bytes] = []
    refused: list[bytes] = []
    reader = LineReader(lines.append, lambda: None, refused.append)
    raw = b"one\n\nexactly 10\n" + b"x" * 50 + b"\nlast"
    for place in range(0, len(raw), size):
        reader.data_received(raw[place : place + size])
    reader.connection_lost(None)
    assert lines == [b"one", b"", b"exactly 10", b"last"]
    assert [start[:1] for start in refused] == [b"x"]


@pytest.mark.anyio
@pytest.mark.parametrize("device", [True, False])
async def test_what_no_event_loop_can_wait_for_is_read_to_its_end_and_closed(
    device: bool, tmp_path: Path
) -> None:
    """A client that was started with a file, or with nothing, at its standard input."""
    file = Path("/dev/null") if device else tmp_path / "lines"
    if not device:
        file.write_bytes(b"one\ntwo")
    lines: list[bytes] = []
    over = asyncio.Event()
    stream = file.open("rb", 0)
    async with asyncio.timeout(60):
        await LineReader(lines.append, over.set, lines.append).open(stream)
        await over.wait()
        await until(lambda: stream.closed)
    assert lines == ([] if device else [b"one", b"two"])


@pytest.mark.anyio
@pytest.mark.shows("W7")
async def test_a_server_that_reads_nothing_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP nobody waits with the next notice until the server has read the last one."""
    monkeypatch.setattr("handraise.gateway.lines.MOST_WAITING", 2_000_000)
    sleeper = Upstream("sleeper", ("sleep", "60"))
    link = ProcessLink(Source(sleeper), start(sleeper))
    await link.open()
    heard: list[Message] = []
    link.on_message = heard.append
    try:
        for _ in range(20):
            link.send(notice("notifications/large", {"text": "x" * 1_000_000}))
            link.send(response(1, {"text": "x" * 1_000_000}))
        link.send(request(1, "tools/list"))
        await until(lambda: heard)
        assert heard[0].body["error"]["message"] == "The server does not read what it gets."
        assert link.writer._transport.get_write_buffer_size() < 4_000_000  # type: ignore[union-attr]
    finally:
        link.process.kill()
        await link.aclose()


@pytest.mark.anyio
async def test_a_file_is_written_in_place_and_closed(tmp_path: Path) -> None:
    stream = (tmp_path / "lines").open("wb", 0)
    writer = LineWriter()
    await writer.open(stream)
    writer.write(b"one")
    await writer.close()
    assert stream.closed
    assert (tmp_path / "lines").read_bytes() == b"one\n"


def test_the_request_whose_answer_is_too_long_is_told() -> None:
    told = too_long(b'{"jsonrpc":"2.0","id":7,"result":{"content":[').replacement()
    assert told.id == 7
    assert "16 MiB" in told.body["error"]["message"]
    assert too_long(b'{"result":').id is None


@pytest.mark.shows("D7")
def test_noise_is_shown_whole_but_disarmed_and_not_without_end() -> None:
    assert inert(b"Listening \x1b[31mred \xff'\n") == r"Listening \x1b[31mred \ufffd'\n"
    assert inert(b"x" * 300) == "x" * 300
    assert inert(b"x" * 301) == "x" * 300 + " …"


@pytest.mark.anyio
async def test_servers_that_were_killed_unused_are_started_anew_for_the_next_client() -> None:
    servers = ServerSet(Upstream("cat", ("cat",)))
    servers.start()
    servers.kill()
    link = await servers.connect()
    assert servers.processes == [], "the killed one is nobody's"
    await link.aclose()
