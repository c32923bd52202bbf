"""Who may use the desk: a one-time link becomes a browser session, and nothing else does. What a session may see.

Cookies do not tell ports apart: a page of another user's on another port of this computer is sent ours. So a
session has two secrets, a cookie and a place in the path, and needs both; the path goes to no other origin.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request

from handraise.desks.language import Language, language_of_browser
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting, batch_key
from handraise.questions import Person
from handraise.site.middleware import Posted, has_token, read_posted

TICKET_LIFE = 10 * 60.0
SESSION_LIFE = 12 * 60 * 60.0
ACCESS: Final = "handraise.access"
"""The member of a request's scope that holds what is known of the program at its other end."""
_LEADS_TO: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}"><title>Handraise</title>
<p><a href="{link}">Open your desk</a></p></html>
"""


@dataclass(frozen=True, slots=True)
class PasskeyTask:
    """A task of a browser session beside answering: add a passkey, or remove one."""

    purpose: Literal["add", "remove"]
    name: str
    """What the passkey is called."""
    trusted: bool = False
    """True if the maker of the link vouches for the person: then no earlier passkey is needed first."""


@dataclass(frozen=True, slots=True)
class DeskSession:
    """One signed-in browser. `person` limits it to the questions of one person; None sees the whole queue."""

    cookie: str = field(repr=False)
    place: str = field(repr=False)
    csrf: str = field(repr=False)
    person: Person | None
    until: float
    passkey_task: PasskeyTask | None = None
    question: str | None = None
    """The id of the question that it was let in for."""
    proven: bool = False
    """Its person gave a proof, so that the system need not tell whose program each request comes from."""


@dataclass(slots=True)
class _Ticket:
    """A link that was given out and not used yet."""

    person: Person | None
    until: float
    passkey_task: PasskeyTask | None = None
    question: str | None = None
    file: Path | None = None
    """The file that leads a browser to it, removed with it."""


class DeskSessions:
    """The links that were given out and the browsers that came with one. Only in memory."""

    def __init__(
        self, clock: Callable[[], float], is_known: Callable[[Person], bool] = lambda person: True
    ) -> None:
        """`is_known`: whether a person may still use the desk. Their browsers are signed out when they may not."""
        self._clock = clock
        self._is_known = is_known
        self._tickets: dict[str, _Ticket] = {}
        self._sessions: dict[str, DeskSession] = {}

    def invite(
        self, person: Person | None, passkey_task: PasskeyTask | None = None, question: str | None = None
    ) -> str:
        """A ticket that signs one browser in, once, within ten minutes."""
        self._forget()
        ticket = secrets.token_urlsafe(32)
        self._tickets[_key(ticket)] = _Ticket(person, self._clock() + TICKET_LIFE, passkey_task, question)
        return ticket

    def keep_file(self, ticket: str, file: Path) -> None:
        """Remove a file when its ticket is used or has run out."""
        self._tickets[_key(ticket)].file = file

    def withdraw_tickets(self) -> None:
        """Nobody signs in any more with a link that was given out."""
        for ticket in self._tickets.values():
            _remove_file(ticket)
        self._tickets.clear()

    def is_open(self, ticket: str) -> bool:
        """Whether the ticket would sign somebody in now. Asking does not use it up."""
        self._forget()
        return _key(ticket) in self._tickets

    def invited(self, ticket: str) -> Person | None:
        """The person that a ticket signs in."""
        found = self._tickets.get(_key(ticket))
        return None if found is None else found.person

    def admit(self, ticket: str, *, proven: bool = False) -> DeskSession | None:
        """Use the ticket up. None when it was used before, has run out, or never was one."""
        self._forget()
        invited = self._tickets.pop(_key(ticket), None)
        if invited is None:
            return None
        _remove_file(invited)
        session = DeskSession(
            cookie=secrets.token_urlsafe(32),
            place=secrets.token_urlsafe(16),
            csrf=secrets.token_urlsafe(32),
            person=invited.person,
            until=self._clock() + SESSION_LIFE,
            passkey_task=invited.passkey_task,
            question=invited.question,
            proven=proven,
        )
        self._sessions[_key(session.cookie)] = session
        return session

    def find(self, cookie: str | None, place: str) -> DeskSession | None:
        """The session to which both secrets belong."""
        session = self._session(cookie)
        if session is None or not hmac.compare_digest(session.place.encode(), place.encode()):
            return None
        return session

    def person(self, cookie: str | None) -> Person | None:
        """The person of a browser, by its cookie alone. Only for pages whose own address is a secret too."""
        session = self._session(cookie)
        return None if session is None else session.person

    def _session(self, cookie: str | None) -> DeskSession | None:
        self._forget()
        session = self._sessions.get(_key(cookie)) if cookie else None
        if session is None or session.person is None or self._is_known(session.person):
            return session
        self.end(session)
        return None

    def end(self, session: DeskSession) -> None:
        """Sign the browser out."""
        self._sessions.pop(_key(session.cookie), None)

    def _forget(self) -> None:
        now = self._clock()
        for key, ticket in list(self._tickets.items()):
            if ticket.until <= now:
                _remove_file(ticket)
                del self._tickets[key]
        self._sessions = {key: session for key, session in self._sessions.items() if session.until > now}


def page_with_link(link: str) -> bytes:
    """A file for a browser that leads to a sign-in link."""
    return _LEADS_TO.format(link=link).encode()


def link_in_page(file: Path) -> str | None:
    """The sign-in link that such a file leads to; None when it is gone."""
    try:
        found = re.search(r'<a href="(http://[^"]+)">', file.read_text())
    except (OSError, ValueError):
        return None
    return None if found is None else found[1]


def _remove_file(ticket: _Ticket) -> None:
    if ticket.file is not None:
        ticket.file.unlink(missing_ok=True)


def _key(secret: str) -> str:
    """The hash under which a secret is looked up, so that timing tells nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Ended:
    """A question that is over, and how."""

    waiting: Waiting
    decision: Decision


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that came together: those that wait, oldest first, and those that are over, newest first."""

    handle: str
    waiting: tuple[Waiting, ...]
    ended: tuple[Ended, ...]


@dataclass(frozen=True, slots=True)
class DeskVisit:
    """A request of a signed-in browser: its session, its language, and the fields that its page posted."""

    session: DeskSession
    language: Language
    posted: Posted


class QuestionLookup:
    """Finds the session of a request and its questions, and gives each question a name that cannot be guessed.

    The queue's own ids are the host's and may be known to others; a browser sees keyed hashes of them.
    """

    def __init__(self, queue: Queue, sessions: DeskSessions) -> None:
        self._queue = queue
        self._sessions = sessions
        self._key = secrets.token_bytes(32)

    async def visit(self, request: Request) -> DeskVisit:
        """The session of a request and what it posts. 403 without a session, or without the token of its own page."""
        session = self.session(request)
        posted: Posted = await read_posted(request) if request.method == "POST" else {}
        if request.method == "POST" and not has_token(posted, session.csrf):
            raise HTTPException(403, "This page is out of date. Go back to the desk and try again.")
        return DeskVisit(session, language_of(request), posted)

    def session(self, request: Request) -> DeskSession:
        """The session of a request. 403 for everyone who did not come by a sign-in link."""
        cookie = request.cookies.get(cookie_name(request))
        session = self._sessions.find(cookie, request.path_params["place"])
        if session is None:
            raise HTTPException(403, "You are not signed in here.")
        if request.scope.get(ACCESS, "own") != "own" and not session.proven:
            raise HTTPException(
                403, "This system does not tell any more which program is asking. Sign in again."
            )
        return session

    def landing(self, session: DeskSession) -> str:
        """Where a browser goes that has just signed in: to its question, while that waits, or to the desk."""
        for waiting in self.waiting(session):
            if waiting.id == session.question:
                return f"/{session.place}/q/{self.batch_handle(waiting)}"
        return f"/{session.place}/"

    def handle(self, waiting: Waiting) -> str:
        """The name by which a browser knows the question."""
        return self.mark(waiting.id)

    def mark(self, name: str) -> str:
        """What stands for a name where a browser sees it."""
        return hashlib.blake2b(name.encode(), key=self._key, digest_size=16).hexdigest()

    def waiting(self, session: DeskSession) -> tuple[Waiting, ...]:
        """The session's questions, oldest first."""
        return tuple(waiting for waiting in self._queue.waiting() if _is_for(session, waiting))

    def past(self, session: DeskSession) -> tuple[Ended, ...]:
        """How the session's last questions ended, newest first."""
        past = (Ended(*ended) for ended in self._queue.past())
        return tuple(ended for ended in past if _is_for(session, ended.waiting))

    def batch_handle(self, waiting: Waiting) -> str:
        """The name by which a browser knows the batch of a question."""
        return self.mark(repr(batch_key(waiting)))

    def find_batch(self, session: DeskSession, handle: str) -> Batch:
        """The batch of that name. 404 when there is none, or it is somebody else's."""
        waiting = tuple(one for one in self.waiting(session) if self.batch_handle(one) == handle)
        past = [ended for ended in self.past(session) if self.batch_handle(ended.waiting) == handle]
        if not waiting and not past:
            raise HTTPException(404, "There is no such question here, or it ended long ago.")
        return Batch(handle, waiting, tuple(past))


def cookie_name(request: Request) -> str:
    """Two desks on one computer share its cookies, so that the port is part of the name."""
    return f"__Host-handraise-{request.url.port or 80}"


def language_of(request: Request) -> Language:
    """The language of the person who made a request."""
    return language_of_browser(request.headers.get("accept-language", ""))


def _is_for(session: DeskSession, waiting: Waiting) -> bool:
    return session.person is None or session.person == waiting.person
