"""A link: take it apart, judge it, show it, open it."""

from __future__ import annotations

from handraise.urls.inspect import REASONS, Inspection, Reason, UrlVerdict, inspect_url, require_safe_url
from handraise.urls.open import HINDRANCES, NotOpened, Opened, open_url
from handraise.urls.parse import UrlPiece, dump_file_uri, parse_file_uri

__all__ = [
    "HINDRANCES",
    "REASONS",
    "Inspection",
    "NotOpened",
    "Opened",
    "Reason",
    "UrlPiece",
    "UrlVerdict",
    "dump_file_uri",
    "inspect_url",
    "open_url",
    "parse_file_uri",
    "require_safe_url",
]
