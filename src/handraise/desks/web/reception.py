"""Which browser is this, and which questions are its person's."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request

from handraise.desks.batch import batch_key, batch_of
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting
from handraise.desks.web.sessions import Session, Sessions
from handraise.site.posted import Posted, has_token, read_posted


@dataclass(frozen=True, slots=True)
class Ended:
    """A question that is over, and how."""

    waiting: Waiting
    decision: Decision


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that came together: those that wait, and those that are over, each in their order."""

    handle: str
    waiting: tuple[Waiting, ...]
    ended: tuple[Ended, ...]


class Reception:
    """Lets a signed-in browser in, and gives every question a name that cannot be guessed.

    The queue's own ids are the host's and may be known to others; a browser sees keyed hashes of them.
    """

    def __init__(self, queue: Queue, sessions: Sessions) -> None:
        self._queue = queue
        self._sessions = sessions
        self._key = secrets.token_bytes(32)

    def session(self, request: Request) -> Session:
        """The session of a request. 403 for everyone who did not come by a sign-in link."""
        cookie = request.cookies.get(cookie_name(request))
        session = self._sessions.find(cookie, request.path_params["place"])
        if session is None:
            raise HTTPException(403, "You are not signed in here.")
        return session

    async def posted(self, request: Request, session: Session) -> Posted:
        """What the session's own page posted. 403 for a post without its token."""
        posted = await read_posted(request)
        if not has_token(posted, session.csrf):
            raise HTTPException(403, "This page is out of date. Go back to the desk and try again.")
        return posted

    def handle(self, waiting: Waiting) -> str:
        """The name by which a browser knows the question."""
        return self.mark(waiting.id)

    def mark(self, name: str) -> str:
        """What stands for a name where a browser sees it."""
        return hashlib.blake2b(name.encode(), key=self._key, digest_size=16).hexdigest()

    def waiting(self, session: Session) -> tuple[Waiting, ...]:
        """The session's questions, oldest first."""
        return tuple(waiting for waiting in self._queue.waiting() if _is_for(session, waiting))

    def past(self, session: Session) -> tuple[Ended, ...]:
        """How the session's last questions ended, newest first."""
        past = (Ended(*ended) for ended in self._queue.past())
        return tuple(ended for ended in past if _is_for(session, ended.waiting))

    def find(self, session: Session, handle: str) -> Waiting | Ended:
        """The question of that name. 404 when there is none, or it is somebody else's."""
        for waiting in self.waiting(session):
            if self.handle(waiting) == handle:
                return waiting
        for ended in self.past(session):
            if self.handle(ended.waiting) == handle:
                return ended
        raise HTTPException(404, "There is no such question here, or it ended long ago.")

    def batch(self, session: Session, of: Waiting) -> tuple[Waiting, ...]:
        """The questions that came together with this one and still wait, itself included."""
        return batch_of(of, self.waiting(session))

    def batch_handle(self, waiting: Waiting) -> str:
        """The name by which a browser knows the batch of a question."""
        return self.mark(repr(batch_key(waiting)))

    def find_batch(self, session: Session, handle: str) -> Batch:
        """The batch of that name. 404 when there is none, or it is somebody else's."""
        waiting = tuple(one for one in self.waiting(session) if self.batch_handle(one) == handle)
        past = [ended for ended in self.past(session) if self.batch_handle(ended.waiting) == handle]
        if not waiting and not past:
            raise HTTPException(404, "There are no such questions here, or they ended long ago.")
        return Batch(handle, waiting, tuple(reversed(past)))


def cookie_name(request: Request) -> str:
    """Two desks on one computer share its cookies, so that the port is part of the name."""
    return f"__Host-handraise-{request.url.port or 80}"


def _is_for(session: Session, waiting: Waiting) -> bool:
    return session.person is None or session.person == waiting.person
