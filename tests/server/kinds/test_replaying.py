"""A body whose process is gone, at every kind of server and by every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.server.kinds.servers import KINDS, target_of
from tests.server.kinds.ways import WAYS, Way, did
from tests.server.rounds import by_hand


@pytest.mark.shows("C6", "C7")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_body_that_is_gone_runs_again_only_where_its_author_says_so(
    kind: str, way: Way, tmp_path: Path
) -> None:
    run, path = f"{kind}-{way}-{tmp_path.name}", tmp_path / "store.db"

    def made() -> Any:
        return target_of(KINDS[kind](store=path))

    async with by_hand(made()) as rounds:
        first = await way.by_hand(rounds, "again", run)
    async with by_hand(made()) as rounds:
        second = await way.answered(rounds, "again", run, first, answer="1")
    async with by_hand(made()) as here, by_hand(made()) as there:
        assert way.text(await way.answered(here, "again", run, second, answer="2")) == "1 2"
        assert await did(here, run) == "1"  # the step was done once
        first = await way.by_hand(here, "stepped", f"{run}-not")
        with pytest.raises(MCPError) as refused:
            await way.answered(there, "stepped", f"{run}-not", first, answer="1")
        assert refused.value.data == {"reason": "not_replayable"}
        assert await did(there, f"{run}-not") == ""
