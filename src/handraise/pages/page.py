"""The protocol of a page: show it, handle a post, keep its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from handraise.desks.language import Language
from handraise.questions import Accepted, Answer
from handraise.site.middleware import Posted

if TYPE_CHECKING:
    from handraise.pages.visits import Visit

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BrowserAtPage:
    """A browser in front of somebody's page, for one request."""

    request: Request
    visit: Visit
    at: str
    """The page's path."""
    back: str
    """The full URL for returns from other sites, with the visit's `expects` as `state`."""
    browser: str
    """The id of this browser; only this browser has the cookie."""
    language: Language
    """The browser's."""
    admit: Callable[[Response], Response]
    """Binds this browser to the visit with a new cookie."""
    render: Callable[..., Response]
    """`render(template, status=200, **values)`: a page with this visit's `csrf` and buttons."""


class Page(Protocol[R]):
    """One kind of page. `R` is the author's result."""

    @property
    def title(self) -> str:
        """The subject, in a few words."""
        ...

    @property
    def message(self) -> str:
        """The question's text in the client, before the link."""
        ...

    @property
    def service(self) -> str | None:
        """The name of the result in the vault; None keeps nothing."""
        ...

    @property
    def keep_for(self) -> float | None:
        """Seconds that the vault keeps it; None for ever."""
        ...

    async def show(self, sitting: BrowserAtPage) -> Response:
        """The page for the asked person."""
        ...

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[R]:
        """Handle a button: return another page, or the result."""
        ...

    async def step(self, sitting: BrowserAtPage, name: str) -> Response | Answer[R] | None:
        """Handle the address `name` below the page; None if there is no such address.

        `back` is where another site sent the browser back with the `state` that the visit expects.
        """
        ...

    def dump(self, result: R) -> Mapping[str, Any]:
        """The result in the vault's form."""
        ...

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result from the vault, renewed if necessary; None when the person must be asked again."""
        ...
