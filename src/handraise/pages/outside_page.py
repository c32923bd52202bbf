"""A page that hands over to another site, to pay or to sign, and knows when the person is done there.

The return of a browser proves little: anybody can open a URL. So the redirect carries a `state` of this visit, and the
author's function can ask the other site, or the other site calls a signed webhook.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from handraise.pages.entry_pages import find_problem
from handraise.pages.page import BrowserAtPage
from handraise.questions import Accepted, Answer, Cancelled, Declined
from handraise.site.middleware import Posted
from handraise.urls import require_safe_url

_SKEW: Final = 300.0
"""The greatest age of a webhook in seconds, so that an overheard one cannot be replayed later."""
_ENDINGS: Final[Mapping[str, Answer[None]]] = {
    "finished": Accepted(None),
    "declined": Declined(),
    "cancelled": Cancelled(),
}


@dataclass(frozen=True, slots=True)
class OutsideRequest:
    """The values for the author's function that makes the outside URL."""

    reference: str
    """Identifies this visit to the other site and in its webhook."""
    return_url: str
    """The URL for the person's return."""


@dataclass(frozen=True, slots=True)
class OutsidePage:
    """Sends the person to another site. `url` is its URL, or a function of an `OutsideRequest`."""

    title: str
    url: Callable[[OutsideRequest], str] | str
    confirm: Callable[[str], Any] | None = None
    """Called with the reference when the person is back. A sentence or False means: not done yet."""
    webhook_key: str | bytes | None = field(default=None, repr=False)
    """Shared with the other site, which signs its webhooks with it."""
    service: str | None = None
    keep_for: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.url, str):
            require_safe_url(self.url)

    @property
    def message(self) -> str:
        return f"{self.title}: this server's own page leads you on to the site where you do it."

    async def show(self, sitting: BrowserAtPage) -> Response:
        """A preview of the next step, with the link that leaves. Each departure gets a fresh `state`."""
        visit = sitting.visit
        visit.expects = visit.expects or secrets.token_urlsafe(24)
        back = f"{sitting.back}?{urlencode({'state': visit.expects})}"
        asked = OutsideRequest(visit.elicitation_id, back)
        address = self.url(asked) if callable(self.url) else self.url
        inspected = require_safe_url(address)
        return sitting.render(
            "outside.html", href=inspected.href, host=inspected.host, waits=False, problem=None
        )

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[None]:
        """Handle the person's "done"."""
        return await self._returned(sitting)

    async def step(self, sitting: BrowserAtPage, name: str) -> Response | Accepted[None] | None:
        return await self._returned(sitting) if name == "back" else None

    async def _returned(self, sitting: BrowserAtPage) -> Response | Accepted[None]:
        if self.confirm is None and self.webhook_key is not None:
            return self._waiting(sitting, None)
        problem = await find_problem(self.confirm, sitting.visit.elicitation_id, sitting.language)
        return Accepted(None) if problem is None else self._waiting(sitting, problem)

    def _waiting(self, sitting: BrowserAtPage, problem: str | None) -> Response:
        return sitting.render("outside.html", href=None, host=None, waits=True, problem=problem)

    def read_webhook(self, reference: str, body: bytes, signature: str, now: float) -> Answer[None] | None:
        """The end of the visit from a webhook; None if its signature is wrong, or it is about another visit.

        The attack: the webhook about one's own payment, sent again to the address of somebody else's visit.
        """
        if self.webhook_key is None or not is_signed(self.webhook_key, body, signature, now):
            return None
        try:
            said = json.loads(body)
        except ValueError:
            return None
        if not isinstance(said, dict) or said.get("reference") != reference:
            return None
        return _ENDINGS.get(str(said.get("status")))

    def dump(self, result: None) -> Mapping[str, Any]:
        return {"done": True}

    async def recall(self, contents: Mapping[str, Any]) -> None:
        return None


def sign_webhook(key: str | bytes, body: bytes, now: float) -> str:
    """The `Handraise-Signature` header of a webhook: its time, and an HMAC of time and body."""
    stamp = str(int(now))
    return f"t={stamp},v1={_mac(key, stamp, body)}"


def is_signed(key: str | bytes, body: bytes, signature: str, now: float) -> bool:
    """Whether a webhook has a valid and recent signature."""
    parts = dict(part.partition("=")[::2] for part in signature.split(","))
    stamp = parts.get("t", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 12) or abs(now - int(stamp)) > _SKEW:
        return False
    return hmac.compare_digest(_mac(key, stamp, body).encode(), parts.get("v1", "").encode())


def _mac(key: str | bytes, stamp: str, body: bytes) -> str:
    secret = key.encode() if isinstance(key, str) else key
    return hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
