"""What a gateway is told to do."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Literal

Desk = Literal["fallback", "always", "none"]


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of whoever runs the gateway."""

    desk: Desk = "fallback"
    """Who is asked at our desk: those whose client cannot ask them, everybody, or nobody."""
    hold: float = 45.0
    """Seconds for which a call is held while its person is asked."""
    wait: float = 24 * 3600.0
    """Seconds for which a question waits for its person."""
    browser: bool = False
    """Whether the desk is opened in the browser when a question comes."""
    notify: bool = True
    """Whether the system tells the person that a question came."""
    store: str = ""
    """Where parked calls are kept: `postgresql://…`, or a file; empty: one in the user's data directory."""
    unsafe_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Private networks in which the servers' authorization servers may be."""
    sessions: int = 8
    """How many sessions one person may have at once over HTTP; each has server processes of its own."""
    where: str = "they open it with `handraise inbox` in a terminal of their own"
    """How people get to their desk, for the model to tell them. Never a way in by itself."""
