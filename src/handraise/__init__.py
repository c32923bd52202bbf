"""Handraise: an MCP server that is about to guess raises its hand and asks the person instead.

The public names, nothing else. They are loaded when they are first used, so that importing the package
costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handraise.errors import (
        Expired,
        Failed,
        HandraiseError,
        NoAnswer,
        NotSupported,
        Stale,
        Stopped,
        UnusableAnswer,
        Withdrawn,
    )
    from handraise.forms import Form
    from handraise.questions import Accepted, Answer, Cancelled, Declined, Fallback, Person, UrlQuestion
    from handraise.server import Handraise, complete, once, replayable, working_time
    from handraise.server.ask import ask  # from its own module, which a type checker takes it for otherwise
    from handraise.stores import MemoryStore, SqliteStore
    from handraise.vault import Secret

__all__ = [
    "Accepted",
    "Answer",
    "Cancelled",
    "Declined",
    "Expired",
    "Failed",
    "Fallback",
    "Form",
    "Handraise",
    "HandraiseError",
    "MemoryStore",
    "NoAnswer",
    "NotSupported",
    "Person",
    "Secret",
    "SqliteStore",
    "Stale",
    "Stopped",
    "UnusableAnswer",
    "UrlQuestion",
    "Withdrawn",
    "ask",
    "complete",
    "once",
    "replayable",
    "working_time",
]

_HOMES = {
    "errors": (
        "Expired",
        "Failed",
        "HandraiseError",
        "NoAnswer",
        "NotSupported",
        "Stale",
        "Stopped",
        "UnusableAnswer",
        "Withdrawn",
    ),
    "forms": ("Form",),
    "questions": ("Accepted", "Answer", "Cancelled", "Declined", "Fallback", "Person", "UrlQuestion"),
    "server": ("Handraise", "ask", "complete", "once", "replayable", "working_time"),
    "stores": ("MemoryStore", "SqliteStore"),
    "vault": ("Secret",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'handraise' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"handraise.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
