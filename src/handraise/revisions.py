"""The three revisions of the protocol, and what each of them knows."""

from __future__ import annotations

from enum import StrEnum


class Revision(StrEnum):
    """A revision of the Model Context Protocol that has elicitation."""

    JUNE_2025 = "2025-06-18"
    """Form mode only."""
    NOVEMBER_2025 = "2025-11-25"
    """Form and URL mode, -32042, completion notice."""
    JULY_2026 = "2026-07-28"
    """No requests from server to client: rounds with `InputRequiredResult`."""

    @property
    def modern(self) -> bool:
        """Whether a question ends the round instead of going down the live call."""
        return self is Revision.JULY_2026

    @property
    def legacy(self) -> bool:
        """Whether the server may send requests to the client."""
        return not self.modern

    @property
    def url_mode(self) -> bool:
        """Whether the revision knows URL questions."""
        return self is not Revision.JUNE_2025
