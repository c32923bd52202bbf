"""The pytest plugin that pytest loads by itself where Handraise is installed: the fixture `every_revision`.

Loaded into every run of pytest, so it imports next to nothing.
"""

from __future__ import annotations

import pytest

from handraise.revisions import Revision


@pytest.fixture(params=list(Revision), ids=str)
def every_revision(request: pytest.FixtureRequest) -> Revision:
    """Each revision of the protocol in turn: the test runs once on each."""
    return Revision(request.param)
