"""The terminal desk. It draws with textual, which is imported when a question is shown and not before."""

from handraise.desks.terminal.desk import TerminalDesk

__all__ = ["TerminalDesk"]
