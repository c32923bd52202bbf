"""Ask for entries on a page: take them from the vault if they are there, else send a link."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from handraise.errors import Expired, HandraiseError, Mode
from handraise.questions import Accepted, Answer, Cancelled, Declined, UrlQuestion
from handraise.revisions import Revision
from handraise.server.asking import Prepared, Unasked, ask_until_valid
from handraise.server.client_requests import ClientRequest, Unusable, UrlRequest
from handraise.server.question_arguments import AskOptions, OutgoingRequest
from handraise.server.served import LinksRequired, ServedCall, current_call
from handraise.wire import dump_url_required

if TYPE_CHECKING:
    from handraise.pages import Page, Visit


R = TypeVar("R")

_CODE = "If the page asks for a code, type: {}"


@dataclass(frozen=True, slots=True)
class PageRequest(ClientRequest[Answer[R]]):
    """A page of this server: consent to open it, and its completion."""

    mode: ClassVar[Mode] = "url"
    page: Page[R]
    message: str
    why: str = ""
    visit: Visit | None = None
    link: UrlRequest | None = None
    question: UrlQuestion | None = None
    """None before the page has a link."""
    wait: bool = True
    known: Accepted[R] | None = None

    @property
    def content(self) -> object:
        return [self.page.title, self.page.service]

    def require_askable(self) -> None:
        """No-op: our own link is valid."""

    async def remembered(self, call: ServedCall) -> PageRequest[R]:
        """The same page: its visits are found by its fields."""
        return self

    async def is_finished(self, call: ServedCall) -> bool:
        """Whether the person has finished it before. A refusal on the page ends the call, once."""
        if await call.runtime.pages.recall(call.person, self.page) is not None:
            return True
        visits = call.runtime.pages.visits
        last = visits.last(self._required_key(call), call.person)
        if last is None or last.answer is None:
            return False
        visits.forget(last)
        last.answer.or_stop()
        return True

    def _required_key(self, call: ServedCall) -> str:
        """A key that is the same in every call, because the client calls again when the page is finished."""
        return f"required {call.method} {call.params.get('name', '')} {self.content}"

    async def begin(self, call: ServedCall, key: str, timeout: float) -> PageRequest[R]:
        """The contents of the vault, or the page with its link. Without a key, it is a required page."""
        if self.visit is not None or self.known is not None:
            return self
        pages = call.runtime.pages
        if key and (found := await pages.recall(call.person, self.page)) is not None:
            return replace(self, known=Accepted(found))
        if not call.can("url"):
            return self
        key = f"{call.method} {key}" if key else self._required_key(call)
        visit, url = await pages.open(call, self.page, self.why, key, timeout)
        message = self.message if visit.code is None else f"{self.message}\n\n{_CODE.format(visit.code)}"
        link = await UrlRequest(UrlQuestion(message, url, visit.elicitation_id)).begin(call, "", timeout)
        return replace(self, visit=visit, link=link, question=link.question)

    def dump(
        self, revision: Revision, timeout: float | None = None, again: Unusable | None = None
    ) -> dict[str, Any]:
        return self._begun()[1].dump(revision, timeout, again)

    async def read(self, raw: Any, call: ServedCall) -> Answer[R] | Unusable:
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

    def _begun(self) -> tuple[Visit, UrlRequest]:
        assert self.visit is not None
        assert self.link is not None
        return self.visit, self.link


Required = UrlRequest | PageRequest[Any]


class Requirement(Unasked):
    """Pages and links that a call requires. Awaiting it returns when the person has finished all of them."""

    __slots__ = ("_links", "_outgoing", "_timeout")

    def __init__(self, links: Sequence[Required], timeout: float | None) -> None:
        self._used = False
        self._links = links
        self._timeout = timeout
        self._outgoing = OutgoingRequest()

    def __await__(self) -> Generator[Any, None, None]:
        self.use()
        return self._finished(current_call()).__await__()

    def prepare(self) -> Prepared[None]:
        """Ask for missing pages without waiting. Await the result to wait."""
        self.use()
        call = current_call()
        return Prepared(call, self._outgoing.request, self._finished(call), [self._outgoing])

    async def _finished(self, call: ServedCall) -> None:
        """Return when every link is finished; before 2026-07-28 end the call with -32042 instead of waiting."""
        limit = self._timeout or call.runtime.options.timeout
        try:
            async with call.at_question():
                missing = await _missing(call, self._links)
                if missing and call.revision.legacy:
                    raise LinksRequired(await self._listed(call, missing, limit))
                keyed = await self._keyed(call, missing, limit)
            await call.channel.ask_all(
                [partial(_asking, call, link, AskOptions(key, limit)) for key, link in keyed.items()]
            )
        except HandraiseError as error:
            raise call.raisable(error) from error.__cause__

    async def _listed(self, call: ServedCall, missing: Sequence[Required], limit: float) -> dict[str, Any]:
        """The data of the error. The client gets a notice for each finished link."""
        begun = [(await link.begin(call, "", limit)).question for link in missing]
        for question in begun:
            assert question is not None
            await call.channel.announce(str(question.elicitation_id), time.monotonic() + limit)
        self._outgoing.fill(dump_url_required(question for question in begun if question is not None))
        return self._outgoing.request

    async def _keyed(
        self, call: ServedCall, missing: Sequence[Required], limit: float
    ) -> dict[str, Required]:
        """The links of one round, by key."""
        keyed: dict[str, Required] = {}
        for link in missing:
            keyed[call.next_key(link.content)] = await link.begin(call, "", limit)
        self._outgoing.fill({key: link.dump(call.revision) for key, link in keyed.items()})
        return keyed


async def _asking(
    call: ServedCall, link: Required, options: AskOptions
) -> Callable[[], Coroutine[Any, Any, None]]:
    return partial(_finish, call, link, options)


async def _finish(call: ServedCall, link: Required, options: AskOptions) -> None:
    """Ask for a link. A "no" to one of several ends the wait for all of them."""
    (await ask_until_valid(call, link, options)).or_stop()


async def _missing(call: ServedCall, links: Sequence[Required]) -> list[Required]:
    """The links that the person has not finished, if they can be asked for."""
    known = [await link.remembered(call) for link in links]
    missing = [link for link in known if not await link.is_finished(call)]
    if missing:
        call.require_mode("url")
    for link in missing:
        link.require_askable()
    return missing
