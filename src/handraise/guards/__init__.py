"""Ask before a call that is destructive, costly or touches personal data.

`@guard(...)` stands in front of a tool, `SqlGuard` in front of a statement, and the rules of the configuration file in
front of the tools of any server behind the gateway. Names are loaded when they are first used: the gateway decides
with the pure part alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.guards.consent import guard
    from handraise.guards.decide import Guard
    from handraise.guards.sql import Catalogue, SqlGuard

__all__ = ["Catalogue", "Guard", "SqlGuard", "guard"]

_HOMES = {"guard": "consent", "Guard": "decide", "Catalogue": "sql", "SqlGuard": "sql"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
