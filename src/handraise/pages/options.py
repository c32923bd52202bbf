"""How a server hosts its pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from handraise.pages.brand import Brand
from handraise.pages.identity import SignIn
from handraise.pages.site import Record
from handraise.pages.visits import Visit
from handraise.vault import KeySource


def _unrecorded(what: str, visit: Visit, reason: str) -> None:
    """Nobody keeps a record."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Hosting of pages: who is let in, how they look, and where the vault's keys are.

    - `sign_in`: how a browser is known to be the MCP principal's; needed for people who come with a token.
    - `brand`: name, logo and colour.
    - `keys`: the vault's; a variable, a file or the system's keyring when absent.
    - `idle`: seconds after which a stdio server's loopback listener stops, when no page waits.
    - `port`: where that listener is; any free one when 0. A service may insist on one for connected accounts.
    - `record`: told of every page that is opened, completed or refused.
    """

    sign_in: SignIn | None = None
    brand: Brand = field(default_factory=Brand)
    keys: KeySource | None = None
    idle: float = 60.0
    port: int = 0
    record: Record = _unrecorded
