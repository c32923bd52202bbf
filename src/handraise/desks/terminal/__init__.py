"""The terminal desk, and which desk a terminal gets. Textual is imported when a question is shown and not before."""

from handraise.desks.terminal.desk import TerminalDesk, desk_for_terminal

__all__ = ["TerminalDesk", "desk_for_terminal"]
