"""May this question reach the desk? One entry for hosts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from handraise.policy.rules import (
    ALLOW,
    Counts,
    Facts,
    OwnRule,
    OwnRules,
    PolicyRule,
    PolicyRuling,
    RulesInMemory,
    all_of,
    worst_of,
)
from handraise.policy.settings import Settings
from handraise.policy.standard import standard_rules, why_passkey
from handraise.policy.tables import AskingRule
from handraise.questions import FormQuestion, Origin, Question
from handraise.secrets import judge_form
from handraise.urls import inspect_url

SERVERS: Final = "servers"
"""The name of the rule about who may ask at all."""
PASSKEY: Final = "desk.passkey"
"""The name of the rule about which questions need a passkey."""


@dataclass(frozen=True, slots=True)
class ServerStanding:
    """The policy for servers, and the source of each decision."""

    asking: AskingRule
    by: Literal["own", "file", "default"]
    rule: OwnRule | None = None
    """The person's own, when it is theirs."""


class Policy:
    """The settings, their rules, and the person's own rules about servers.

    `rules` replaces the standard rules; without any, everything is refused. The person's own rules and the
    settings about servers hold in any case.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        rules: Sequence[PolicyRule] | None = None,
        own: OwnRules | None = None,
    ) -> None:
        self.settings: Settings = settings or Settings()
        self.own: OwnRules = own or RulesInMemory()
        self._rules = tuple(standard_rules(self.settings) if rules is None else rules)
        for switch in self.settings.unsafe():
            warnings.warn(f"{switch} is on: people may be harmed by what they are asked", stacklevel=2)

    def facts(
        self,
        question: Question,
        origin: Origin,
        person: str = "",
        *,
        tool: str | None = None,
        now: float = 0.0,
        counts: Counts | None = None,
        guard: bool = False,
        shared: bool = False,
    ) -> Facts:
        """Collect the facts about a question for the rules.

        A server whose target is a URL, or unknown, is one elsewhere: it may not send links to this computer.
        """
        if isinstance(question, FormQuestion):
            strict = self.settings.forms.personal_data != "allow"
            secrets, link = judge_form(question.message, question.form, strict=strict), None
        else:
            remote = not origin.target or origin.target.lower().startswith(("https://", "http://"))
            secrets, link = (
                (),
                inspect_url(
                    question.url,
                    transport="http" if remote else "stdio",
                    server_host=origin.target if remote and origin.target else None,
                    brands=self.settings.links.brands,
                ),
            )
        return Facts(question, origin, person, secrets, link, tool, now, counts or Counts(), guard, shared)

    def judge(self, facts: Facts) -> PolicyRuling:
        """The ruling: the worst that any rule says."""
        return worst_of([self._about_server(facts), self._about_passkey(facts), all_of(*self._rules)(facts)])

    def explain(self, facts: Facts) -> tuple[tuple[str, PolicyRuling], ...]:
        """The ruling of each rule, by the rule's name."""
        return (
            (SERVERS, self._about_server(facts)),
            (PASSKEY, self._about_passkey(facts)),
            *((each.name, each(facts)) for each in self._rules),
        )

    def remember(self, rule: OwnRule, *, keep: bool) -> None:
        """Make a rule for the person: for ever, or until this program ends."""
        self.own.add(rule, keep=keep)

    def standing(self, origin: Origin, person: str, now: float) -> ServerStanding:
        """May a server ask? The person's own rule goes before the file, and the file before its default."""
        own = self.own.book().find(origin, person, now)
        if own is not None:
            return ServerStanding(own.asking, "own", own)
        named = self.settings.named(origin.name, origin.target)
        if named is not None and named.asking is not None:
            return ServerStanding(named.asking, "file")
        return ServerStanding(self.settings.default, "default")

    def _about_server(self, facts: Facts) -> PolicyRuling:
        name, standing = facts.origin.name, self.standing(facts.origin, facts.person, facts.now)
        match standing.by:
            case "own":
                return _asking(standing.asking, f"You {_DONE[standing.asking]} {name}.")
            case "file":
                return _asking(standing.asking, f"The configuration has {name} {_DONE[standing.asking]}.")
            case "default":
                return _asking(standing.asking, f"No rule lets {name} ask.")

    def _about_passkey(self, facts: Facts) -> PolicyRuling:
        return PolicyRuling("allow", passkey=why_passkey(self.settings.desk, facts))


_DONE: Final[dict[AskingRule, str]] = {"allow": "allowed", "mute": "muted", "block": "blocked"}


def _asking(asking: AskingRule, reason: str) -> PolicyRuling:
    if asking == "allow":
        return ALLOW
    return PolicyRuling("refuse", (reason,), (SERVERS,), silent=asking == "mute")
