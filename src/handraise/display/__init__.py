"""Text from the other side, made inert before anyone sees it."""

from __future__ import annotations

from handraise.display.inert_text import inert
from handraise.display.places import UntrustedText, for_html, for_line, for_markdown, for_terminal

__all__ = ["UntrustedText", "for_html", "for_line", "for_markdown", "for_terminal", "inert"]
