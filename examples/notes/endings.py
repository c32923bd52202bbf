"""What a tool says when nobody answered: a sentence that the model can use, and never a guess."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from handraise import Accepted, Answer, Cancelled, Declined, Expired, NoAnswer, NotSupported, Stale

P = ParamSpec("P")
T = TypeVar("T")
Tool = Callable[P, Awaitable[str]]


def says_when_unanswered(nothing: str) -> Callable[[Tool[P]], Tool[P]]:
    """Wrap a tool, so that whatever keeps it from an answer becomes a sentence that begins with `nothing`.

    Nobody answering is an exception and never a "no": the four below call for different next steps.
    """

    def wrap(tool: Tool[P]) -> Tool[P]:
        @wraps(tool)
        async def told(*args: P.args, **kwargs: P.kwargs) -> str:
            try:
                return await tool(*args, **kwargs)
            except NotSupported as error:
                return (
                    f"{nothing} The person has to answer a {error.mode} question first, and their client cannot "
                    "show one. Tell them so; do not decide for them."
                )
            except Expired:
                return f"{nothing} The person did not answer in time. Ask whether they still want it, then call again."
            except NoAnswer:
                return f"{nothing} The question got lost on its way. Call again if the person still wants it."
            except Stale as changed:
                return f"{nothing} {changed.args[0]} Look again with notes_list before you go on."

        return told

    return wrap


def accepted(answer: Answer[T], nothing: str) -> T:
    """The data of an accepted answer; otherwise the call ends with what the person did and what that means."""
    match answer:
        case Accepted(data):
            return data
        case Declined():
            return answer.or_stop(f"The person said no. {nothing} Do not ask again unless they bring it up.")
        case Cancelled():
            return answer.or_stop(
                f"The person put the question aside. {nothing} You may offer it again later."
            )
