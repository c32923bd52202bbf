"""The sync service's key: entered on a page, so that neither the client nor the model ever sees it."""

from __future__ import annotations

from handraise import Answer, ask

PAGE = "https://sync.example.com/connect"


async def ask_for_sync_key() -> Answer[None]:
    """Have the person enter their key in the browser."""
    return await ask.open("Enter the key of your sync service on its page.", PAGE)
