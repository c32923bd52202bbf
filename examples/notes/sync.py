"""The sync service's key: entered on a page, so that neither the client nor the model ever sees it."""

from __future__ import annotations

from handraise import Answer, ask
from handraise.vault import Secret

SERVICE = "notes-sync"


async def ask_for_sync_key() -> Answer[Secret]:
    """The person's key: from the vault when they entered it before, else from a page in their browser."""
    return await ask.secret(
        "Key of your sync service",
        service=SERVICE,
        hint="The service shows it under Settings.",
        because="Your notes are sent to your other computers with it.",
        if_declined="Your notes stay on this computer.",
    )
