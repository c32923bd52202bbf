from __future__ import annotations

import pytest
from mcp_types import ClientCapabilities, MissingRequiredClientCapabilityErrorData

from handraise.errors import Mode
from handraise.revisions import Revision
from handraise.wire import (
    Capabilities,
    dump_capabilities,
    dump_missing_capability,
)

A, B, C = Revision.JUNE_2025, Revision.NOVEMBER_2025, Revision.JULY_2026


@pytest.mark.shows("N4")
@pytest.mark.parametrize(
    ("capabilities", "revision", "dumped"),
    [
        (Capabilities(), B, {}),
        (Capabilities(form=True), A, {"elicitation": {}}),
        (Capabilities(form=True), B, {"elicitation": {"form": {}}}),
        (Capabilities(form=True, url=True), C, {"elicitation": {"form": {}, "url": {}}}),
        (Capabilities(form=True, url=True), A, {"elicitation": {}}),
        (Capabilities(url=True), B, {"elicitation": {"url": {}}}),
        (Capabilities(url=True), A, {}),
        (Capabilities(roots=True, sampling=True), B, {"roots": {}, "sampling": {}}),
    ],
)
def test_exactly_what_can_be_shown_is_declared(
    capabilities: Capabilities, revision: Revision, dumped: dict[str, object]
) -> None:
    assert dump_capabilities(capabilities, revision) == dumped
    ClientCapabilities.model_validate(dumped)


@pytest.mark.shows("N2", "N5")
@pytest.mark.parametrize(
    ("modes", "required"),
    [
        (["form"], {"elicitation": {"form": {}}}),
        (["url"], {"elicitation": {"url": {}}}),
        (["form", "url"], {"elicitation": {"form": {}, "url": {}}}),
        (["roots"], {"roots": {}}),
        (["sampling"], {"sampling": {}}),
    ],
)
def test_a_missing_capability_says_what_is_required(modes: list[Mode], required: dict[str, object]) -> None:
    data = dump_missing_capability(modes)
    assert data == {"requiredCapabilities": required}
    MissingRequiredClientCapabilityErrorData.model_validate(data)
