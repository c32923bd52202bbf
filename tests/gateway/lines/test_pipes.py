"""Lines out of bytes, however they are cut, and none that would take all memory."""

from __future__ import annotations

import pytest

from handraise.gateway.lines.pipes import LineReader
from handraise.gateway.messages import too_long


@pytest.mark.parametrize("size", [1, 3, 100])
def test_lines_arrive_whole_and_a_longer_one_than_any_message_does_not(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.lines.pipes.LONGEST", 10)
    lines: list[bytes] = []
    refused: list[bytes] = []
    reader = LineReader(lines.append, lambda: None, refused.append)
    raw = b"one\n\nexactly 10\n" + b"x" * 50 + b"\nlast"
    for start in range(0, len(raw), size):
        reader.data_received(raw[start : start + size])
    reader.connection_lost(None)
    assert lines == [b"one", b"", b"exactly 10", b"last"]
    assert [start[:1] for start in refused] == [b"x"]


def test_the_request_whose_answer_is_too_long_is_told() -> None:
    told = too_long(b'{"jsonrpc":"2.0","id":7,"result":{"content":[')
    assert told.id == 7
    assert "64 MiB" in told.body["error"]["message"]
    assert too_long(b'{"result":').id is None
