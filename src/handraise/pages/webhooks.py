"""Where other sites report that somebody is done there: signed calls, from no browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from handraise.pages.outside_page import OutsidePage
from handraise.pages.visits import Visits

_MOST_BYTES: Final = 64 * 1024


class Webhooks:
    """Takes webhooks of outside pages. One that is not signed learns nothing, not even whether a visit exists."""

    def __init__(self, visits: Visits, clock: Callable[[], float]) -> None:
        self._visits = visits
        self._clock = clock
        self.route: Route = Route("/hooks/{reference}", self._take, methods=["POST"])

    async def _take(self, request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                return PlainTextResponse("Too much.\n", 413)
        visit = self._visits.find_reference(request.path_params["reference"])
        signature = request.headers.get("handraise-signature", "")
        if visit is None or not isinstance(visit.page, OutsidePage):
            return _nothing()
        answer = visit.page.read_webhook(bytes(body), signature, self._clock())
        if answer is None:
            return _nothing()
        await self._visits.end(visit, answer)  # again is fine: webhooks are repeated
        return Response(status_code=204)


def _nothing() -> Response:
    return PlainTextResponse("Nothing here.\n", 404)
