"""What will happen when a server asks: told from what the client can do, and whether the gateway stands in front."""

from __future__ import annotations

from handraise.gateway.clients.table import KnownClient

_ITSELF = {
    "forms and links": "{title} asks you in its own dialog.",
    "forms": "{title} asks you forms in its own dialog; {links}",
    "nothing": "{title} cannot ask you: {all}",
}
_AT_DESK = "the call is held for 45 seconds, then parked; you answer at your desk (`handraise inbox`)."
_LOST = "the server is told that nobody can be asked. Put the gateway in front of it."


def forecast(client: KnownClient, *, through_gateway: bool) -> str:
    """One sentence for the person."""
    what = _AT_DESK if through_gateway else _LOST
    return _ITSELF[client.asks].format(title=client.title, links=f"for links {what}", all=what)
