"""The lexicon is loaded before the first test, so that no test pays for it alone."""

from __future__ import annotations

import pytest

from handraise.secrets.lexicon import lexicon


@pytest.fixture(autouse=True, scope="session")
def _loaded_lexicon() -> None:
    lexicon()
