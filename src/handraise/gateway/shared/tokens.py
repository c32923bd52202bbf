"""Whose token is this? Asked with every request, before anything of it is read."""

from __future__ import annotations

from typing import Protocol

from handraise.questions import Person


class Tokens(Protocol):
    """Tells people by the bearer tokens with which their clients come."""

    async def person(self, token: str) -> Person | None:
        """The person; None when the token is nobody's, is over, or is for another place than this."""
        ...
