"""The manifest and the tests agree about what is shown."""

from __future__ import annotations

import pytest

from tests.requirements import PARTS, REQUIREMENTS, claims, claims_in


def test_every_id_belongs_to_one_requirement() -> None:
    assert sum(len(part) for part in PARTS.values()) == len(REQUIREMENTS)


@pytest.mark.slow
def test_a_test_claims_only_requirements_that_exist() -> None:
    unknown = {id_: places for id_, places in claims().items() if id_ not in REQUIREMENTS}
    assert not unknown


@pytest.mark.slow
def test_every_requirement_has_a_test() -> None:
    assert not [f"{id_}: {text}" for id_, text in REQUIREMENTS.items() if id_ not in claims()]


def test_a_claim_is_found_wherever_the_mark_stands() -> None:
    source = """
pytestmark = [pytest.mark.stranger, pytest.mark.shows("N1")]

@pytest.mark.shows("N2", "N3")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.shows("F1"))])
async def test_something(x): ...
"""
    assert {id_ for _, id_ in claims_in(source)} == {"N1", "N2", "N3", "F1"}


def test_a_claim_that_is_computed_is_refused() -> None:
    with pytest.raises(ValueError, match="written out"):
        list(claims_in("@pytest.mark.shows(*IDS)\ndef test_something(): ..."))
