"""What the examples' tests share: the revisions, and a person who answers from a script."""

from __future__ import annotations

import pytest
from tests.server.peers import REVISIONS

from handraise.revisions import Revision


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)
