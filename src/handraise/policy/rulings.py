"""What a rule says about a question: allow, warn or refuse, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["allow", "warn", "refuse"]

_SEVERITY: Final[dict[Verdict, int]] = {"allow": 0, "warn": 1, "refuse": 2}


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict with its reasons, which are sentences for the person."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """The names of the rules that decided."""
    silent: bool = False
    """Refused without a word at the desk: the person muted the server."""
    same_as: str | None = None
    """The id of the same question, which waits already: its answer is this one's too."""
    passkey: str = ""
    """Why accepting it needs the person's passkey, in a sentence; empty when it does not."""

    @property
    def severity(self) -> int:
        """0 to 2: the higher, the worse."""
        return _SEVERITY[self.verdict]


ALLOW: Final = Ruling("allow")
"""Nothing speaks against it."""


def warn(*reasons: str) -> Ruling:
    """The question may be shown, with these reasons beside it."""
    return Ruling("warn", reasons)


def refuse(*reasons: str, silent: bool = False) -> Ruling:
    """The question may not be shown."""
    return Ruling("refuse", reasons, silent=silent)


def worst_of(rulings: Iterable[Ruling]) -> Ruling:
    """What all rulings together say: the worst verdict and everybody's reasons, the worst first."""
    ordered = sorted(rulings, key=lambda ruling: -ruling.severity)
    if not ordered:
        return refuse("No rule allows it.")
    deciding = [ruling for ruling in ordered if ruling.verdict == ordered[0].verdict]
    return Ruling(
        ordered[0].verdict,
        _once(reason for ruling in ordered for reason in ruling.reasons),
        _once(name for ruling in deciding for name in ruling.rules),
        any(ruling.silent for ruling in deciding),
        passkey=next((ruling.passkey for ruling in ordered if ruling.passkey), ""),
    )


def mildest_of(rulings: Iterable[Ruling]) -> Ruling:
    """What the most lenient of them says: the first one with the mildest verdict."""
    return min(rulings, key=lambda ruling: ruling.severity, default=refuse("No rule allows it."))


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
