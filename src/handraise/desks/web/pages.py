"""From templates to pages. Whatever is not ours is made inert on its way into a page."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from handraise.desks.web.sessions import Session
from handraise.display import UntrustedText, for_html, for_line

_WHOLE = 1_000_000
"""A review shows all that will be sent, however long it is."""

_WRITTEN_OUT: Final = re.compile("⟨[^⟩]*⟩")
"""What display put in for a character that cannot be seen. The text itself never contains these brackets."""

_TYPES: Final = {
    "handraise.css": "text/css; charset=utf-8",
    "desk.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def line(text: UntrustedText | str) -> Markup:
    """Text of others on one line: a name, a label, a sentence with a name in it."""
    escaped = str(escape(for_line(text.raw if isinstance(text, UntrustedText) else text)))
    marked = _WRITTEN_OUT.sub(r"<mark>\g<0></mark>", escaped)
    return Markup(f"<bdi>{marked}</bdi>")  # noqa: S704 - escaped above


def whole(text: UntrustedText | str) -> Markup:
    """Text of others with nothing left out."""
    raw = text.raw if isinstance(text, UntrustedText) else text
    return Markup(for_html(raw, limit=_WHOLE))  # noqa: S704 - for_html escapes


def sentence(text: str) -> Markup:
    """Our own words as a sentence."""
    return escape(text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else "."))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("handraise.desks.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(line=line, whole=whole, sentence=sentence)
    return environment


class Pages:
    """Renders the desk's pages."""

    def __init__(self) -> None:
        self._environment = _environment()

    def render(
        self, template: str, status: int = 200, *, session: Session | None = None, **values: object
    ) -> HTMLResponse:
        """A page. With a session it has the desk's navigation."""
        home = None if session is None else f"/{session.place}/"
        text = self._environment.get_template(template).render(session=session, home=home, **values)
        return HTMLResponse(text, status)


def static_file(name: str) -> Response | None:
    """A stylesheet, a script or an icon of the desk's own."""
    if name not in _TYPES:
        return None
    content = files("handraise.desks.web").joinpath("static", name).read_bytes()
    return Response(content, media_type=_TYPES[name])
