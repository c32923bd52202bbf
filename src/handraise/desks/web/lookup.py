"""The session of a request, and the questions of its person."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting, batch_key
from handraise.desks.web.sessions import DeskSession, DeskSessions
from handraise.site.middleware import Posted, has_token, read_posted

ACCESS: Final = "handraise.access"
"""The member of a request's scope that holds what is known of the program at its other end."""


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


class QuestionLookup:
    """Finds the session of a request and its questions, and gives each question a name that cannot be guessed.

    The queue's own ids are the host's and may be known to others; a browser sees keyed hashes of them.
    """

    def __init__(self, queue: Queue, sessions: DeskSessions) -> None:
        self._queue = queue
        self._sessions = sessions
        self._key = secrets.token_bytes(32)

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

    async def posted(self, request: Request, session: DeskSession) -> Posted:
        """The fields that the session's own page posted. 403 without the page's token."""
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


def _is_for(session: DeskSession, waiting: Waiting) -> bool:
    return session.person is None or session.person == waiting.person
