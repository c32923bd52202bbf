"""Which desk a terminal gets."""

from __future__ import annotations

import io
import sys
from importlib.machinery import ModuleSpec

import pytest

from handraise.desks import Queue
from handraise.desks.lines import LineDesk
from handraise.desks.terminal import TerminalDesk, desk
from handraise.desks.terminal.desk import desk_for_terminal
from handraise.desks.terminal_session import TerminalSession
from handraise.errors import SetupError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _standard_error_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "__stderr__", Terminal())


def _without_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(desk, "find_spec", nothing)


@pytest.mark.shows("D10")
def test_a_capable_terminal_gets_the_whole_screen() -> None:
    env = {"TERM": "xterm-256color"}
    assert isinstance(desk_for_terminal(Queue(), Terminal(), Terminal(), env), TerminalDesk)


@pytest.mark.shows("D10")
@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {}, {"TERM": "xterm", "HANDRAISE_LINES": "1"}])
def test_a_dumb_terminal_and_whoever_asks_for_it_get_plain_lines(env: dict[str, str]) -> None:
    assert isinstance(desk_for_terminal(Queue(), Terminal(), Terminal(), env), LineDesk)


@pytest.mark.shows("D10")
def test_without_textual_or_a_screen_to_draw_on_there_are_plain_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = {"TERM": "xterm"}
    with monkeypatch.context() as patched:
        patched.setattr(sys, "__stderr__", io.StringIO())
        assert isinstance(desk_for_terminal(Queue(), Terminal(), Terminal(), env), LineDesk)
    _without_textual(monkeypatch)
    assert isinstance(desk_for_terminal(Queue(), Terminal(), Terminal(), env), LineDesk)


@pytest.mark.shows("D9")
def test_where_nobody_sits_there_is_no_desk() -> None:
    env = {"TERM": "xterm"}
    assert desk_for_terminal(Queue(), io.StringIO(), Terminal(), env) is None
    assert desk_for_terminal(Queue(), Terminal(), io.StringIO(), env) is None


async def test_a_missing_extra_is_named_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_textual(monkeypatch)
    with pytest.raises(SetupError, match=r"pip install 'handraise\[terminal\]'"):
        await TerminalDesk(TerminalSession(Queue())).run()
