"""What will happen when a server asks: told from what the client can do, and the gateway in front, if there is one."""

from __future__ import annotations

from handraise.gateway.clients.table import KnownClient
from handraise.gateway.options import Options

_ITSELF = {
    "forms and links": "{title} asks you in its own dialog.",
    "forms": "{title} asks you forms in its own dialog; for links {otherwise}",
    "nothing": "{title} cannot ask you: {otherwise}",
}
_LOST = "the server is told that nobody can be asked."


def forecast(client: KnownClient, options: Options | None) -> str:
    """One sentence for the person. `options` are those of the gateway in front; None where there is none."""
    if options is not None and options.desk == "always":
        return f"You are asked at your desk, also where {client.title} could ask: {_at_desk(options)}"
    if options is None:
        otherwise = f"{_LOST} Put the gateway in front of it."
    else:
        otherwise = _LOST if options.desk == "none" else _at_desk(options)
    return _ITSELF[client.asks].format(title=client.title, otherwise=otherwise)


def _at_desk(options: Options) -> str:
    how = "your browser opens it" if options.browser else "`handraise inbox` opens it"
    return f"the call is held for {options.hold:g} seconds, then parked; you answer at your desk ({how})."
