"""Accepting with a passkey at the web desk: what the page offers, what the browser asks for, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from handraise.desks.language import Language
from handraise.desks.passkeys import INSTALL, Passkeys, Use
from handraise.desks.waiting import Decision, PasskeyProof, Waiting, answer_digest, lacks_passkey
from handraise.desks.web.sessions import DeskSession
from handraise.errors import HandraiseError, PasskeyRefused, SetupError
from handraise.questions import Accepted, Person
from handraise.site.middleware import Posted, first

FIELD = "passkey"
"""The field of a form in which a page sends what the browser gave it."""

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
    own_desk: bool = False
    """Whether another desk takes it: that of the program that asks."""


class PasskeyAnswers:
    """The desk's side of a yes with a passkey. The queue takes no yes that lacks one, whatever a page posts."""

    def __init__(self, passkeys: Passkeys | None, *, advice: str, enrols: bool = False) -> None:
        """`advice` says how a person registers their first passkey; `enrols`: they can at this desk."""
        self.passkeys = passkeys
        self.enrols = enrols
        self._advice = advice

    def offer(self, session: DeskSession, asked: Sequence[Waiting], language: Language) -> Offer | None:
        """What to show; None when no passkey is needed."""
        needing = [waiting for waiting in asked if waiting.passkey]
        if not needing:
            return None
        if self.passkeys is None:
            return Offer(False, language("passkey_no_desk"))
        if not self.passkeys.available:
            return Offer(False, language.sentence(INSTALL))
        try:
            if all(self.passkeys.of(waiting.person) for waiting in needing):
                return Offer(True)
        except SetupError as error:
            return Offer(False, str(error))
        return Offer(False, language.sentence(self._advice), self.enrols)

    def begin(self, session: DeskSession, deciding: Deciding) -> Response:
        """Options for the person's passkey; 409 if none is needed: then the page posts without one."""
        use = _use(session, deciding)
        try:
            if use is None or self.passkeys is None or not self.passkeys.of(use.person):
                return Response(status_code=409)
            return options(self.passkeys.begin_assertion(use))
        except SetupError:
            return Response(status_code=409)

    def prove(self, session: DeskSession, deciding: Deciding, posted: Posted) -> PasskeyProof | None:
        """The proof for what is to be decided; None when none of it needs one. Raises `PasskeyRefused`."""
        use = _use(session, deciding)
        if use is None:
            return None
        if self.passkeys is None or not first(posted, FIELD):
            raise PasskeyRefused("no passkey was used")
        return self.passkeys.finish_assertion(first(posted, FIELD), use)


def why_refused(error: HandraiseError, posted: Posted, language: Language) -> str:
    """A sentence for the person; the reason in full is for the log."""
    if isinstance(error, SetupError):
        return language.sentence(str(error))
    return language("passkey_failed" if first(posted, FIELD) else "passkey_not_used")


def options(text: str) -> Response:
    """Options for the browser, as the library wrote them."""
    return Response(text, media_type="application/json")


def _use(session: DeskSession, deciding: Deciding) -> Use | None:
    """The answers that one touch covers: every accepted question that needs a passkey."""
    accepted = [
        (waiting, decision.answer.data)
        for waiting, decision in deciding
        if waiting.passkey and isinstance(decision.answer, Accepted) and lacks_passkey(waiting, decision)
    ]
    people: set[Person] = {waiting.person for waiting, _ in accepted}
    if len(people) != 1:
        return None
    answers = tuple((waiting.id, answer_digest(content)) for waiting, content in accepted)
    return Use("answer", session.cookie, people.pop(), answers=answers)
