"""Every error that Handraise raises, in one tree.

    HandraiseError
    ├── DefinitionError            the author wrote a question that cannot be asked
    │   ├── FormError              a form or one of its fields
    │   ├── SecretInForm           a form that asks for a secret; use a page
    │   └── UnsafeUrl              a link that no question may carry
    ├── WireError                  the other side sent something that the protocol does not allow
    ├── NoAnswer                   nobody answered; never the same as a decline
    │   ├── NotSupported           nobody could be asked in this mode
    │   ├── Expired                nobody answered in time
    │   ├── Withdrawn              the asker went away
    │   └── Failed                 the client answered with an error, or with something that is no answer
    ├── CallError                  a round that does not fit its call
    │   ├── StateRefused           a requestState that is forged, belongs to somebody else, or was used
    │   ├── NotReplayable          the suspended tool is gone and may not run again
    │   │   └── Ambiguous          the same, and nobody knows how far it got
    │   ├── TooManyQuestions       one call asked more often than it may
    │   ├── NoRoom                 the server takes no more waiting questions
    │   └── UnusableAnswer         the person's answers did not fit the form, again and again
    ├── CompletionRefused          a URL question that is over already, or that an unknown person wants to finish
    ├── AccountError               the service of an account cannot be reached, or answers wrongly
    ├── Stopped                    the tool ended the call politely after a decline or a cancel
    ├── Stale                      the subject of the question changed while the person thought
    ├── GuardRefused               a guard does not let a call run, and asks nobody about it
    ├── PasskeyRefused             a passkey that does not prove that its person is there
    ├── OutsideBoundary            a file that lies outside of the roots, or a link that may lead there
    ├── UsageError                 Handraise was called in the wrong place, or with a wrong value
    ├── SetupError                 an installation or a configuration is missing
    ├── StoreError                 the store could not keep or give back a record
    │   ├── AnswerNotKept          an answer arrived and could not be kept; its question still waits
    │   └── StepNotKept            a `once` step was done, and its result could not be kept
    └── LedgerError                a record that is invalid, or that cannot be written

Each class has a stable `code`, and one constant `public` sentence. The other
side learns only that. `error.reason` is for the log and the author.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

Mode = Literal["form", "url", "roots", "sampling"]
"""A kind of request to a client. The first two are questions to a person."""


CATEGORY = "handraise/category"
"""The `_meta` key of a tool result that says how the call ended: `user_declined`, `expired`, and so on."""


class HandraiseError(Exception):
    """The base class of every error that Handraise raises."""

    code: ClassVar[str] = "handraise"
    public: str = "Something went wrong while asking the person."
    tells_all: ClassVar[bool] = False
    """Whether the other side may read the whole message, which was written for it, instead of `public`."""

    @property
    def reason(self) -> str:
        """The whole message. In a tool `str(error)` is only the public sentence: frameworks show it to the client."""
        return str(self.args[0]) if self.args else self.public

    @property
    def category(self) -> str:
        """How a call ended, in one word for programs; it travels in the result's `_meta`."""
        return self.code


def sentence(error: HandraiseError) -> str:
    """The part of an error that the other side may read."""
    return error.reason if error.tells_all else error.public


def is_text_of(text: str, error: HandraiseError) -> bool:
    """Whether a text is the sentence of this error, perhaps after a framework's own words."""
    said = sentence(error)
    return text == said or text.endswith(f": {said}")


class DefinitionError(HandraiseError):
    """The author wrote a question that cannot be asked."""

    code = "definition"
    public = "This server made a question that cannot be asked."


class FormError(DefinitionError):
    """A form, or one of its fields, that the protocol cannot carry."""

    code = "form"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message if field is None else f"{field}: {message}")
        self.field = field


class SecretInForm(DefinitionError):
    """A form that asks for a secret. Secrets are asked for on a page."""

    code = "secret_in_form"
    public = "This server tried to ask for a secret in a form. The question was not sent."

    def __init__(self, message: str, *, field: str, kind: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.kind = kind


class UnsafeUrl(DefinitionError):
    """A link that no question may carry."""

    code = "unsafe_url"
    public = "This server tried to send a link that is not safe. The question was not sent."

    def __init__(self, message: str, *, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reasons = reasons


class WireError(HandraiseError):
    """The other side sent something that the protocol does not allow. `rule` names the broken rule."""

    code = "wire"
    public = "The message does not follow the protocol."

    def __init__(self, rule: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message if field is None else f"{field}: {message}")
        self.rule = rule
        self.message = message
        self.field = field


class NoAnswer(HandraiseError):
    """Nobody answered. Never the same as a decline."""

    code = "no_answer"
    public = "Nobody answered the question. Nothing was decided."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.public)


_NOT_THIS: Final = (
    "This needs an answer from the person, and their client cannot {missing}. Nothing was decided. Tell them so. They "
    "can use a client that can, or connect through the Handraise gateway."
)
_NOT_OF_THE_CLIENT: Final = (
    "This needs the client's {thing}, which it does not offer here. Nothing was decided. Tell the person so. They "
    "can use a client that supports {mode}."
)
_THINGS: Final[Mapping[Mode, str]] = {"roots": "roots", "sampling": "model"}
"""What the client itself gives. Nobody is asked."""


class NotSupported(NoAnswer):
    """The client did not declare this mode, so nobody could be asked."""

    code = "not_supported"
    public: str = (
        "This needs an answer from the person, and their client cannot ask them. Nothing was decided. "
        "Tell them so. They can use a client that supports elicitation, or connect through the Handraise gateway."
    )

    def __init__(self, mode: Mode, message: str | None = None, *, missing: str | None = None) -> None:
        """`missing` is what the client cannot do, where that is less than all of a mode."""
        self.mode: Mode = mode
        if missing is None and mode == "url":
            missing = "open a link for them"
        if mode in _THINGS:
            self.public = _NOT_OF_THE_CLIENT.format(thing=_THINGS[mode], mode=mode)
        elif missing is not None:  # a client that has just shown a form can be asked, but not this
            self.public = _NOT_THIS.format(missing=missing)
        super().__init__(message or self.public)


class Expired(NoAnswer):
    """Nobody answered in time."""

    code = "expired"
    public = "The person did not answer in time. Nothing was decided. Ask if they still want this, then call again."


class Withdrawn(NoAnswer):
    """The asker went away before an answer came."""

    code = "withdrawn"
    public = (
        "The question was withdrawn before an answer to it came. Nothing was decided. "
        "Ask the person if they still want this, then call again."
    )


class Failed(NoAnswer):
    """The client answered with an error, or with something that is no answer."""

    code = "failed"
    public = (
        "The person's client could not deliver an answer. Nothing was decided. "
        "They can try again, or use another client."
    )

    def __init__(self, message: str | None = None, *, error_code: int | None = None) -> None:
        super().__init__(message)
        self.error_code = error_code


class CallError(HandraiseError):
    """A round that does not fit its call."""

    code = "call"
    public = "Invalid or expired requestState."


class StateRefused(CallError):
    """A requestState that is forged, belongs to somebody else, or was used. One public sentence for every reason."""

    code = "state_refused"


class NotReplayable(CallError):
    """The suspended tool is gone (restart, other node) and is not `@replayable`. Nobody used the answer."""

    code = "not_replayable"
    public = "The waiting call is gone and may not run again by itself. The answer was not used. Call the tool again."


class Ambiguous(NotReplayable):
    """The same, and nobody knows how far the call got: it may have used an answer."""

    code = "ambiguous"
    public = (
        "The waiting call is gone and may not run again by itself. Nobody knows how far it got. "
        "Check its effects before you call the tool again."
    )


class TooManyQuestions(CallError):
    """One call asked more often than it may."""

    code = "too_many_questions"
    public = "This call asked the person too many questions and was stopped."


class NoRoom(CallError):
    """The server has reached its limit of waiting questions."""

    code = "no_room"
    public = "Too many questions wait for people already, so this one was not asked. Try again later."


class UnusableAnswer(CallError):
    """The person's answers did not fit the form, again and again."""

    code = "unusable_answer"
    public = (
        "The answers did not fit the form, so none was used. Ask the person what they meant, then call again."
    )


class CompletionRefused(HandraiseError):
    """A URL question that is over already, or that an unknown person wants to finish."""

    code = "completion_refused"
    public = "This cannot be finished here."


class AccountError(HandraiseError):
    """The service of an account that a person connects cannot be reached, or does not answer as it should."""

    code = "account"
    public = (
        "The service of the person's account could not be reached, or its answer was wrong. Try again later."
    )


class Stopped(HandraiseError):
    """The tool ended the call politely, because the person declined or cancelled."""

    code = "stopped"
    tells_all = True
    public = "The person said no."

    def __init__(self, message: str, *, action: Literal["decline", "cancel"]) -> None:
        super().__init__(message)
        self.action: Literal["decline", "cancel"] = action

    @property
    def category(self) -> str:
        return "user_declined" if self.action == "decline" else "user_cancelled"


class Stale(HandraiseError):
    """The subject of the question changed while the person thought, so their answer is not used."""

    code = "stale"
    public = (
        "This changed while the person was deciding. Their answer was not used. Look again, then call again."
    )


class GuardRefused(HandraiseError):
    """A guard does not let a call run, and asks nobody about it. The model gets the whole message."""

    code = "guard_refused"
    tells_all = True
    public = "A guard does not let this run. Nothing was done."

    def __init__(self, message: str, *, category: str) -> None:
        super().__init__(message)
        self._category = category

    @property
    def category(self) -> str:
        return self._category


class PasskeyRefused(HandraiseError):
    """A passkey that does not prove that its person is there."""

    code = "passkey_refused"
    public = "The passkey could not be checked, so nothing was answered."


class OutsideBoundary(HandraiseError):
    """A file operation that would leave the boundary. Nothing was read or written.

    The other side gets the whole message: the boundary is its own, and it needs to know where it may go.
    """

    code = "outside_boundary"
    tells_all = True
    public = "This is outside of the folders that this server may use. Nothing was read or written."

    def __init__(self, path: str, why: str, *, boundary: tuple[str, ...]) -> None:
        where = f"the boundary ({', '.join(boundary)})" if boundary else "the boundary, which is empty"
        advice = (
            "Use a path inside the boundary, or ask the person to add the folder to their client's roots."
            if boundary
            else "Ask the person to give their client roots, or to configure a folder for this server."
        )
        message = f"{path!r} is refused by {where}: {why}. Nothing was read or written. {advice}"
        super().__init__(message)
        self.path = path
        self.boundary = boundary


class UsageError(HandraiseError):
    """Handraise was called in the wrong place, or with a value that it cannot take."""

    code = "usage"
    public = "This server asks in a way that cannot work. Its author has to correct that."


class SetupError(HandraiseError):
    """An installation or a configuration is missing. The message says what to install or configure, and how."""

    code = "setup"
    public = "This server is not set up to ask."


class StoreError(HandraiseError):
    """The store could not keep or give back a record."""

    code = "store"
    public = "The question could not be kept safely, so it was not asked."


class AnswerNotKept(StoreError):
    """An answer arrived while the store could not be reached. The same retry works when the store is back."""

    code = "answer_not_kept"
    public = "The answer could not be kept safely, so it was not used. The question still waits: send it again later."


class StepNotKept(StoreError):
    """A `once` step was done, but its result could not be kept. Nobody can tell later that it was done."""

    code = "step_not_kept"
    public = (
        "This call did a step, but its result could not be kept safely. So the call did not go on. "
        "Check the effects of that step before you call again."
    )


class LedgerError(HandraiseError):
    """An invalid ledger record, or one that cannot be written. Nothing was recorded."""

    code = "ledger"
    public = "The ledger could not record this, so nothing was done. Try again later."
