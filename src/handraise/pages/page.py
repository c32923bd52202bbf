"""The protocol of a page: how it shows itself, handles a post and keeps its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

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
    """The page's own address, from the host on."""
    back: str
    """The one address in full at which other sites send people back, with the visit's `expects` as `state`."""
    browser: str
    """The id of this browser; only this browser has the cookie."""
    admit: Callable[[Response], Response]
    """Has the visit know this browser from now on, by a cookie that nobody else can have given it."""
    render: Callable[..., Response]
    """`render(template, status=200, **values)`: a page with this visit's `csrf` and ways out."""


class Page(Protocol[R]):
    """One kind of page, and what it asks for. `R` is what the author gets."""

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
        """Under what name the vault keeps the result; None keeps nothing."""
        ...

    @property
    def keep_for(self) -> float | None:
        """Seconds for which the vault keeps it; None for good."""
        ...

    async def show(self, sitting: BrowserAtPage) -> Response:
        """The page, as somebody finds it who is to do something here."""
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
        """The result as the vault keeps it."""
        ...

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result from what the vault kept, renewed where it has to be; None when it has to be asked for again."""
        ...
