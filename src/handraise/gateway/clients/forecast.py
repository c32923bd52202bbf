"""What will happen when a server asks: told from what it and its client can do, and the gateway in front, if any."""

from __future__ import annotations

from collections.abc import Collection

from handraise.gateway.clients.table import KnownClient
from handraise.gateway.options import Options
from handraise.gateway.peers import JUNE, MODERN

_ITSELF = {
    "forms and links": "{title} asks you in its own dialog.",
    "forms": "{title} asks you forms in its own dialog; for links {otherwise}",
    "nothing": "{title} cannot ask you: {otherwise}",
}
_FORMS_ONLY = "{title} asks you in its own dialog; the server knows forms only."
_LOST = "the server is told that nobody can be asked."
_OTHER_ERA = "A {title} of the revisions before {modern} cannot use this server without the gateway in front."


def forecast(client: KnownClient, options: Options | None, revisions: Collection[str] = ()) -> str:
    """One sentence for the person, or two.

    `options` are those of the gateway in front, None where there is none; `revisions` what the server speaks, if known.
    """
    if options is None and set(revisions) == {MODERN}:
        return (
            f"{_question(client, options, revisions)} {_OTHER_ERA.format(title=client.title, modern=MODERN)}"
        )
    return _question(client, options, revisions)


def _question(client: KnownClient, options: Options | None, revisions: Collection[str]) -> str:
    if options is not None and options.desk == "always":
        return f"You are asked at your desk, also where {client.title} could ask: {_at_desk(options)}"
    if options is None:
        otherwise = f"{_LOST} Put the gateway in front of it."
    else:
        otherwise = _LOST if options.desk == "none" else _at_desk(options)
    if set(revisions) == {JUNE} and client.asks != "nothing":
        return _FORMS_ONLY.format(title=client.title)
    return _ITSELF[client.asks].format(title=client.title, otherwise=otherwise)


def _at_desk(options: Options) -> str:
    how = "your browser opens it" if options.browser else "`handraise inbox` opens it"
    return f"the call is held for {options.hold:g} seconds, then parked; you answer at your desk ({how})."
