"""An answer as the result of `elicitation/create`, and back."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from handraise.errors import Mode, WireError
from handraise.forms import Form
from handraise.questions import Action

_ACTIONS = frozenset(get_args(Action))


class WireAnswer(NamedTuple):
    """What the client sent back: the action, and content only on an accepted form. Not checked yet."""

    action: Action
    content: dict[str, Any] | None = None


def parse_answer(raw: object, mode: Mode, form: Form[Any] | None = None) -> WireAnswer:
    """The answer in a result; WireError when it is none.

    Content is dropped wherever the spec has none: on decline and cancel, and on a URL question, where
    accept means consent to open and nothing else. An accepted form without content is refused, unless
    `form` is given and requires nothing: some clients leave it out then.
    """
    action = raw.get("action") if isinstance(raw, dict) else None
    if not isinstance(action, str) or action not in _ACTIONS:
        raise WireError("action", "An answer is accept, decline or cancel.")
    if action != "accept" or mode != "form":
        return WireAnswer(action)  # type: ignore[arg-type]
    content = raw.get("content")  # type: ignore[attr-defined]
    if content is None and form is not None and not form.required:
        content = {}
    if not isinstance(content, dict):
        raise WireError("content", "An accepted form has content.")
    return WireAnswer("accept", content)


def dump_answer(answer: WireAnswer) -> dict[str, Any]:
    """The result that carries an answer."""
    if answer.content is None:
        return {"action": answer.action}
    return {"action": answer.action, "content": answer.content}
