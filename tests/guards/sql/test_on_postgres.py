"""PostgreSQL's plan: the most rows of any step, and the tables of all of them."""

from __future__ import annotations

import pytest

from handraise.guards.sql import Estimate
from handraise.guards.sql.on_postgres import parse_plan

pytestmark = pytest.mark.shows("U4")


def test_every_step_of_every_plan_counts() -> None:
    scan = {"Plan Rows": 500, "Relation Name": "people", "Schema": "crm"}
    below = {"Plan Rows": 2.0, "Plans": [{"Plan Rows": 1, "Plans": [scan]}]}
    other = {"Plan Rows": 7, "Relation Name": "orders", "Schema": "public"}
    tables = frozenset({("crm", "people"), ("public", "orders")})
    assert parse_plan([{"Plan": below}, {"Plan": other}]) == Estimate(500, tables)
    assert parse_plan([{"Plan": {"Plan Rows": 3, "Plans": [other]}}]).rows == 7
