"""What a client declared, read without the weight of the wire part, and just as that reads it."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.gateway.peers import Peer, add_modes
from handraise.revisions import Revision

DECLARED: list[dict[str, Any]] = [
    {},
    {"elicitation": {}},
    {"elicitation": {"form": {}}},
    {"elicitation": {"url": {}}},
    {"elicitation": {"form": {}, "url": {}}},
    {"roots": {}},
]


@pytest.mark.parametrize("revision", list(Revision), ids=str)
@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_the_declared_modes_are_read_and_june_2025_knows_only_forms(
    declared: dict[str, Any], revision: Revision
) -> None:
    said = declared.get("elicitation")
    modes = set() if said is None else {"form"} if revision is Revision.JUNE_2025 else set(said or {"form"})
    assert Peer(revision, declared).modes == modes


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_the_server_is_told_of_both_modes_and_of_all_that_was_declared(declared: dict[str, Any]) -> None:
    told = add_modes(declared, {"form", "url"})
    assert Peer(Revision.NOVEMBER_2025, told).modes == {"form", "url"}
    assert declared.keys() <= told.keys()
