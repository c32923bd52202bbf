"""May this question reach the desk? `Policy` answers for hosts, with standard rules about secrets, links and text."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from handraise.forms import Choice, Choices, Flag, Text
from handraise.policy.files import OwnRules
from handraise.policy.rules import (
    ALLOW,
    Counts,
    Facts,
    OwnRule,
    PolicyRule,
    PolicyRuling,
    PolicyVerdict,
    all_of,
    worst_of,
)
from handraise.policy.settings import AskingRule, DeskSettings, Settings
from handraise.questions import TYPED, FormQuestion, Origin, Question
from handraise.secrets import SecretFinding, judge_form
from handraise.urls import REASONS, inspect_url

_URL: Final = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,30}://|www\.|mailto:|javascript:)\S", re.IGNORECASE)


def standard_rules(settings: Settings) -> tuple[PolicyRule, ...]:
    """The rules, as the settings have them.

    - A form never asks for a credential or payment data (the specification's MUST NOT). One that describes a
      credential, or asks for a part of one, may still be harmless.
    - A link without an inspection counts as dangerous: as one that no honest server sends.
    """
    forms, links = settings.forms, settings.links
    credentials: PolicyVerdict = "warn" if forms.unsafe_credentials else "refuse"
    dangerous: PolicyVerdict = "warn" if links.unsafe_dangerous else "refuse"
    return (
        _about_secrets("forms.credentials", credentials, lambda found: found.tier == 1),
        _about_secrets("forms.doubtful", forms.doubtful, lambda found: found.doubtful),
        _about_secrets("forms.national_ids", forms.national_ids, _surely("national_id")),
        _about_secrets("forms.personal_data", forms.personal_data, _surely("personal_data")),
        urls_in_text(forms.urls_in_text),
        PolicyRule("links.dangerous", lambda facts: _about_link(facts, "danger", dangerous)),
        PolicyRule("links.doubtful", lambda facts: _about_link(facts, "warn", links.doubtful)),
        _only_domains(links.only),
    )


def urls_in_text(verdict: PolicyVerdict) -> PolicyRule:
    """A form's text has no URLs: a person would follow them without the warnings that a link gets."""

    def decide(facts: Facts) -> PolicyRuling:
        found = any(_URL.search(unicodedata.normalize("NFKC", text)) for text in _texts(facts))
        return _ruling(verdict, ["The form's text contains a web address."] if found else [])

    return PolicyRule("forms.urls_in_text", decide)


def why_passkey(desk: DeskSettings, facts: Facts) -> str:
    """Why accepting a question needs the person's passkey; empty when it does not.

    A server's guard cannot be told from its other confirmations. So every form that only wants a yes counts as one.
    """
    if "shared" in desk.passkey and facts.shared:
        return "This desk is shared, so accepting needs your passkey."
    typed = only_yes = False
    if isinstance(facts.question, FormQuestion) and len(fields := facts.question.form.fields) < 2:
        only_yes = all(isinstance(each, Flag) for each in fields)
        typed = not only_yes and isinstance(fields[0], Text) and fields[0].name == TYPED
    if "typed" in desk.passkey and typed:
        return "This confirmation has to be typed, so accepting needs your passkey."
    if "guards" in desk.passkey and (facts.guard or only_yes or typed):
        return "A guard asks, so accepting needs your passkey."
    return ""


def _about_secrets(
    name: str, verdict: PolicyVerdict, concerns: Callable[[SecretFinding], bool]
) -> PolicyRule:
    """A rule about the data that a form asks for and should not ask for."""
    return PolicyRule(
        name, lambda facts: _ruling(verdict, [each.reason for each in facts.secrets if concerns(each)])
    )


def _surely(kind: str) -> Callable[[SecretFinding], bool]:
    return lambda found: found.kind == kind and not found.doubtful


def _only_domains(only: tuple[str, ...]) -> PolicyRule:
    """A link that leads elsewhere than to the domains that are allowed."""

    def decide(facts: Facts) -> PolicyRuling:
        if facts.mode != "url" or not only or _within(facts, only):
            return ALLOW
        return _ruling("refuse", ["The link leads to a domain that links.only does not name."])

    return PolicyRule("links.only", decide)


def _ruling(verdict: PolicyVerdict, reasons: list[str]) -> PolicyRuling:
    return PolicyRuling(verdict, tuple(reasons)) if reasons and verdict != "allow" else ALLOW


def _about_link(facts: Facts, severity: Literal["warn", "danger"], verdict: PolicyVerdict) -> PolicyRuling:
    if facts.mode != "url":
        return ALLOW
    if facts.link is None:
        return _ruling(verdict, ["Nobody looked at the link."] if severity == "danger" else [])
    found = [REASONS[each] for each in facts.link.reasons]
    return _ruling(verdict, [each.sentence for each in found if each.severity == severity])


def _within(facts: Facts, domains: tuple[str, ...]) -> bool:
    host = facts.link.host if facts.link is not None else None
    return host is not None and any(host == each or host.endswith(f".{each}") for each in domains)


def _texts(facts: Facts) -> Iterator[str]:
    if not isinstance(facts.question, FormQuestion):
        return
    yield facts.question.message
    for field in facts.question.form.fields:
        yield field.title or ""
        yield field.description or ""
        if isinstance(field, Choice | Choices):
            yield from (option.title or "" for option in field.options)


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
        self.own: OwnRules = own or OwnRules()
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
                return _asking(standing.asking, f"Your configuration {_DOES[standing.asking]} {name}.")
            case "default":
                return _asking(standing.asking, f"No rule lets {name} ask.")

    def _about_passkey(self, facts: Facts) -> PolicyRuling:
        return PolicyRuling("allow", passkey=why_passkey(self.settings.desk, facts))


_DONE: Final[dict[AskingRule, str]] = {"allow": "allowed", "mute": "muted", "block": "blocked"}
_DOES: Final[dict[AskingRule, str]] = {"allow": "allows", "mute": "mutes", "block": "blocks"}


def _asking(asking: AskingRule, reason: str) -> PolicyRuling:
    if asking == "allow":
        return ALLOW
    return PolicyRuling("refuse", (reason,), (SERVERS,), silent=asking == "mute")
