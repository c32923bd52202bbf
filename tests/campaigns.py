"""The length of seeded campaigns: short ones in `make test`, long ones in `make soak`.

HANDRAISE_SOAK is the length in seconds of a campaign that runs for some time; campaigns that count take ten times as
many steps where it is set. HANDRAISE_SEED is the seed.
"""

from __future__ import annotations

import os
from typing import Final

SECONDS: Final = float(os.environ.get("HANDRAISE_SOAK", "5"))
SEED: Final = int(os.environ.get("HANDRAISE_SEED", "1"))


def steps(short: int) -> int:
    """The number of steps for a campaign that takes `short` steps in `make test`."""
    return 10 * short if "HANDRAISE_SOAK" in os.environ else short
