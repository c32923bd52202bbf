"""Accepting with a passkey at the web desk: what the page offers, what the browser asks for, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from handraise.desks.passkeys import INSTALL, Passkeys, Use
from handraise.desks.waiting import Decision, PasskeyProof, Waiting, answer_digest
from handraise.desks.web.sessions import Session
from handraise.errors import HandraiseError, PasskeyRefused, SetupError
from handraise.questions import Accepted, Person
from handraise.site.posted import Posted, first

FIELD = "passkey"
"""The field of a form in which a page sends what the browser gave it."""
_NO_DESK = "This desk cannot check passkeys. Open the desk again with `handraise inbox`."
_FAILED = "Your passkey could not be checked, so nothing was sent. Press the button again."
_NOT_SENT = "This needs your passkey, and none was used. Nothing was sent. Press the button again; it needs JavaScript."

Deciding = Sequence[tuple[Waiting, Decision]]
"""Questions, with what is to be decided about each."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a page shows in place of its button that accepts."""

    ready: bool
    """Whether the person has a passkey that works here."""
    advice: str = ""
    """What to do when they have none."""
    add: bool = False
    """Whether they may register one at this desk."""


class WithPasskey:
    """The desk's side of a yes with a passkey. The queue takes no yes that lacks one, whatever a page posts."""

    def __init__(self, passkeys: Passkeys | None, *, advice: str, enrols: bool = False) -> None:
        """`advice` says how a person registers their first passkey; `enrols`: they can at this desk."""
        self.passkeys = passkeys
        self.enrols = enrols
        self._advice = advice

    def offer(self, session: Session, asked: Sequence[Waiting]) -> Offer | None:
        """What to show; None when no passkey is needed."""
        needing = [waiting for waiting in asked if waiting.passkey]
        if not needing:
            return None
        if self.passkeys is None:
            return Offer(False, _NO_DESK)
        if not self.passkeys.available:
            return Offer(False, INSTALL)
        try:
            if all(self.passkeys.of(waiting.person) for waiting in needing):
                return Offer(True)
        except SetupError as error:
            return Offer(False, str(error))
        return Offer(False, self._advice, self.enrols)

    def begin(self, session: Session, deciding: Deciding) -> Response:
        """What the browser asks the person's passkey for; 409 where there is nothing to ask: the page posts instead."""
        use = _use(session, deciding)
        try:
            if use is None or self.passkeys is None or not self.passkeys.of(use.person):
                return Response(status_code=409)
            return options(self.passkeys.begin_assertion(use))
        except SetupError:
            return Response(status_code=409)

    def prove(self, session: Session, deciding: Deciding, posted: Posted) -> PasskeyProof | None:
        """The proof for what is to be decided; None when none of it needs one. Raises `PasskeyRefused`."""
        use = _use(session, deciding)
        if use is None:
            return None
        if self.passkeys is None or not first(posted, FIELD):
            raise PasskeyRefused("no passkey was used")
        return self.passkeys.finish_assertion(first(posted, FIELD), use)


def why_refused(error: HandraiseError, posted: Posted) -> str:
    """A sentence for the person; the reason in full is for the log."""
    if isinstance(error, SetupError):
        return str(error)
    return _FAILED if first(posted, FIELD) else _NOT_SENT


def options(text: str) -> Response:
    """Options for the browser, as the library wrote them."""
    return Response(text, media_type="application/json")


def _use(session: Session, deciding: Deciding) -> Use | None:
    """What a passkey is asked for: all of it that is accepted and needs one, with one touch."""
    accepted = [
        (waiting, decision.answer.data)
        for waiting, decision in deciding
        if waiting.passkey and isinstance(decision.answer, Accepted)
    ]
    people: set[Person] = {waiting.person for waiting, _ in accepted}
    if len(people) != 1:
        return None
    answers = tuple((waiting.id, answer_digest(content)) for waiting, content in accepted)
    return Use("answer", session.cookie, people.pop(), answers=answers)
