from __future__ import annotations

import pytest
from mcp_types import ClientCapabilities, MissingRequiredClientCapabilityErrorData

from handraise.errors import Mode, WireError
from handraise.revisions import Revision
from handraise.wire import (
    Capabilities,
    dump_capabilities,
    dump_missing_capability,
    parse_capabilities,
    parse_missing_capability,
)

A, B, C = Revision.JUNE_2025, Revision.NOVEMBER_2025, Revision.JULY_2026


@pytest.mark.shows("N1", "N6")
@pytest.mark.parametrize(
    ("declared", "revision", "form", "url"),
    [
        (None, B, False, False),
        ({}, B, False, False),
        ({"elicitation": None}, B, False, False),
        ({"elicitation": {}}, A, True, False),
        ({"elicitation": {}}, B, True, False),
        ({"elicitation": {}}, C, True, False),
        ({"elicitation": {"form": {}}}, B, True, False),
        ({"elicitation": {"form": {}, "url": {}}}, C, True, True),
        ({"elicitation": {"url": {}}}, B, False, True),
        ({"elicitation": {"url": {}, "form": None}}, B, False, True),
        ({"elicitation": {"x-other": {}}}, B, True, False),
        ({"elicitation": {"form": {}, "url": {}}}, A, True, False),
        ({"elicitation": {"url": {}}}, A, True, False),
        ({"elicitation": {"url": None}}, C, True, False),
    ],
)
def test_the_declared_modes_are_read(declared: object, revision: Revision, form: bool, url: bool) -> None:
    read = parse_capabilities(declared, revision)
    assert (read.form, read.url) == (form, url)


def test_roots_and_sampling_are_read_too() -> None:
    read = parse_capabilities({"roots": {"listChanged": True}, "sampling": {}}, B)
    assert read == Capabilities(roots=True, sampling=True)
    assert read.supports("roots")
    assert not read.supports("form")


@pytest.mark.parametrize("declared", [[], "form", {"elicitation": True}, {"elicitation": ["form"]}])
def test_garbage_is_refused(declared: object) -> None:
    with pytest.raises(WireError) as refused:
        parse_capabilities(declared, B)
    assert refused.value.rule == "capabilities"


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
    assert all(parse_missing_capability(data).supports(mode) for mode in modes)


@pytest.mark.parametrize("data", [None, {}, {"requiredCapabilities": []}, "form"])
def test_a_missing_capability_without_data_is_refused(data: object) -> None:
    with pytest.raises(WireError):
        parse_missing_capability(data)
