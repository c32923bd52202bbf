"""How questions ended, in words for a person at any desk: those of this run, and earlier ones from a record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from handraise.desks.language import ENGLISH, Language
from handraise.desks.present import kind_of
from handraise.desks.waiting import Decision, Waiting
from handraise.questions import Person

Mark = Literal["accept", "said_no", "decline", "cancel", "expired", "withdrawn", "rule"]
_PLACES = ("web", "terminal", "command", "script", "client")


@dataclass(frozen=True, slots=True)
class Ending:
    """A heading, a sentence or two, and a word for the mark beside it."""

    heading: str
    sentence: str
    mark: Mark


def outcome_of(decision: Decision) -> Mark:
    """The decision in one word: the action, or `said_no` for a confirmation that was answered with no."""
    return "said_no" if decision.said_no else decision.answer.action


def describe_ending(
    waiting: Waiting, decision: Decision, now: float | None = None, *, language: Language = ENGLISH
) -> Ending:
    """How a question ended: the person, the desk and the answer; with `now`, also the time."""
    when = "" if now is None else f" {language.ago(now - decision.at)}"
    outcome = outcome_of(decision)
    match decision.by:
        case "timeout":
            ended = f" {language('it_ended', when=when.strip())}" if when else ""
            return Ending(language("expired"), f"{language('nobody_in_time')}{ended}", "expired")
        case "policy":
            why = f" {language.sentences(decision.reason)}" if decision.reason else ""
            return Ending(language("by_rule"), f"{language('rule_decided', when=when)}{why}", "rule")
        case "agent" if not decision.desk:
            key = "went_on" if waiting.browsing else "withdrawn"
            return Ending(language(key), language(f"{key}_sentence", when=when), "withdrawn")
        case "agent" | "human" | "client":
            place = decision.desk if decision.desk in _PLACES else "elsewhere"
            with_passkey = language("with_passkey") if decision.passkey is not None else ""
            how = "answered_at" if outcome in ("accept", "said_no") else "ended_at"
            said = [language(how, where=f"{language(f'at_{place}')}{with_passkey}", when=when)]
            if decision.block is not None:
                said.append(language(f"blocked_{decision.block}"))
            if decision.by == "human" and decision.reason:
                said.append(language.sentences(decision.reason))
            if decision.unattended:
                said.append(language("tell_client"))
            accepted = {"confirm": "said_yes", "plain": "said_yes", "link": "agreed"}.get(
                kind_of(waiting), outcome
            )
            heading = language(f"you_{accepted if outcome == 'accept' else outcome}")
            return Ending(heading, " ".join(said), outcome)


@dataclass(frozen=True, slots=True)
class Past:
    """One decision, without the question's text and the answer."""

    server: str
    tool: str | None
    sentence: str
    at: float
    """Seconds since 1970."""


Earlier: TypeAlias = Callable[[Person | None, float], Awaitable[Sequence[Past]]]
"""The latest decisions about one person's questions, or about all, before a moment; newest first."""
