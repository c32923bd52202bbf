"""What a client declared, and what the server is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.gateway.peers import Peer, add_modes
from handraise.revisions import Revision

FORM, URL, NONE = {"form"}, {"url"}, set[str]()
DECLARED: list[tuple[dict[str, Any], set[str], set[str]]] = [
    ({}, NONE, NONE),
    ({"elicitation": {}}, FORM, FORM),
    ({"elicitation": {"form": {}}}, FORM, FORM),
    ({"elicitation": {"url": {}}}, FORM, URL),
    ({"elicitation": {"form": {}, "url": {}}}, FORM, FORM | URL),
    ({"elicitation": True}, NONE, NONE),
    ({"roots": {}}, NONE, NONE),
]
"""What a client declared, its modes on 2025-06-18, and its modes later."""


@pytest.mark.parametrize(("declared", "june", "later"), DECLARED, ids=lambda value: str(sorted(value)))
def test_the_modes_of_a_client_are_those_that_its_revision_knows(
    declared: dict[str, Any], june: set[str], later: set[str]
) -> None:
    assert Peer(Revision.JUNE_2025, declared).modes == june
    assert Peer(Revision.NOVEMBER_2025, declared).modes == later
    assert Peer(Revision.JULY_2026, declared).modes == later


@pytest.mark.parametrize("declared", [each[0] for each in DECLARED], ids=str)
def test_the_server_is_told_of_both_modes_and_of_all_that_was_declared(declared: dict[str, Any]) -> None:
    told = add_modes(declared, {"form", "url"})
    assert Peer(Revision.NOVEMBER_2025, told).modes == {"form", "url"}
    assert declared.keys() <= told.keys()
