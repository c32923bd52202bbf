"""The desk's templates as responses."""

from __future__ import annotations

from starlette.responses import HTMLResponse

from handraise.desks.web.sessions import Session
from handraise.site.rendering import environment


class Pages:
    """Renders the desk's pages."""

    def __init__(self, *, has_rules: bool = False) -> None:
        """`has_rules`: there is a page for servers and rules to lead to."""
        self._environment = environment("handraise.desks.web", static="/static/")
        self._environment.globals["has_rules"] = has_rules

    def render(
        self, template: str, status: int = 200, *, session: Session | None = None, **values: object
    ) -> HTMLResponse:
        """A page. With a session it has the desk's navigation."""
        home = None if session is None else f"/{session.place}/"
        text = self._environment.get_template(template).render(session=session, home=home, **values)
        return HTMLResponse(text, status)
