"""The terminal desk, and which desk a terminal gets. Textual is imported when a question is shown and not before."""

from handraise.desks.terminal.choose import desk_for_terminal
from handraise.desks.terminal.desk import TerminalDesk

__all__ = ["TerminalDesk", "desk_for_terminal"]
