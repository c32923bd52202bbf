"""A link: take it apart, judge it, show it, open it."""

from __future__ import annotations

from handraise.urls.inspect import Inspection, inspect_url
from handraise.urls.open import HINDRANCES, NotOpened, Opened, open_url
from handraise.urls.pieces import Piece
from handraise.urls.reasons import REASONS, Reason, Verdict
from handraise.urls.require import require_safe_url

__all__ = [
    "HINDRANCES",
    "REASONS",
    "Inspection",
    "NotOpened",
    "Opened",
    "Piece",
    "Reason",
    "Verdict",
    "inspect_url",
    "open_url",
    "require_safe_url",
]
