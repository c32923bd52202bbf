"""Asking for something that is entered on a page: from the vault when it is there, else by a link."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from handraise.errors import Expired, HandraiseError, Mode, SetupError
from handraise.questions import Accepted, Answer, Cancelled, Declined, UrlQuestion
from handraise.revisions import Revision
from handraise.server.asking import Asking, Manner, pose
from handraise.server.calls import Call
from handraise.server.inquiries import Unusable, UrlInquiry

if TYPE_CHECKING:
    from handraise.pages import Page, Visit

logger = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class PageInquiry(Generic[R]):
    """A page of the server's own: consent to open it, and what the person does there."""

    page: Page[R]
    message: str
    why: str = ""
    key: str = ""
    visit: Visit | None = None
    link: UrlInquiry | None = None

    @property
    def mode(self) -> Mode:
        return "url"

    @property
    def content(self) -> object:
        return [self.page.title, self.page.service]

    async def recall(self, call: Call) -> Accepted[R] | None:
        """What the vault has for the person of the call."""
        found = await call.runtime.pages.recall(call.person, self.page)
        return None if found is None else Accepted(found)

    def require_askable(self) -> None:
        """A page of our own has a link of our own."""

    async def known(self, call: Call) -> PageInquiry[R]:
        """The same page: its visits are found by what it asks for."""
        return self

    async def is_finished(self, call: Call) -> bool:
        """Whether the person of the call has done it before. What they refused on the page ends the call, once."""
        if await self.recall(call) is not None:
            return True
        last = call.runtime.pages.visits.last(self._required_key(call), call.person)
        if last is None or last.answer is None:
            return False
        call.runtime.pages.visits.forget(last)
        last.answer.or_stop()
        return True

    def _required_key(self, call: Call) -> str:
        """The same in every call: the client calls again when the page is finished."""
        return f"required {call.ctx.method} {(call.ctx.params or {}).get('name', '')} {self.content}"

    async def begin(self, call: Call, timeout: float) -> PageInquiry[R]:
        if self.visit is not None:
            return self
        key = self.key or self._required_key(call)
        visit, url = await call.runtime.pages.open(call, self.page, self.why, key, timeout)
        message = self.message if visit.code is None else f"{self.message}\n\n{_CODE.format(visit.code)}"
        link = UrlInquiry(UrlQuestion(message, url, visit.elicitation_id))
        return replace(self, visit=visit, link=await link.begin(call, timeout))

    @property
    def question(self) -> UrlQuestion:
        """The question as it is sent. There is none before the page has a link."""
        if self.link is None:
            raise AttributeError("question")
        return self.link.question

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        return self._begun()[1].request(revision, reasons)

    async def read(self, raw: Any, call: Call) -> Answer[R] | Unusable:
        visit, link = self._begun()
        consent = await link.read(raw, call)
        match consent:
            case Declined() | Cancelled():
                call.runtime.pages.visits.withdraw(visit, consent)
                return consent
            case Unusable():
                return consent
        if visit.answer is None:
            raise Expired
        return visit.answer

    def _begun(self) -> tuple[Visit, UrlInquiry]:
        assert self.visit is not None
        assert self.link is not None
        return self.visit, self.link


class PageAsking(Asking[R]):
    """Asks for what a page obtains, unless the vault has it already."""

    __slots__ = ("_begun", "_request")

    def __init__(self, inquiry: PageInquiry[Any], manner: Manner) -> None:
        super().__init__(inquiry, manner)
        self._request: dict[str, Any] = {}
        self._begun = asyncio.Event()

    @property
    def request(self) -> dict[str, Any]:
        """The input request, empty until the page has a link."""
        return self._request

    @property
    def coming(self) -> tuple[asyncio.Event, ...]:
        return (self._begun,)

    async def named(self, name: str | None) -> R:
        return await (await self.begun(name))()

    async def begun(self, name: str | None) -> Callable[[], Coroutine[Any, Any, R]]:
        inquiry, manner = self.use()
        call = self._call()
        # Numbered even when nothing is asked: later questions keep their ids when the body runs again.
        key = manner.key or name or call.next_key(inquiry.content)
        try:
            assert isinstance(inquiry, PageInquiry)
            with call.told_when_left():
                if (known := await inquiry.recall(call)) is not None:
                    return partial(_given, known)
                asked = replace(inquiry, key=f"{call.ctx.method} {key}")
                if call.can("url"):  # begun here, so that a recorder sees the link, too
                    asked = await asked.begin(call, manner.timeout or call.runtime.options.timeout)
                    self._request.update(asked.request(call.revision))
        except HandraiseError as error:
            if isinstance(error, SetupError):
                logger.error("%s", error.args[0])  # the client learns one sentence, which says less
            raise call.raisable(error) from error.__cause__
        self._begun.set()
        return partial(pose, call, asked, manner._replace(key=key))


async def _given(answer: Any) -> Any:
    return answer


_CODE = "If the page asks for a code, type: {}"
