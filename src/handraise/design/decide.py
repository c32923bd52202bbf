"""Whether a tool should ask, and what for: a table from what is known to a kind of question, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from handraise.design.subject import Argument, Subject
from handraise.forms import Choice, Form, Text
from handraise.lint.effects import READING, promises_harm, words_of
from handraise.policy.secrets import judge_form

Kind = Literal["confirm", "confirm_many", "choose_one", "choose_and_confirm", "missing_context", "page"]
Why = Literal["loop", "read_only", "asks_already", "prose", "validation"]

CONTEXT: Final = frozenset(
    {
        "timezone", "tz", "locale", "language", "currency", "account", "repository", "repo", "project",
        "workspace", "environment", "region", "calendar", "branch", "tenant",
    }
)  # fmt: skip
"""What depends on the person, and what a model would guess."""
_TYPED: Final = frozenset({"timezone", "tz"})
"""What has too many options to choose from."""
_SEVERAL: Final = frozenset(
    {
        "folder",
        "directory",
        "query",
        "filter",
        "older",
        "before",
        "since",
        "pattern",
        "where",
        "all",
        "glob",
        "ids",
    }
)
SENDING: Final = frozenset({"send", "mail"})
_MAKING: Final = SENDING | {"publish", "pay", "charge", "buy", "purchase", "transfer", "deploy"}
"""What makes something new: a title names it, and chooses nothing."""
_VERBS: Final = frozenset(
    {
        "archive", "apply", "cancel", "clean", "close", "disable", "execute", "format", "merge", "move", "push",
        "rename", "restart", "rotate", "run", "stop", "sync", "tidy", "update", "write",
    }
)  # fmt: skip
_RECIPIENT: Final = frozenset({"to", "recipient", "contact", "user", "email", "phone", "channel"})
_SELECTOR: Final = frozenset({"title", "name", "label", "subject", "keyword", "contact", "recipient", "note"})


@dataclass(frozen=True, slots=True)
class Plan:
    """A question worth asking. `about` is the argument that it turns on."""

    kind: Kind
    reason: str
    about: Argument | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Asking would be wrong here, why, and what to do instead."""

    why: Why
    reason: str
    instead: str


def decide(subject: Subject) -> Plan | Refusal:
    """The first row that fits. Secrets come first: they are wrong whatever the tool does."""
    secret = next((each for each in subject.arguments if _is_secret(each)), None)
    if secret is not None:
        return Plan("page", f"`{secret.name}` is a secret: no argument and no form may carry it.", secret)
    return _refused_first(subject) or _harmful(subject) or _in_context(subject) or _refused_last(subject)


def harmful_word(subject: Subject) -> str | None:
    """The word for what the tool does that a person should decide."""
    word = None if subject.read_only else promises_harm(subject.name)
    if word is None and (subject.destructive or subject.harms):
        words = words_of(subject.name) or ["change"]
        return next((each for each in words if each in _VERBS), words[0])
    return word


def _refused_first(subject: Subject) -> Refusal | None:
    if subject.called_in_loop_by is not None:
        return Refusal(
            "loop",
            f"`{subject.called_in_loop_by}` calls it in a loop: the person would be asked once for each turn.",
            f"Gather everything in `{subject.called_in_loop_by}` and ask there, once, with the number.",
        )
    if subject.asks:
        return Refusal(
            "asks_already",
            "It asks already.",
            "Check how: `handraise lint` on its file.",
        )
    only_reads = subject.read_only or (words_of(subject.name) or [""])[0] in READING
    if only_reads and not subject.destructive and subject.harms is None and not _context_of(subject):
        return Refusal(
            "read_only",
            "It only reads. A wrong call costs another call, and nothing that a person has to decide.",
            "Return what was found, and let the model read on."
            + ("" if subject.read_only else " Set readOnlyHint, so that hosts know."),
        )
    return None


def _harmful(subject: Subject) -> Plan | None:
    word = harmful_word(subject)
    if word is None:
        return None
    several = _first(subject, _SEVERAL) or next((each for each in subject.arguments if each.many), None)
    if several is not None:
        return Plan("confirm_many", f"`{word}` reaches everything that `{several.name}` stands for.", several)
    if "all" in words_of(subject.name) or (word in SENDING and _first(subject, _RECIPIENT) is None):
        return Plan("confirm_many", f"`{word}` reaches more than the arguments tell.")
    selector = None if word in _MAKING else _first(subject, _SELECTOR)
    if selector is not None and isinstance(selector.field, Text):
        return Plan("choose_one", f"`{selector.name}` may mean several, and `{word}` is final.", selector)
    open_choice = next((each for each in subject.arguments if _is_open_choice(each)), None)
    if open_choice is not None:
        reason = (
            f"`{word}` is final, and `{open_choice.name}` may be missing: the person sees both in one form."
        )
        return Plan("choose_and_confirm", reason, open_choice)
    return Plan("confirm", f"`{word}` is final, or reaches other people.")


def _in_context(subject: Subject) -> Plan | None:
    found = _context_of(subject)
    if found is None:
        return None
    return Plan("missing_context", f"`{found.name}` depends on the person; a model would guess it.", found)


def _refused_last(subject: Subject) -> Refusal:
    """Nothing final and nothing that only the person knows. Free arguments are for the chat."""
    if any(not each.required and isinstance(each.field, Text) for each in subject.arguments):
        return Refusal(
            "prose",
            "What is missing is free text, which the model can ask for in the chat.",
            "Make the argument required, and say in the tool's description what belongs into it.",
        )
    return Refusal(
        "validation",
        "Nothing says that it cannot be undone; whatever is wrong with an argument, an error settles.",
        "Check the arguments, raise an error that names the rule, and say how to undo it. "
        "If it cannot be undone, set destructiveHint and ask the designer again.",
    )


def _context_of(subject: Subject) -> Argument | None:
    """An argument that may be missing, and that only the person knows."""
    return next(
        (
            each
            for each in subject.arguments
            if not each.required and isinstance(each.field, Text | Choice) and _named(each, CONTEXT)
        ),
        None,
    )


def _is_open_choice(argument: Argument) -> bool:
    """Whether it may be missing, and is one of a few that the person can tell apart."""
    if argument.required or _named(argument, _TYPED):
        return False
    return isinstance(argument.field, Choice) or (
        isinstance(argument.field, Text) and _named(argument, CONTEXT)
    )


def _first(subject: Subject, words: frozenset[str]) -> Argument | None:
    return next((each for each in subject.arguments if _named(each, words)), None)


def _named(argument: Argument, words: frozenset[str]) -> bool:
    return not words.isdisjoint({*words_of(argument.name), "".join(words_of(argument.name))})


def _is_secret(argument: Argument) -> bool:
    return argument.field is not None and bool(judge_form("", Form.by_hand(argument.field)))
