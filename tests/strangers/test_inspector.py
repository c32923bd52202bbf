"""Inspector's command line, `mcpdo`, is asked by a server of ours: directly and through the gateway, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.strangers.programs import NOTES, run, through_gateway

pytestmark = [pytest.mark.stranger, pytest.mark.shows("W1")]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("server", [NOTES, through_gateway(NOTES)], ids=["direct", "through the gateway"])
def test_mcpdo_is_asked(era: str, server: list[str], environment: dict[str, str]) -> None:
    def mcpdo(*words: str, good: bool = True) -> str:
        return run(["mcpdo", "--format", "json", *words], environment, good=good)

    try:
        mcpdo("connect", "--connection", "notes", "--era", era, "--transport", "stdio", "--", *server)
        asked = mcpdo("--connection", "notes", "tools/call", "delete", "title:=a", good=False)
        assert "Why delete a?" in asked
        id = _found(json.loads(asked), "elicitationId")
        done = mcpdo("--connection", "notes", "elicitation/respond", id, "answer:=old")
        assert "deleted a: old" in done
    finally:
        mcpdo("daemon", "stop", good=False)


def _found(told: Any, name: str) -> Any:
    """The value of that name, wherever it is."""
    if isinstance(told, dict):
        if name in told:
            return told[name]
        told = list(told.values())
    if isinstance(told, list):
        for each in told:
            if (value := _found(each, name)) is not None:
                return value
    return None
