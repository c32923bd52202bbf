"""The settings of a gateway and of a store, which the command line and the environment can say too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handraise.policy.accepts import Address, Choice, Seconds, StorePlace, Switch
from handraise.policy.setting import setting

_MONTH = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """How `handraise gateway` serves its client."""

    desk: Literal["fallback", "always", "none"] = setting(
        "fallback",
        Choice("fallback", "always", "none"),
        "Who is asked at our desk: those whose client cannot ask, everybody, or nobody.",
        own_file_only=True,
    )
    hold: float = setting(45.0, Seconds(0, 3600), "Seconds for which a call is held before it is parked.")
    wait: float = setting(86400.0, Seconds(0, _MONTH), "Seconds for which a question waits for you.")
    browser: bool = setting(False, Switch(), "Open the desk in your browser when the first question comes.")
    notify: bool = setting(
        True, Switch(), "Have the system show a notice that names the server when a question comes."
    )
    http: str = setting(
        "",
        Address(),
        "Serve clients over streamable HTTP here, at /mcp. For a gateway that runs by itself: one that a client "
        "starts needs `--stdio` then.",
        own_file_only=True,
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where what waits is kept."""

    url: str = setting(
        "",
        StorePlace(),
        "The store of the gateway and of `handraise store`; empty: a file in your data directory.",
        own_file_only=True,
    )
