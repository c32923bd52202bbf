"""Servers written in the style of the SDK and of FastMCP: every trap is found, at its line, and nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from handraise.lint import lint_text

SERVERS = sorted((Path(__file__).parent / "servers").glob("*.txt"))


@pytest.mark.shows("U5")
@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.stem)
def test_the_traps_of_a_style_are_found_where_they_are(server: Path) -> None:
    text = server.read_text(encoding="utf-8")
    marked = {
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for code in re.findall(r"HR\d{3}", line.partition("  # ")[2])
    }
    assert {(found.line, found.code) for found in lint_text(text)} == marked


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.stem)
def test_the_servers_are_real(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(f"lint_{server.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(server.read_text(encoding="utf-8"), str(server), "exec", dont_inherit=True), module.__dict__)
