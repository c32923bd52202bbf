"""A trace says of each message what it is, inertly, and never disturbs what it watches."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import SetupError
from handraise.trace import Direction, Trace
from handraise.trace.messages import MAX_LINE, relay

TO_SERVER: Direction = "to server"
TO_CLIENT: Direction = "to client"


class Written(list[str]):
    """What a trace wrote, and a clock that stands still."""

    def trace(self, **options: Any) -> Trace:
        return Trace(self.append, clock=lambda: 0.0, **options)

    @property
    def text(self) -> str:
        return "".join(self)

    @property
    def headlines(self) -> list[str]:
        return [line for line in self.text.splitlines() if " s → " in line or " s ← " in line]


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def test_an_answer_is_named_after_what_it_answers() -> None:
    written = Written()
    trace = written.trace()
    trace.feed(TO_SERVER, line(id=1, method="initialize", params={"protocolVersion": "2025-11-25"}))
    trace.feed(TO_CLIENT, line(id=1, result={"protocolVersion": "2025-06-18"}))
    trace.feed(TO_SERVER, line(method="notifications/initialized"))
    trace.feed(TO_SERVER, line(id=2, method="tools/call", params={"name": "x"}))
    trace.feed(TO_CLIENT, line(id=2, method="elicitation/create", params={"message": "?"}))
    trace.feed(TO_SERVER, line(id=2, result={"action": "decline"}))
    trace.feed(TO_CLIENT, line(id=2, error={"code": -32042, "message": "first"}))
    trace.feed(TO_CLIENT, line(id=9, result={}))
    assert written.headlines == [
        "    0.000 s → initialize  (id 1)",
        "    0.000 s ← initialize: result  (id 1, 2025-06-18)",
        "    0.000 s → notifications/initialized  (2025-06-18)",
        "    0.000 s → tools/call  (id 2, 2025-06-18)",
        "    0.000 s ← elicitation/create  (id 2, 2025-06-18)",
        "    0.000 s → elicitation/create: result  (id 2, 2025-06-18)",
        "    0.000 s ← tools/call: error -32042  (id 2, 2025-06-18)",
        "    0.000 s ← (no request is known for it): result  (id 9, 2025-06-18)",
    ]


def test_the_modern_revision_is_known_from_the_request_and_a_round_says_how_much_it_asks() -> None:
    written = Written()
    trace = written.trace()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    trace.feed(TO_SERVER, line(id=1, method="tools/call", params={"_meta": meta}))
    trace.feed(
        TO_CLIENT, line(id=1, result={"resultType": "input_required", "inputRequests": {"a": {}, "b": {}}})
    )
    assert written.headlines == [
        "    0.000 s → tools/call  (id 1, 2026-07-28)",
        "    0.000 s ← tools/call: input required, 2 questions  (id 1, 2026-07-28)",
    ]


def test_only_messages_about_asking_are_shown_in_full_unless_all_is_wanted() -> None:
    listing = line(id=1, method="tools/list", params={"cursor": "abc"})
    short, long = Written(), Written()
    short.trace().feed(TO_SERVER, listing)
    long.trace(full=True).feed(TO_SERVER, listing)
    assert short.text.count("\n") == 1
    assert '"cursor": "abc"' in long.text


def test_a_long_message_is_laid_out_over_lines_and_what_is_short_stays_on_one() -> None:
    written = Written()
    question = {"message": "Which of them? " * 8, "requestedSchema": {"type": "object", "properties": {}}}
    written.trace().feed(TO_CLIENT, line(id=1, method="elicitation/create", params=question))
    shown = written.text.splitlines()
    assert '      "params": {' in shown
    assert '        "requestedSchema": {"type": "object", "properties": {}}' in shown


def test_colours_tell_names_values_and_what_was_masked_apart() -> None:
    written, plain = Written(), Written()
    for each in (written.trace(colour=True, full=True), plain.trace(full=True)):
        each.feed(TO_SERVER, line(id=1, method="tools/call", params={"a": 'say "b"', "password": "hunter2"}))
        each.feed(TO_CLIENT, line(id=1, error={"code": 5}))
    shown = written.text
    assert '\x1b[36m"a"\x1b[0m: \x1b[32m"say \\"b\\""\x1b[0m' in shown
    assert '\x1b[36m"password"\x1b[0m: \x1b[33m"[masked: ' in shown
    assert "\n\x1b[1m\x1b[31m" in shown, "an error is red"
    assert re.sub(r"\x1b\[\d+m", "", shown) == plain.text


def test_json_has_one_object_a_line_in_ascii() -> None:
    written = Written()
    written.trace(as_json=True).feed(
        TO_SERVER, line(id=1, method="tools/call", params={"x": "\u202eé\x1b[31m"})
    )
    told = json.loads(written.text)
    assert written.text.isascii()
    assert (told["direction"], told["kind"], told["method"], told["id"]) == (
        TO_SERVER,
        "request",
        "tools/call",
        1,
    )


@pytest.mark.shows("D7")
@pytest.mark.parametrize("colour", [False, True])
@given(text=st.text(), name=st.text())
def test_nothing_of_the_other_sides_can_play_tricks_on_the_terminal(
    colour: bool, text: str, name: str
) -> None:
    written = Written()
    hostile = f"{text}\x1b]8;;https://evil\x07\x9b31m\u202e\u200b\n{text}"
    written.trace(colour=colour).message(TO_CLIENT, {"id": hostile, "result": {name: hostile}})
    shown = written.text
    for code in ("0", "1", "31", "32", "33", "36"):
        shown = shown.replace(f"\x1b[{code}m", "") if colour else shown
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize("rubbish", [b"no json\n", b"[1]\n", b"\xff\xfe\n", b"1\n", b"[" * 100_000 + b"\n"])
def test_what_cannot_be_read_is_said_to_be_so_and_not_shown(rubbish: bytes) -> None:
    written = Written()
    trace = written.trace()
    trace.feed(TO_CLIENT, rubbish)
    assert written.headlines == ["    0.000 s ← a line that is no JSON-RPC message"]


def test_lines_come_in_pieces_and_a_huge_one_is_given_up() -> None:
    written = Written()
    trace = written.trace()
    whole = line(method="ping") * 2
    for at in range(len(whole)):
        trace.feed(TO_SERVER, whole[at : at + 1])
    for _ in range(6):
        trace.feed(TO_CLIENT, b"x" * (MAX_LINE // 4))
        assert len(trace._rest[TO_CLIENT]) <= MAX_LINE + 1
    trace.feed(TO_CLIENT, b"\n" + line(method="ping"))
    assert [headline[12:] for headline in written.headlines] == [
        "→ ping",
        "→ ping",
        "← a line that is no JSON-RPC message",
        "← ping",
    ]


def test_a_trace_that_cannot_be_written_ends_quietly() -> None:
    def full(_text: str) -> None:
        raise OSError("no space left")

    trace = Trace(full)
    trace.feed(TO_SERVER, line(method="ping"))
    trace.feed(TO_SERVER, line(method="ping"))


ECHO = "import sys; [(sys.stdout.buffer.write(line), sys.stdout.flush()) for line in sys.stdin.buffer]; sys.exit(7)"


def through(command: list[str], given: bytes) -> tuple[int, bytes, str]:
    """What comes out of a relay at which a client writes `given` and then hangs up."""
    written: list[str] = []
    from_client, to_relay = os.pipe()
    reading, writing = os.pipe()

    def client() -> None:
        with os.fdopen(to_relay, "wb") as end:
            end.write(given)

    came = bytearray()

    def listen() -> None:
        with os.fdopen(reading, "rb") as end:
            came.extend(end.read())

    threads = [threading.Thread(target=client), threading.Thread(target=listen)]
    for thread in threads:
        thread.start()
    try:
        status = relay(command, Trace(written.append), client=(from_client, writing))
    finally:
        os.close(writing)
        for thread in threads:
            thread.join(10)
        os.close(from_client)
    return status, bytes(came), "".join(written)


def test_bytes_pass_unchanged_and_the_exit_status_is_the_servers() -> None:
    given = b'{"jsonrpc": "2.0",  "method":"ping"}\r\n' + bytes(range(256)) * 2000 + b"\nno end of line"
    status, came, traced = through([sys.executable, "-c", ECHO], given)
    assert came == given
    assert status == 7
    assert traced.startswith("    0.")
    assert "→ ping" in traced
    assert "← ping" in traced


def test_a_server_that_a_signal_ended_is_told_as_a_shell_does() -> None:
    status, _, _ = through([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], b"")
    assert status == 137


def test_a_server_that_cannot_be_started_is_said_to_be_so() -> None:
    with pytest.raises(SetupError, match="cannot be started"):
        relay(["/nonexistent/server"], Trace(print))


@pytest.mark.slow
def test_a_trace_that_nobody_reads_holds_nothing_up() -> None:
    """Some clients never read a server's standard error."""
    given = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}\n' % (b"x" * 500) * 2000
    program = [sys.executable, "-c", "from handraise.cli import main; main()", "trace", "--"]
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [*program, sys.executable, "-c", ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=writing,
        )
        came, _ = process.communicate(given, timeout=30)
    finally:
        os.close(reading)
        os.close(writing)
    assert came == given
    assert process.returncode == 7
