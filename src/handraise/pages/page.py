"""What a kind of page is: how it shows itself, what it makes of what is posted, how its result is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from handraise.questions import Accepted, Answer
from handraise.site.posted import Posted

if TYPE_CHECKING:
    from handraise.pages.visits import Visit

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Sitting:
    """A browser in front of somebody's page, for one request."""

    request: Request
    visit: Visit
    at: str
    """The page's own address, from the host on."""
    back: str
    """The one address in full at which other sites send people back, with the visit's `expects` as `state`."""
    browser: str
    """What tells this browser from others; only it has the cookie."""
    admit: Callable[[Response], Response]
    """Has the visit know this browser from now on, by a cookie that nobody else can have given it."""
    render: Callable[..., Response]
    """`render(template, status=200, **values)`: a page with this visit's `csrf` and ways out."""


class Page(Protocol[R]):
    """One kind of page, and what it asks for. `R` is what the author gets."""

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        ...

    @property
    def message(self) -> str:
        """What the question says in the client, before the link."""
        ...

    @property
    def service(self) -> str | None:
        """Under what name the vault keeps the result; None keeps nothing."""
        ...

    @property
    def keep_for(self) -> float | None:
        """Seconds for which the vault keeps it; None for good."""
        ...

    async def show(self, sitting: Sitting) -> Response:
        """The page, as somebody finds it who is to do something here."""
        ...

    async def take(self, sitting: Sitting, posted: Posted) -> Response | Accepted[R]:
        """What comes of a button: another page, or the result."""
        ...

    async def step(self, sitting: Sitting, name: str) -> Response | Answer[R] | None:
        """What comes of opening the address `name` below the page; None when there is no such.

        `back` is where another site sent the browser back with the `state` that the visit expects.
        """
        ...

    def dump(self, result: R) -> Mapping[str, Any]:
        """The result as the vault keeps it."""
        ...

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result from what the vault kept, renewed where it has to be; None when it has to be asked for again."""
        ...
