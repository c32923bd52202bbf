"""Whether a tool should ask, and what for: a table from what is known to a kind of question, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from handraise.design.functions import Argument, ToolDescription
from handraise.forms import Choice, Form, Text
from handraise.lint.tools import READING, destructive_word, words_of
from handraise.secrets import judge_form

ProposalKind = Literal[
    "confirm", "confirm_many", "choose_one", "choose_and_confirm", "missing_context", "page"
]
Why = Literal["loop", "read_only", "asks_already", "prose", "validation"]

_CONTEXT: Final = frozenset(
    {
        "timezone", "tz", "locale", "language", "currency", "account", "repository", "repo", "project",
        "workspace", "environment", "region", "calendar", "branch", "tenant",
    }
)  # fmt: skip
"""Arguments that depend on the person and that a model would guess."""
_TYPED: Final = frozenset({"timezone", "tz"})
"""Values with too many options to choose from."""
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
"""Verbs that create: a title names the new thing and chooses nothing."""
_VERBS: Final = frozenset(
    {
        "archive", "apply", "cancel", "clean", "close", "disable", "execute", "format", "merge", "move", "push",
        "rename", "restart", "rotate", "run", "stop", "sync", "tidy", "update", "write",
    }
)  # fmt: skip
_RECIPIENT: Final = frozenset({"to", "recipient", "contact", "user", "email", "phone", "channel"})
_SELECTOR: Final = frozenset({"title", "name", "label", "subject", "keyword", "contact", "recipient", "note"})


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """A question worth asking. `about` is the argument that it turns on."""

    kind: ProposalKind
    reason: str
    about: Argument | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Asking would be wrong here, why, and what to do instead."""

    why: Why
    reason: str
    instead: str


def decide(subject: ToolDescription) -> QuestionPlan | Refusal:
    """The first row that fits. Secrets come first: they are wrong in every tool."""
    secret = next((each for each in subject.arguments if _is_secret(each)), None)
    if secret is not None:
        return QuestionPlan(
            "page", f"`{secret.name}` is a secret: no argument and no form may carry it.", secret
        )
    return _refused_first(subject) or _harmful(subject) or _in_context(subject) or _refused_last(subject)


def harmful_word(subject: ToolDescription) -> str | None:
    """The word for what the tool does that a person should decide."""
    word = None if subject.read_only else destructive_word(subject.name)
    if word is None and (subject.destructive or subject.harms):
        words = words_of(subject.name) or ["change"]
        return next((each for each in words if each in _VERBS), words[0])
    return word


def _refused_first(subject: ToolDescription) -> Refusal | None:
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


def _harmful(subject: ToolDescription) -> QuestionPlan | None:
    word = harmful_word(subject)
    if word is None:
        return None
    several = _first(subject, _SEVERAL) or next((each for each in subject.arguments if each.many), None)
    if several is not None:
        return QuestionPlan(
            "confirm_many", f"`{word}` reaches everything that `{several.name}` stands for.", several
        )
    if "all" in words_of(subject.name) or (word in SENDING and _first(subject, _RECIPIENT) is None):
        return QuestionPlan("confirm_many", f"`{word}` reaches more than the arguments tell.")
    selector = None if word in _MAKING else _first(subject, _SELECTOR)
    if selector is not None and isinstance(selector.field, Text):
        return QuestionPlan(
            "choose_one", f"`{selector.name}` may mean several, and `{word}` is final.", selector
        )
    open_choice = next((each for each in subject.arguments if _is_open_choice(each)), None)
    if open_choice is not None:
        reason = (
            f"`{word}` is final, and `{open_choice.name}` may be missing: the person sees both in one form."
        )
        return QuestionPlan("choose_and_confirm", reason, open_choice)
    return QuestionPlan("confirm", f"`{word}` is final, or reaches other people.")


def _in_context(subject: ToolDescription) -> QuestionPlan | None:
    found = _context_of(subject)
    if found is None:
        return None
    return QuestionPlan(
        "missing_context", f"`{found.name}` depends on the person; a model would guess it.", found
    )


def _refused_last(subject: ToolDescription) -> Refusal:
    """Nothing final and nothing that only the person knows. Free arguments are for the chat."""
    if any(not each.required and isinstance(each.field, Text) for each in subject.arguments):
        return Refusal(
            "prose",
            "Only free text is missing, and the model can ask for it in the chat.",
            "Make the argument required, and say in the tool's description what belongs into it.",
        )
    return Refusal(
        "validation",
        "Nothing says that it cannot be undone; a wrong argument can be answered with an error.",
        "Check the arguments, raise an error that names the rule, and say how to undo it. "
        "If it cannot be undone, set destructiveHint and ask the designer again.",
    )


def _context_of(subject: ToolDescription) -> Argument | None:
    """An argument that may be missing, and that only the person knows."""
    return next(
        (
            each
            for each in subject.arguments
            if not each.required and isinstance(each.field, Text | Choice) and _named(each, _CONTEXT)
        ),
        None,
    )


def is_typed(argument: Argument | None) -> bool:
    """Whether the person types its value, because there are too many options."""
    return argument is not None and _named(argument, _TYPED)


def _is_open_choice(argument: Argument) -> bool:
    """Whether it may be missing, and is one of a few that the person can tell apart."""
    if argument.required or is_typed(argument):
        return False
    return isinstance(argument.field, Choice) or (
        isinstance(argument.field, Text) and _named(argument, _CONTEXT)
    )


def _first(subject: ToolDescription, words: frozenset[str]) -> Argument | None:
    return next((each for each in subject.arguments if _named(each, words)), None)


def _named(argument: Argument, words: frozenset[str]) -> bool:
    return not words.isdisjoint({*words_of(argument.name), "".join(words_of(argument.name))})


def _is_secret(argument: Argument) -> bool:
    if argument.field is None:
        return False
    return any(not found.doubtful for found in judge_form("", Form.by_hand(argument.field)))


_SMALL = {"the", "a", "an", "of", "to", "and", "all", "by"}
_PARTICLES = {"up", "out", "off", "down", "away"}
_SPELLED = {"api": "API", "pin": "PIN", "ssh": "SSH", "id": "ID", "url": "URL", "sql": "SQL"}
_SERVICES = {"git", "github", "gitlab", "slack", "jira", "aws", "docker", "kubectl", "npm", "db"}
_UNCOUNTED = {"mail", "money", "data", "access", "news", "SQL", "code"}


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The tool's verb and its object: `Delete`, `the note`, `note`, `notes`."""

    verb: str
    object: str
    """Empty where the tool's name has no noun."""
    one: str
    many: str


def words_for(subject: ToolDescription) -> ToolWords:
    """The verb and the noun of a tool's name; `item` if it has no noun."""
    words = words_of(subject.name) or ["change"]
    verb = harmful_word(subject) or words[0]
    particles = [word for word in words if word in _PARTICLES]
    acts_in = {words[0]} & _SERVICES
    left_out = {verb, *_SMALL, *_PARTICLES, *acts_in}
    nouns = [_SPELLED.get(word, word) for word in words if word not in left_out]
    verb, noun = " ".join([verb.capitalize(), *particles]), " ".join(nouns)
    if noun in _UNCOUNTED:
        return ToolWords(verb, f"the {noun}", noun, noun)
    one = noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun or "item"
    return ToolWords(verb, f"the {noun}" if noun else "", one, one if one.endswith("s") else f"{one}s")


def title_of(argument: Argument | None) -> str:
    """An argument's name, as a person reads it."""
    if argument is None:
        return ""
    return " ".join(_SPELLED.get(word, word) for word in words_of(argument.name)) or "value"
